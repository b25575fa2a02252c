"""Timing of calls, and turns of the corpus, for every stage."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.speed.corpus import Line
from engrams import Turn

OWNER = ("user", "bench")


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and mean, in milliseconds."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {"p50": at(0.50), "p95": at(0.95), "p99": at(0.99), "mean": round(1000 * statistics.fmean(ordered), 3), "n": len(ordered)}


def time_call(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def to_turn(line: Line) -> Turn:
    return Turn(line.text, speaker=line.speaker, session=line.session, at=line.at)
