"""The port of links between records, tags, topics and concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engrams.core import Edge, EdgeType, Record, Scope, Topic
from engrams.ports.record_queries import ScopeReach


class LinkStore(Protocol):
    """Links between nodes."""

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        """List the edges at either end of any of ``nodes``. ``types`` empty: of every type."""
        ...

    def surroundings(
        self, owner: Scope, ids: Sequence[str], types: Sequence[EdgeType], commit: str = ""
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Return the edges at records, these records, and others from which ``types`` lead to them.

        ``commit``: mark of the survey that began this read; the answer may be as old as that.
        """
        ...

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        """List the topics and concepts of the scopes in reach, by id."""
        ...
