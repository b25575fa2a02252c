"""Selection of items that fit into a token budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from engrams.frozen_data import dataclass
from engrams.ports import TokenCounter

MISSES = 5
"""Items too long to fit after which the rest is not tried."""

_FEW = 20
"""Number of items tried together first: most often they fit."""

_FIRST_TRIED = 8

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Number of tokens that a text may have, and the counter that counts them."""

    tokens: int
    counter: TokenCounter

    def fits(self, text: str) -> bool:
        """True if a text has no more tokens than the budget."""
        return self.counter.count(text) <= self.tokens

    def without(self, part: str) -> TokenBudget:
        """Budget that is left beside a part, which a blank line parts from the rest."""
        if not part:
            return self
        return TokenBudget(self.tokens - self.counter.count(part + "\n\n"), self.counter)

    def limit_to(self, tokens: int) -> TokenBudget:
        """Budget of at most so many tokens."""
        return TokenBudget(max(min(tokens, self.tokens), 0), self.counter)


def take_fitting(
    items: Sequence[Item],
    render: Callable[[Sequence[Item]], str],
    budget: TokenBudget,
    most_misses: int = MISSES,
) -> list[Item]:
    """Take items in order while they fit, rendered together, into a token budget."""

    def fits(count: int) -> bool:
        return budget.fits(render(items[:count]))

    if len(items) <= _FEW and fits(len(items)):
        return list(items)
    # Find how many of the first items fit with few counts: double the number, then bisect.
    fitting = 0
    tried = _FIRST_TRIED
    while tried <= len(items) and fits(tried):
        fitting = tried
        tried = 2 * tried
    counts = range(fitting + 1, min(tried, len(items) + 1))
    start = fitting + bisect_left(counts, True, key=lambda count: not fits(count))
    fitting_items = list(items[:start])
    misses = 0
    for item in items[start:]:
        if budget.fits(render([*fitting_items, item])):
            fitting_items.append(item)
            continue
        misses += 1
        if misses > most_misses:
            break
    return fitting_items
