"""Numbers of index terms."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable

import apsw

from engrams.store.sqlite.sql import fetch_all

_LARGEST = 200_000


class TermLexicon:
    """Cache of term numbers between writes; used by one writer."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._epoch: object = None

    def start_epoch(self, epoch: object) -> None:
        """Forget everything in a new epoch.

        A rollback, a purge or another file made numbers void."""
        if epoch != self._epoch or len(self._numbers) > _LARGEST:
            self._numbers.clear()
            self._epoch = epoch

    def encode(self, connection: apsw.Connection, terms: list[str]) -> bytes:
        """Encode terms as uint32 numbers; new terms get one."""
        numbers = self._numbers
        missing = {term for term in terms if term not in numbers}
        if missing:
            numbers.update(fetch_all(connection, "find_terms", _to_json_list(missing)))
            if fresh := [term for term in missing if term not in numbers]:
                numbers.update(fetch_all(connection, "add_terms", _to_json_list(fresh)))
        return array("I", [numbers[term] for term in terms]).tobytes()


def decode(connection: apsw.Connection, lexemes: bytes) -> list[str]:
    """Decode lexemes to terms."""
    numbers = array("I", lexemes)
    terms = dict(fetch_all(connection, "terms_by_number", json.dumps(sorted(set(numbers)))))
    return [terms[number] for number in numbers]


def _to_json_list(terms: Iterable[str]) -> str:
    return json.dumps(list(terms), ensure_ascii=False)
