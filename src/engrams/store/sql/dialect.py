"""Protocols of what each database does in its own way.

``SqlDatabase`` runs transactions, ``SqlDialect`` does what no shared statement can say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from engrams.core import Scope
from engrams.store.sql.named_queries import SqlConnection
from engrams.store.sql.row_seals import RowSeals

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex

T = TypeVar("T")
P = ParamSpec("P")


class SqlDatabase(Protocol):
    """Transactions of one database.

    ``owner``: whose rows are touched; None: those of no single owner.
    """

    generation: int
    """Grows when the whole database is replaced."""

    @property
    def exists(self) -> bool:
        """True once there is something to read. ClosedError: it was closed."""
        ...

    def reading(self, owner: Scope | None, /) -> AbstractContextManager[SqlConnection]:
        """Begin a read transaction, on one state of the database."""
        ...

    def asking(self, owner: Scope | None, /) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for one statement, which reads all its rows."""
        ...

    def ask_together(
        self, owner: Scope, /, *statements: tuple[str, Any]
    ) -> list[list[tuple[Any, ...]]]:
        """Read an owner's rows by statements sent together; the rows of each."""
        ...

    def write(
        self,
        owner: Scope | None,
        work: Callable[Concatenate[SqlConnection, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run ``work`` in a durable transaction; again, where it was rolled back.

        ``arguments`` and ``options`` are handed to it behind the connection.
        """
        ...

    def write_unsynced(self, owner: Scope | None, work: Callable[[SqlConnection], T], /) -> T:
        """Run ``work`` in a transaction that a power failure may undo."""
        ...

    def checkpoint(self) -> bool:
        """Move earlier pages out of the log; False if some must stay."""
        ...

    def close(self) -> None: ...


class SqlDialect(Protocol):
    """Operations that SQLite and Postgres do differently.

    Terms are the words of the index; each has a number of 32 bits in the lexemes of a record, which
    a list of words gives (SQLite) or a hash (Postgres).
    """

    seals: RowSeals
    """Seals of the rows of this database."""

    def begin(self, connection: SqlConnection) -> None:
        """Prepare for the writes of a transaction."""
        ...

    def enter(self, connection: SqlConnection, owner_key: str) -> None:
        """Name the owner whose rows the next statements touch."""
        ...

    def mark_uses(self, connection: SqlConnection) -> None:
        """Mark that records were used, where no commit tells it."""
        ...

    def describe(self, text: str) -> Mapping[str, Any]:
        """Return extra columns that this database stores for a text."""
        ...

    def encode(self, connection: SqlConnection, terms: list[str]) -> bytes:
        """Encode terms as uint32 numbers, in order."""
        ...

    def number_all(self, connection: SqlConnection, terms: list[str]) -> None:
        """Number the terms that records of a batch will hold."""
        ...

    def find(
        self, connection: SqlConnection, index: OwnerSearchIndex, terms: Collection[str]
    ) -> Mapping[str, int]:
        """Look up the numbers of query terms that an index may hold."""
        ...

    def find_beginning(self, connection: SqlConnection, beginning: str) -> Mapping[str, int]:
        """Look up the numbers of some terms with a beginning; none without a list of words."""
        ...

    def read_terms(self, connection: SqlConnection, number: int) -> dict[int, str]:
        """Read the terms of a record by their numbers."""
        ...

    def number_terms(self, connection: SqlConnection, terms: Collection[str]) -> dict[int, str]:
        """Number terms that records held once."""
        ...

    def drop_unused(self, connection: SqlConnection, terms: Mapping[int, str]) -> tuple[str, ...]:
        """Drop those of some terms that no record holds; return them."""
        ...

    def count_words(self, connection: SqlConnection, words: Sequence[str]) -> int:
        """Count the words that are still in this database's list of words."""
        ...
