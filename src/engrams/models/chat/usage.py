"""Usage of a model, counted by purpose; ``ModelUsageMeter`` is the entry."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PurposeModelUsage:
    """Usage of a model for one purpose."""

    calls: int = 0
    """Requests sent, repeated ones included."""
    failures: int = 0
    """Requests without an answer."""
    corrections: int = 0
    """Answers that the model had to give again."""
    tokens: int = 0
    """Tokens of prompts and answers, as the server counts them, or estimated."""

    def __add__(self, other: PurposeModelUsage) -> PurposeModelUsage:
        return PurposeModelUsage(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            corrections=self.corrections + other.corrections,
            tokens=self.tokens + other.tokens,
        )


class ModelUsageMeter:
    """Counter of usage by purpose, exact under any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, purpose: str, **counts: int) -> None:
        """Add counts to the ``PurposeModelUsage`` fields of a purpose."""
        with self._lock:
            for field, count in counts.items():
                self._counts[purpose, field] += count

    def snapshot(self) -> Mapping[str, PurposeModelUsage]:
        """Return the usage by purpose, as of one moment."""
        with self._lock:
            counts = dict(self._counts)
        fields_by_purpose: dict[str, dict[str, int]] = {}
        for (purpose, field), count in counts.items():
            fields_by_purpose.setdefault(purpose, {})[field] = count
        return {
            purpose: PurposeModelUsage(**fields) for purpose, fields in fields_by_purpose.items()
        }

    def total(self) -> PurposeModelUsage:
        """Return the usage of all purposes together."""
        return sum(self.snapshot().values(), PurposeModelUsage())


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per 4 bytes of UTF-8.

    For budgets, where a server does not count. A prompt that must fit is counted more exactly, by
    ``models.tokens``.
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)
