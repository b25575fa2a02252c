"""Times of the same calls on several systems, in turn, so that a busy moment meets all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from bench.speed.timing import quantiles, time_call

T = TypeVar("T")


class SideBySideTimer:
    """Times by system and call; each round begins with another system."""

    def __init__(self) -> None:
        self._times: dict[str, dict[str, list[float]]] = {}

    def take(self, what: str, targets: Mapping[str, T], call: Callable[[T], Any]) -> None:
        """Time one call on each target."""
        self.note(what, targets, lambda target: time_call(partial(call, target)))

    def note(self, what: str, targets: Mapping[str, T], call: Callable[[T], float]) -> None:
        """Call each target, which says how many seconds it took."""
        for name in targets:
            self._times.setdefault(name, {}).setdefault(what, [])
        backwards = len(self._times[next(iter(targets))][what]) % 2 == 1
        for name in sorted(targets, reverse=backwards):
            self._times[name][what].append(call(targets[name]))

    def summarize(self) -> dict[str, Any]:
        """Quantiles in milliseconds, by system and call."""
        return {
            name: {what: quantiles(some) for what, some in mine.items()}
            for name, mine in self._times.items()
        }
