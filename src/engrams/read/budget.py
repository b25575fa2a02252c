"""As many of some items as a number of tokens can hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from engrams.ports import TokenCounter

MISSES = 5
"""Items too long to fit, in a row of the best, after which the rest is not tried."""

_FEW = 20
"""Items that most often fit together, and are tried so first."""

Item = TypeVar("Item")


def take_fitting(
    items: Sequence[Item], render: Callable[[Sequence[Item]], str], tokens: int, counter: TokenCounter, most_misses: int = MISSES
) -> list[Item]:
    """The items, in their order, that fit; one that does not is passed over for the next, ``most_misses`` times."""

    def fits(number: int) -> bool:
        return counter.count(render(items[:number])) <= tokens

    if len(items) <= _FEW and fits(len(items)):
        return list(items)
    # How many of the first fit together, in few counts: twice as many each time, then between the last two.
    least, most = 0, 8
    while most <= len(items) and fits(most):
        least, most = most, 2 * most
    start = least + bisect_left(range(least + 1, min(most, len(items) + 1)), True, key=lambda number: not fits(number))
    kept, misses = list(items[:start]), 0
    for item in items[start:]:
        if counter.count(render([*kept, item])) <= tokens:
            kept.append(item)
        elif (misses := misses + 1) > most_misses:
            break
    return kept
