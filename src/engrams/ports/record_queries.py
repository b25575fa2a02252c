"""Queries of records: scopes, filters, time and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from engrams.core import UNSEARCHED, Json, Kind, Record, Scope, Status
from engrams.frozen_data import dataclass

Operator: TypeAlias = Literal[
    "eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"
]
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test on one field of a record, or of its metadata."""

    field: str
    """Name of a field; ``meta.NAME`` with a dotted path for metadata."""
    op: Operator
    value: Json


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by ``op``."""

    op: Literal["and", "or", "not"]
    """``not``: the parts do not hold all together."""
    parts: tuple[Condition | Where, ...]


TAUGHT = Where("and", (Condition("taught", "eq", True),))
"""Messages and notes for which a statement stands that was learned from them."""
UNCOUNTED = Where("or", (TAUGHT, Condition(f"meta.{UNSEARCHED}", "exists", True)))
"""These, and what no search finds: an order that the policy refused."""
COUNTED = Where("not", (UNCOUNTED,))
"""Everything else: what a person takes for memories of their own."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """Point in time of a read."""

    valid: datetime | None = None
    """Find what was true then. None: now."""
    known: datetime | None = None
    """Find what this memory knew then. None: now."""


Filter: TypeAlias = Where | Condition | Mapping[str, Any]
"""Filter of a search or list: ``{"speaker": "Ann", "meta.size": {"gte": 2}}``, any of several by
``{"$or": [{…}, {…}]}``, a ``Condition``, or several in a ``Where``.
"""
Moment: TypeAlias = datetime | AsOf | str | None


class ListFields(TypedDict, total=False):
    """Fields of a list; all that are given must hold; ``RecordQuery`` describes them."""

    kinds: str | Sequence[str]
    kind: str | Sequence[str]
    statuses: str | Sequence[str]
    status: str | Sequence[str]
    tags: str | Sequence[str]
    text: str
    where: Filter | None
    as_of: Moment
    session: str
    subject: str
    predicates: Sequence[str]
    about: Sequence[str]
    hash: str
    external_id: str
    sources: Sequence[str]
    prefix: str
    saying: Sequence[str]
    formerly: bool
    order: Literal["newest", "oldest", "believed"]
    after: str
    limit: int


@dataclass(frozen=True, slots=True)
class ScopeReach:
    """Scopes of one owner that a read sees."""

    owner: Scope
    scopes: tuple[Scope, ...]
    tree: bool = False
    """True: everything below ``scopes``, too."""

    @classmethod
    def of_owner(cls, owner: Scope) -> ScopeReach:
        """Reach every scope of one owner."""
        return cls(owner, (owner,), tree=True)


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Listing of records: scopes, filters, order and page.

    All filters that are set must hold.
    """

    reach: ScopeReach
    kinds: tuple[Kind, ...] = ()
    """Any of these kinds. Empty: all."""
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    """Any of these statuses."""
    as_of: AsOf | None = None
    """Records that were true and known then. The engine also takes a time, or its text."""
    session: str = ""
    """Session in which it was said."""
    subject: str = ""
    """Exactly this subject."""
    predicates: tuple[str, ...] = ()
    """Any of these predicates."""
    about: tuple[str, ...] = ()
    """Names, folded (no case, no accents), one of which the subject contains or is part of.

    "ada" is part of "ada lovelace". A name that is not ASCII may also match another subject.
    """
    hashes: tuple[str, ...] = ()
    """Any of these content hashes (``Record.hash``)."""
    external_id: str = ""
    """The sender's own id."""
    sources: tuple[str, ...] = ()
    """Ids of records; the evidence quotes any of them."""
    prefix: str = ""
    """Beginning of the id."""
    where: Where | None = None
    """Filter that the records pass."""
    text: str = ""
    """Text that the record contains, without regard to case and accents."""
    saying: tuple[str, ...] = ()
    """At most 100 texts; the record contains any of them letter by letter."""
    formerly: bool = False
    """With ``saying``: also records whose history contains one of the texts."""
    order: Literal["newest", "oldest", "believed"] = "newest"
    """believed: corrections, then rules, then the rest by confidence times trust; one page only."""
    after: str = ""
    """Id after which the page begins, in the same order: ``RecordPage.next`` of the last page."""
    limit: int = 100
    """Largest number of records on the page; through the engine at most ``limits.results``."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """One page of a listing."""

    records: tuple[Record, ...]
    next: str = ""
    """``after`` of the following page. Empty: this page is the last."""

    def __iter__(self) -> Iterator[Record]:
        """Yield the records of this page, not those of following pages."""
        return iter(self.records)

    def __len__(self) -> int:
        """Return the number of records of this page."""
        return len(self.records)


@dataclass(frozen=True, slots=True)
class ChangedRecords:
    """Records of an owner in the order of their changes."""

    records: tuple[Record, ...]
    last: int
    """Number of the last of these changes."""


@dataclass(frozen=True, slots=True)
class FactSlot:
    """Subject and predicate of a statement, without its object."""

    id: str
    """Id of the statement."""
    subject: str
    predicate: str
    role: str
    """``Role`` of whoever stated it."""
    version: int
