"""Filters that are written as JSON: enter at ``parse_where``."""

from __future__ import annotations

import json

from engrams.errors import InputError
from engrams.ports import Where
from engrams.read.arguments import to_where


def parse_where(text: str) -> Where | None:
    """Parse a filter that is written as JSON, a map of fields to values; None if it is empty.

    InputError: it is no such map.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(
            f"{text!r:.80} is no filter.",
            hint='Write JSON: {"$or": [{"speaker": "Ann"}, {"importance": {"gte": 0.7}}]}.',
        )
    return to_where(value)
