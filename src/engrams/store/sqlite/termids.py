"""Numbers of index terms."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable

import apsw

from engrams.store.sql.namedqueries import SqlConnection, execute, fetch_all, fetch_one
from engrams.text.terms import TERM_SCHEME, index_terms

_LARGEST = 200_000
_SCHEME = "terms"
"""Name of the counter that holds the version of the terms."""


class TermNumberCache:
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

    def encode(self, connection: SqlConnection, terms: list[str]) -> bytes:
        """Encode terms as uint32 numbers; new terms get one."""
        numbers = self._numbers
        missing = {term for term in terms if term not in numbers}
        if missing:
            numbers.update(fetch_all(connection, "find_terms", _to_json_list(missing)))
            if fresh := [term for term in missing if term not in numbers]:
                numbers.update(fetch_all(connection, "add_terms", _to_json_list(fresh)))
        return array("I", [numbers[term] for term in terms]).tobytes()


def decode(connection: SqlConnection, lexemes: bytes) -> list[str]:
    """Decode lexemes to terms."""
    numbers = array("I", lexemes)
    terms = dict(fetch_all(connection, "terms_by_number", json.dumps(sorted(set(numbers)))))
    return [terms[number] for number in numbers]


def is_current(connection: apsw.Connection) -> bool:
    """True if the terms of all records are of this version's scheme."""
    return int(fetch_one(connection, "spent", _SCHEME)[0]) == TERM_SCHEME


def mark_current(connection: apsw.Connection) -> None:
    """Note the scheme of the terms."""
    execute(connection, "set_counter", _SCHEME, TERM_SCHEME)


def rebuild(connection: apsw.Connection) -> int:
    """Split every text into terms again, inside the caller's transaction; how many."""
    numbers = TermNumberCache()
    for name in ("drop_postings", "make_postings", "harden_postings", "drop_index_marks"):
        execute(connection, name)
    reached = count = 0
    while rows := fetch_all(connection, "some_texts", reached):
        for number, text, caption in rows:
            words = index_terms(f"{text} [{caption}]" if caption else text)
            execute(connection, "set_lexemes", numbers.encode(connection, words), number)
            if words:
                execute(connection, "add_postings", number, " ".join(words))
        reached, count = rows[-1][0], count + len(rows)
    mark_current(connection)
    return count


def _to_json_list(terms: Iterable[str]) -> str:
    return json.dumps(list(terms), ensure_ascii=False)
