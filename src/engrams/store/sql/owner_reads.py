"""Rows of one owner, kept until somebody changes any of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from engrams.core import Edge, Record
from engrams.frozen_data import dataclass


@dataclass(slots=True)
class OwnerReads:
    """Records of one owner by id, and edges by their ends.

    Of edges, for each id that was looked up.
    """

    records: dict[str, Record] = field(default_factory=dict)
    edges: dict[str, Sequence[Edge]] = field(default_factory=dict)

    def add_edges(self, ids: Sequence[str], found: Iterable[Edge]) -> int:
        """Keep the edges at ``ids``, which were looked up; number of entries."""
        ends: dict[str, list[Edge]] = {}
        for edge in found:
            for end in {edge.source, edge.target}:
                ends.setdefault(end, []).append(edge)
        self.edges.update((name, ends.get(name, ())) for name in ids)
        return sum(map(len, ends.values()), len(ids))

    def list_edges(self, ids: Iterable[str]) -> tuple[Edge, ...]:
        """List edges at ids that were looked up, each once, in order."""
        found = {edge for name in ids if (some := self.edges[name]) for edge in some}
        return tuple(sorted(found, key=_edge_order))


def _edge_order(edge: Edge) -> tuple[str, str, str]:
    return edge.source, edge.target, edge.type
