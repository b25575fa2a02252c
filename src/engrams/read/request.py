"""What a read is asked for and what it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from engrams.ports import AsOf, Embedder, Graph, Reach, Records, Reranker, Search, Skills, TokenCounter, Where
from engrams.read.cache import ProfileCache
from engrams.settings import GraphSettings, ReadSettings, RerankSettings
from engrams.types import Kind, Record, Scope

if TYPE_CHECKING:
    from engrams.ports.search import Floats

FindHot: TypeAlias = "Callable[[Scope, Floats | None], Mapping[str, float]]"
"""The cosines of what is at hand, of those that are near a query."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One search. ``limit`` 0 finds nothing. ``history``: superseded and archived records too.

    ``known``: ids that the reader has before them already, and ``session``: the conversation whose own words they have.
    ``latest``: the last of what was said, which a context shows whatever is found; ``summary``: that of the conversation, which
    stands before what is found. ``catch_up``: a context also shows the latest episode, however old.
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

    @property
    def reach(self) -> Reach:
        """An owner sees everything of theirs; a deeper scope sees itself and those above it."""
        return visible_scopes(self.scope)


@dataclass(frozen=True, slots=True)
class ReadDeps:
    """The stores and models of the read flow."""

    records: Records
    search: Search
    graph: Graph
    embedder: Embedder
    counter: TokenCounter
    settings: ReadSettings
    graph_settings: GraphSettings
    rerank_settings: RerankSettings
    reranker: Reranker | None = None
    find_hot: FindHot | None = None
    profiles: ProfileCache = field(default_factory=ProfileCache)
    skills: Skills | None = None


def visible_scopes(scope: Scope) -> Reach:
    """What a read in ``scope`` sees."""
    if scope.is_owner:
        return Reach(scope.owner, (scope,), tree=True)
    return Reach(scope.owner, scope.chain())
