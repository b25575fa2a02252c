"""Request and dependencies of a read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from engrams.clock import utc
from engrams.ports import (
    AsOf,
    CandidateSearch,
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
from engrams.read.filterparsing import to_moment
from engrams.read.profilecache import ProfileCache
from engrams.settings import LinkExpansionSettings, ReadSettings, RerankSettings
from engrams.types import Kind, Record, Scope

if TYPE_CHECKING:
    from engrams.ports.candidatesearch import Floats

Moment: TypeAlias = datetime | AsOf | str | None
FindHot: TypeAlias = "Callable[[Scope, Floats | None], Mapping[str, float]]"
"""Lookup of hot memories near a query: id -> cosine."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One search; ``limit`` 0 finds nothing.

    ``history``: superseded and archived records too. ``already_shown``: ids that the reader has seen; ``session``: the conversation whose
    own records are left out. For a context: ``last_turns`` are always shown, ``summary`` precedes the hits, ``catch_up`` adds the latest
    episode."""

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
    find_hot: FindHot | None = None
    profiles: ProfileCache = field(default_factory=ProfileCache)
    skills: SkillRecordSource | None = None
    query_chars: int = 20_000
    states: OwnerStateStore | None = None


def visible_scopes(scope: Scope) -> ScopeReach:
    """Scopes that a read sees: an owner's tree, else the scope's chain."""
    if scope.is_owner:
        return ScopeReach(scope.owner, (scope,), tree=True)
    return ScopeReach(scope.owner, scope.chain())


def to_as_of(value: Moment) -> AsOf | None:
    """A point in both times; one time stands for both.

    A text is ISO 8601. InputError: a text that is no time."""
    if value is None:
        return None
    if isinstance(value, str):
        value = to_moment(value)
    if isinstance(value, AsOf):
        return AsOf(*(part and utc(part) for part in (value.valid, value.known)))
    return AsOf(utc(value), utc(value))
