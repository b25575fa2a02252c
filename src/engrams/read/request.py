"""Request, filters and dependencies of a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, SupportsIndex, TypeAlias, TypeVar

from engrams.core import Kind, Record, Scope, Status
from engrams.core.clock import parse_time, utc
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import (
    AsOf,
    CandidateSearch,
    Condition,
    Embedder,
    LinkStore,
    OwnerStateStore,
    RecordStore,
    Reranker,
    ScopeReach,
    SkillRecordSource,
    TokenCounter,
    Where,
)
from engrams.read.hot_memories import HotMemories
from engrams.read.profile_cache import ProfileCache
from engrams.settings import LinkExpansionSettings, ReadSettings, RerankSettings

Filter: TypeAlias = "Where | Condition | Mapping[str, Any]"
"""Filter of a search or list: ``{"speaker": "Ann", "tags": "garden"}``, a ``Condition``, or several
in a ``Where``.
"""

_LISTS = frozenset({"tags", "triggers", "steps"})
_FORM = (
    'Write {"speaker": "Ann"}, Condition("importance", "gte", 0.7), or Where("and", (…)) of'
    " several."
)
_ALIASES = {
    "kind": "kinds",
    "status": "statuses",
    "query": "text",
    "top_k": "limit",
    "k": "limit",
    "n": "limit",
    "tag": "tags",
}
_TEXTS = frozenset({"session", "subject", "hash", "external_id", "prefix", "text", "after"})
_ORDERS = ("newest", "oldest", "believed")
_N = TypeVar("_N", bound=StrEnum)


Moment: TypeAlias = datetime | AsOf | str | None


def to_where(value: Filter | None) -> Where | None:
    """Convert a filter as people write it to a ``Where``.

    Every entry of a dict must hold. A list of values means any of them; tags must all be there.
    InputError: it is nothing of the kind.
    """
    match value:
        case None | Where():
            return value
        case Condition():
            return Where("and", (value,))
        case Mapping() if all(isinstance(name, str) for name in value):
            return (
                Where(
                    "and",
                    tuple(
                        part for name, held in value.items() for part in _to_conditions(name, held)
                    ),
                )
                if value
                else None
            )
        case _:
            raise InputError(f"where is no {type(value).__name__}: {value!r:.80}.", hint=_FORM)


def to_query_fields(fields: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a listing, from those a person writes.

    InputError: an unknown field, or a value that it cannot have.
    """
    given = {_ALIASES.get(name, name): value for name, value in fields.items()}
    tags = given.pop("tags", None)
    for name in given:
        if name not in known:
            near = get_close_matches(name, (*known, "tags"), 1)
            tip = f"Did you mean {near[0]}? " if near else ""
            raise InputError(
                f"list has no field {name!r}.",
                hint=f"{tip}The fields are {', '.join(sorted((*known, 'tags', 'as_of')))}.",
            )
    if tags:
        both = (to_where({"tags": tags}), to_where(given.get("where")))
        given["where"] = Where("and", tuple(part for part in both if part is not None))
    elif "where" in given:
        given["where"] = to_where(given["where"])
    for name in given.keys() & _TEXTS:
        if not isinstance(given[name], str):
            raise InputError(f"{name} of a list is text, not {type(given[name]).__name__}.")
    if given.get("order", "newest") not in _ORDERS:
        raise InputError(
            f"There is no order {given['order']!r}.", hint=f"The orders are: {', '.join(_ORDERS)}."
        )
    if "limit" in given:
        check_count(given["limit"], "limit", 1)
    for name, kind in (("kinds", Kind), ("statuses", Status)):
        if name in given:
            given[name] = to_names(kind, given[name])
    return given


def check_count(value: int, name: str, least: int = 0) -> int:
    """Return a whole number. InputError: it is none, or below ``least``."""
    if not isinstance(value, SupportsIndex) or value.__index__() < least:
        raise InputError(
            f"{name} is a whole number from {least}, not {value!r:.80}.",
            hint=f"Write {name}=10, without quotes.",
        )
    return value


def to_names(kind: type[_N], value: str | Sequence[str] | None) -> tuple[_N, ...]:
    """Parse names of kinds or statuses. InputError lists the names."""
    try:
        names = (value,) if isinstance(value, str) else tuple(value or ())
        return tuple(kind(name) for name in names)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{problem}.", hint=f"Known: {', '.join(kind)}.") from None


