"""Terms of a SQLite store: words that a list numbers."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from engrams.store.sql.lexemes import find_unused_numbers
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_all, fetch_one
from engrams.store.sql.row_seals import RowSeals

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex


_MAX_NUMBERS = 200_000
"""Terms whose numbers are kept between writes."""
_LAST = "\U0010ffff"
"""Character behind all others."""


class TermNumberCache:
    """Cache of term numbers between writes; used by one writer."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._epoch: object = None
        self._last: tuple[str, int] = ("", 0)
        """Term with the highest number, and the number."""

    def begin(self, connection: SqlConnection, epoch: tuple[int, int]) -> None:
        """Begin a write: forget everything if the list went back to an earlier state.

        Numbers are given out in order. So a list that holds the last one holds all before it.
        """
        term, last_number = self._last
        erasures, number = fetch_one(connection, "erasures_and_number", term)
        self.start_epoch((*epoch, erasures))
        if self._last[1] and number != last_number:
            self.start_epoch(None)

    def start_epoch(self, epoch: object) -> None:
        """Forget everything in a new epoch.

        A rollback, a purge or another file made numbers void.
        """
        if epoch != self._epoch or len(self._numbers) > _MAX_NUMBERS:
            self._numbers.clear()
            self._last = ("", 0)
            self._epoch = epoch

    def encode(self, connection: SqlConnection, terms: list[str]) -> bytes:
        """Encode terms as uint32 numbers, in order; new terms get one."""
        numbers = self._numbers
        uncached = {term for term in terms if term not in numbers}
        if uncached:
            numbers.update(fetch_all(connection, "find_terms", _to_json_list(uncached)))
            if unlisted := [term for term in uncached if term not in numbers]:
                numbers.update(fetch_all(connection, "add_terms", _to_json_list(unlisted)))
            last = max(uncached, key=numbers.__getitem__)
            if numbers[last] > self._last[1]:
                self._last = last, numbers[last]
        return array("I", [numbers[term] for term in terms]).tobytes()


class SqliteDialect:
    """SQLite's own ways: one file for all owners, and a list that numbers their words.

    ``get_epoch``: differs after a rollback and with another file, which void the numbers of terms.
    """

    def __init__(self, get_epoch: Callable[[], tuple[int, int]], seals: RowSeals) -> None:
        self.seals = seals
        self._get_epoch = get_epoch
        self._lexicon = TermNumberCache()

    def begin(self, connection: SqlConnection) -> None:
        self._lexicon.begin(connection, self._get_epoch())

    def enter(self, _connection: SqlConnection, _owner_key: str) -> None:
        pass

    def mark_uses(self, connection: SqlConnection) -> None:
        execute(connection, "mark_uses")

    def describe(self, _text: str) -> dict[str, str]:
        return {}

    def encode(self, connection: SqlConnection, terms: list[str]) -> bytes:
        return self._lexicon.encode(connection, terms)

    def number_all(self, connection: SqlConnection, terms: list[str]) -> None:
        self._lexicon.encode(connection, terms)

    def find(
        self, connection: SqlConnection, _index: OwnerSearchIndex, terms: Collection[str]
    ) -> Mapping[str, int]:
        return dict(fetch_all(connection, "find_terms", _to_json_list(terms))) if terms else {}

    def find_beginning(self, connection: SqlConnection, beginning: str) -> Mapping[str, int]:
        return dict(fetch_all(connection, "terms_beginning", beginning, f"{beginning}{_LAST}"))

    def read_terms(self, connection: SqlConnection, number: int) -> dict[int, str]:
        numbers = set(array("I", fetch_one(connection, "lexemes_of", number)[0]))
        return dict(fetch_all(connection, "terms_by_number", json.dumps(sorted(numbers))))

    def number_terms(self, connection: SqlConnection, terms: Collection[str]) -> dict[int, str]:
        if not terms:
            return {}
        rows = fetch_all(connection, "find_terms", _to_json_list(terms))
        return {number: term for term, number in rows}

    def drop_unused(self, connection: SqlConnection, terms: Mapping[int, str]) -> tuple[str, ...]:
        if not terms:
            return ()
        unused = find_unused_numbers(connection, terms)
        for number in unused:
            execute(connection, "drop_term", number)
        execute(connection, "add_erasure")
        self._lexicon.start_epoch(None)
        return tuple(terms[number] for number in unused)

    def count_words(self, connection: SqlConnection, words: Sequence[str]) -> int:
        return int(fetch_one(connection, "left_words", _to_json_list(words))[0])


def _to_json_list(terms: Collection[str]) -> str:
    return json.dumps(list(terms), ensure_ascii=False)
