"""Terms of a Postgres store: their hashes, without a list of words."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from engrams.store.postgres.owner_connection import OwnerConnection
from engrams.store.sql.lexemes import find_unused_numbers
from engrams.store.sql.named_queries import SqlConnection, fetch_one
from engrams.store.sql.row_seals import RowSeals
from engrams.text.normalize import fold

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex


class PostgresDialect:
    """Postgres' own ways: an owner for each statement, hashes for terms.

    No term needs a number that another process gave it, and no list of words outlives a purge. One
    word in 80,000 shares its number with another one of an owner who uses 50,000.
    """

    def __init__(self, seals: RowSeals) -> None:
        self.seals = seals

    def begin(self, connection: SqlConnection) -> None:
        pass

    def enter(self, connection: SqlConnection, owner_key: str) -> None:
        assert isinstance(connection, OwnerConnection)
        connection.enter(owner_key)

    def mark_uses(self, connection: SqlConnection) -> None:
        pass

    def describe(self, text: str) -> dict[str, str]:
        return {"folded": fold(text)}

    def encode(self, _connection: SqlConnection, terms: list[str]) -> bytes:
        return array("I", map(number_term, terms)).tobytes()

    def number_all(self, connection: SqlConnection, terms: list[str]) -> None:
        pass

    def find(
        self, _connection: SqlConnection, index: OwnerSearchIndex, terms: Collection[str]
    ) -> Mapping[str, int]:
        numbers = {term: number_term(term) for term in terms}
        postings = index.state.postings
        return {term: number for term, number in numbers.items() if postings.holds(number)}

    def find_beginning(self, _connection: SqlConnection, _beginning: str) -> Mapping[str, int]:
        return {}

    def read_terms(self, connection: SqlConnection, number: int) -> dict[int, str]:
        return _name_numbers(array("I", fetch_one(connection, "lexemes_of", number)[0]))

    def number_terms(self, _connection: SqlConnection, terms: Collection[str]) -> dict[int, str]:
        return _name_numbers(map(number_term, terms))

    def drop_unused(self, connection: SqlConnection, terms: Mapping[int, str]) -> tuple[str, ...]:
        return tuple(terms[number] for number in find_unused_numbers(connection, terms))

    def count_words(self, _connection: SqlConnection, _words: Sequence[str]) -> int:
        return 0


def number_term(term: str) -> int:
    """Hash a term to the 32 bits of its number."""
    return int.from_bytes(
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little"
    )


def _name_numbers(numbers: Iterable[int]) -> dict[int, str]:
    return {number: str(number) for number in numbers}
