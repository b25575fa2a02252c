"""Count calls, failures, corrections and tokens per purpose."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallUsage:
    """Usage of a model for one purpose.

    ``calls``: requests sent, repeated ones included. ``failures``: requests without an answer. ``corrections``: answers that
    the model had to give again. ``tokens``: of prompts and answers, as the server counts them, or estimated where it does not.
    """

    calls: int = 0
    failures: int = 0
    corrections: int = 0
    tokens: int = 0

    def __add__(self, other: CallUsage) -> CallUsage:
        return CallUsage(
            self.calls + other.calls,
            self.failures + other.failures,
            self.corrections + other.corrections,
            self.tokens + other.tokens,
        )


class UsageMeter:
    """Counter of usage by purpose, exact under any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, purpose: str, **counts: int) -> None:
        """Add counts to the ``CallUsage`` fields of a purpose."""
        with self._lock:
            for field, count in counts.items():
                self._counts[purpose, field] += count

    def snapshot(self) -> Mapping[str, CallUsage]:
        """Return the usage by purpose, as of one moment."""
        with self._lock:
            counts = dict(self._counts)
        return {
            purpose: CallUsage(**{field: count for (name, field), count in counts.items() if name == purpose})
            for purpose in dict.fromkeys(name for name, _ in counts)
        }

    def total(self) -> CallUsage:
        return sum(self.snapshot().values(), CallUsage())


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per 4 bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
