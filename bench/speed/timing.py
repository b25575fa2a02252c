"""Timing of calls, and turns of the corpus, for every stage."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.speed.corpus import Line
from engrams import Turn

OWNER = ("user", "bench")


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and mean, in milliseconds."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {
        "p50": at(0.50),
        "p95": at(0.95),
        "p99": at(0.99),
        "mean": round(1000 * statistics.fmean(ordered), 3),
        "n": len(ordered),
    }


def time_call(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class CallTimes(NamedTuple):
    """Seconds of a call by the clock, and of all processors."""

    wall: float
    processor: float


def time_both(call: Callable[[], Any]) -> CallTimes:
    """Time a call; processor time counts all threads of this process."""
    start = time.perf_counter()
    used = time.process_time()
    call()
    return CallTimes(time.perf_counter() - start, time.process_time() - used)


def take_medians(name: str, times: Sequence[CallTimes]) -> dict[str, float]:
    """Medians in milliseconds: ``NAME_ms``, and ``NAME_cpu_ms`` of processors."""
    return {
        f"{name}_ms": round(1000 * statistics.median(each.wall for each in times), 2),
        f"{name}_cpu_ms": round(1000 * statistics.median(each.processor for each in times), 2),
    }


def to_turn(line: Line) -> Turn:
    return Turn(line.text, speaker=line.speaker, session=line.session, at=line.at)
