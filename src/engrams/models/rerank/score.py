"""Limits and scores that the rerankers share."""

from __future__ import annotations

import math

QUERY_TAIL = 4000
CANDIDATE = 600


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + e^-logit), for any finite or infinite logit."""
    return 0.5 * (1.0 + math.tanh(0.5 * logit))