def to_moment(text: str) -> datetime:
    """Parse an ISO 8601 time. InputError: it is none."""
    try:
        return parse_time(text)
    except ValueError:
        raise InputError(
            f"as_of is no time: {text!r:.80}.",
            hint="Write 2024-05-31 or 2024-05-31T14:30:00+02:00.",
        ) from None


def _to_conditions(name: str, value: Any) -> tuple[Condition, ...]:
    several = isinstance(value, (list, tuple, set, frozenset))
    if name in _LISTS:
        return tuple(Condition(name, "contains", one) for one in (value if several else (value,)))
    return (Condition(name, "in", list(value)) if several else Condition(name, "eq", value),)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One search; ``limit`` 0 finds nothing.

    ``history``: superseded and archived records too. ``already_shown``: ids that the reader has
    seen; ``session``: the conversation whose own records are left out. ``cut_ratio``: share of the
    best score below which hits are cut (None: ``read.cut_ratio``). For a context: ``last_turns``
    are always shown, ``summary`` precedes the hits, ``catch_up`` adds the latest episode.
    """

    text: str
    scope: Scope
    now: datetime
    limit: int
    as_of: AsOf | None = None
    kinds: tuple[Kind, ...] = ()
    where: Where | None = None
    history: bool = False
    already_shown: frozenset[str] = frozenset()
    session: str = ""
    last_turns: tuple[Record, ...] = ()
    summary: str = ""
    catch_up: bool = False
    topic_changed: bool = False
    cut_ratio: float | None = None
    is_silent: bool = False
    """Memory is off for this conversation, and nothing is found."""
    hot: HotMemories | None = None
    """Memories that were recalled lately; None: that tier is off."""

    def __post_init__(self) -> None:
        """InputError: the query is no text, or the limit no count."""
        if not isinstance(self.text, str):
            raise InputError(
                f"A query is text, not {type(self.text).__name__}.",
                hint="Give the question as one str.",
            )
        check_count(self.limit, "limit")

    @property
    def reach(self) -> ScopeReach:
        """Scopes that the request can see."""
        return visible_scopes(self.scope)


@dataclass(frozen=True, slots=True)
class ReadDeps:
    """Stores, models and settings of the read flow."""

    records: RecordStore
    search: CandidateSearch
    graph: LinkStore
    embedder: Embedder
    counter: TokenCounter
    settings: ReadSettings
    graph_settings: LinkExpansionSettings
    rerank_settings: RerankSettings
    reranker: Reranker | None = None
    profiles: ProfileCache = field(default_factory=ProfileCache)
    skills: SkillRecordSource | None = None
    query_chars: int = 20_000
    states: OwnerStateStore | None = None
    hide_questions: bool = False
    """Leave out an owner's own questions where tiers are searched; their exchanges are found."""


def parse_request(
    query: str,
    scope: Scope,
    now: datetime,
    limit: int,
    as_of: Moment,
    kinds: Sequence[Kind],
    where: Filter | None,
    history: bool,
) -> ReadRequest:
    """Make a request from parts as people write them.

    InputError: one of them is wrong.
    """
    return ReadRequest(
        text=query,
        scope=scope,
        now=now,
        limit=limit,
        as_of=to_as_of(as_of),
        kinds=to_names(Kind, kinds),
        where=to_where(where),
        history=history,
    )


def visible_scopes(scope: Scope) -> ScopeReach:
    """Scopes that a read sees: an owner's tree, else the scope's chain."""
    if scope.is_owner:
        return ScopeReach(scope.owner, (scope,), tree=True)
    return ScopeReach(scope.owner, scope.chain())


def to_as_of(value: Moment) -> AsOf | None:
    """A point in both times; one time stands for both.

    A text is ISO 8601. InputError: it is no time.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = to_moment(value)
    if isinstance(value, AsOf):
        return AsOf(*(part and utc(part) for part in (value.valid, value.known)))
    if not isinstance(value, datetime):
        raise InputError(
            f"as_of is no time: {value!r:.80}.",
            hint="Give a datetime, or a text such as 2024-05-31.",
        )
    return AsOf(utc(value), utc(value))
