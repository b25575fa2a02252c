"""Terms of a SQLite store: numbered words, and a full-text index."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from engrams.store.sql.namedqueries import SqlConnection, execute, fetch_all, fetch_first, fetch_one
from engrams.store.sqlite import termids
from engrams.store.sqlite.termids import TermNumberCache

if TYPE_CHECKING:
    from engrams.store.index import OwnerSearchIndex
    from engrams.store.sqlite.database import SqliteDatabase


class SqliteDialect:
    """SQLite's own ways: one file for all owners, FTS5 for terms."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database, self._lexicon = database, TermNumberCache()

    def begin(self, connection: SqlConnection) -> None:
        erasures = fetch_one(connection, "erasures")[0]
        # Term numbers are void after a rollback or with another file.
        self._lexicon.start_epoch((self._database.generation, self._database.rollbacks, erasures))

    def enter(self, _connection: SqlConnection, _owner: str) -> None:
        pass

    def describe(self, _text: str) -> dict[str, str]:
        return {}

    def encode(self, connection: SqlConnection, terms: list[str]) -> bytes:
        return self._lexicon.encode(connection, terms)

    def post(self, connection: SqlConnection, number: int, terms: Sequence[str]) -> None:
        if terms:
            execute(connection, "add_postings", number, " ".join(terms))

    def unpost(self, connection: SqlConnection, number: int) -> int:
        terms = termids.decode(connection, fetch_one(connection, "lexemes_of", number)[0])
        if terms:
            execute(connection, "drop_posting", number, " ".join(terms))
        return len(set(terms))

    def find(self, connection: SqlConnection, _index: OwnerSearchIndex, terms: Collection[str]) -> Mapping[str, int]:
        return dict(fetch_all(connection, "find_terms", _to_json_list(terms))) if terms else {}

    def read_terms(self, connection: SqlConnection, number: int) -> dict[int, str]:
        terms = termids.decode(connection, fetch_one(connection, "lexemes_of", number)[0])
        return self.number_terms(connection, set(terms))

    def number_terms(self, connection: SqlConnection, terms: Collection[str]) -> dict[int, str]:
        return {number: term for term, number in fetch_all(connection, "find_terms", _to_json_list(terms))} if terms else {}

    def drop_unused(self, connection: SqlConnection, terms: Mapping[int, str]) -> tuple[str, ...]:
        unused = {number: term for number, term in terms.items() if fetch_first(connection, "holds_term", term) is None}
        for number in unused:
            execute(connection, "drop_term", number)
        if terms:
            execute(connection, "add_erasure")
            self._lexicon.start_epoch(None)
        return tuple(unused.values())

    def count_terms(self, connection: SqlConnection, terms: Sequence[str]) -> tuple[int, int]:
        listed = _to_json_list(terms)
        return int(fetch_one(connection, "left_terms", listed)[0]), int(fetch_one(connection, "left_words", listed)[0])


def _to_json_list(terms: Collection[str]) -> str:
    return json.dumps(list(terms), ensure_ascii=False)
