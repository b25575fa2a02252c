"""Terms that a misspelled or unfinished word of a search may stand for."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from typing import TYPE_CHECKING

from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import SqlConnection
from engrams.text.terms import terms

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex

_SHORTEST = 4
"""Letters of the shortest word that is completed or corrected: most shorter ones are one letter
away from several words.
"""
_MOST_SIMILAR = 4
"""Terms that one word stands for at most."""


def find_similar_terms(
    connection: SqlConnection, dialect: SqlDialect, index: OwnerSearchIndex, term: str
) -> tuple[int, ...]:
    """Find the numbers of terms that a term begins, or that differ from it by one letter.

    Only those that a record of the index holds; the commonest first. Empty for a short term and for
    one with digits.
    """
    if len(term) < _SHORTEST or not term.isalpha():
        return ()
    postings = index.state.postings
    spellings = {*_iter_spellings(term)}
    # The stemmer may know the right word: "allrgic" is its own stem, "allergic" is not.
    spellings.update(terms(" ".join(sorted(spellings))))
    numbers = {
        *dialect.find(connection, index, spellings).values(),
        *dialect.find_beginning(connection, term).values(),
    }
    counts = {number: len(postings.get(number)[0]) for number in numbers}
    held_numbers = [number for number, count in counts.items() if count]
    return tuple(sorted(held_numbers, key=lambda number: (-counts[number], number))[:_MOST_SIMILAR])


def _iter_spellings(term: str) -> Iterator[str]:
    """Yield the words that differ by one letter: left out, doubled up, exchanged or swapped."""
    letters = {*ascii_lowercase, *term}
    for position in range(len(term) + 1):
        head = term[:position]
        tail = term[position:]
        for letter in letters:
            yield f"{head}{letter}{tail}"
            yield f"{head}{letter}{tail[1:]}"
        yield f"{head}{tail[1:]}"
        yield f"{head}{tail[1:2]}{tail[:1]}{tail[2:]}"
