"""Selection of items that fit into a token budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from engrams.ports import TokenCounter

MISSES = 5
"""Items too long to fit after which the rest is not tried."""

_FEW = 20
"""Number of items tried together first: most often they fit."""

Item = TypeVar("Item")


def take_fitting(
    items: Sequence[Item],
    render: Callable[[Sequence[Item]], str],
    tokens: int,
    counter: TokenCounter,
    most_misses: int = MISSES,
) -> list[Item]:
    """Take items in order while they fit into a token budget."""

    def fits(number: int) -> bool:
        return counter.count(render(items[:number])) <= tokens

    if len(items) <= _FEW and fits(len(items)):
        return list(items)
    # Find how many of the first items fit with few counts: double the number, then bisect.
    least = 0
    most = 8
    while most <= len(items) and fits(most):
        least = most
        most = 2 * most
    start = least + bisect_left(
        range(least + 1, min(most, len(items) + 1)), True, key=lambda number: not fits(number)
    )
    kept = list(items[:start])
    misses = 0
    for item in items[start:]:
        if counter.count(render([*kept, item])) <= tokens:
            kept.append(item)
        elif (misses := misses + 1) > most_misses:
            break
    return kept
