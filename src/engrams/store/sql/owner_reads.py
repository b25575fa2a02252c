"""Cache of rows that were read of an owner, valid until somebody changes any memory of this owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engrams.core import Edge, Record


@dataclass(slots=True)
class OwnerReads:
    """Records and edges of one owner that were looked up."""

    records: dict[str, Record] = field(default_factory=dict)
    """By id."""
    edges: dict[str, Sequence[Edge]] = field(default_factory=dict)
    """By each node that was looked up, also where it has none."""

    def add_edges(self, node_ids: Sequence[str], edges: Iterable[Edge]) -> int:
        """Keep the edges at nodes that were looked up; return the number of entries."""
        by_node: dict[str, list[Edge]] = {}
        for edge in edges:
            for node_id in {edge.source, edge.target}:
                by_node.setdefault(node_id, []).append(edge)
        self.edges.update((node_id, by_node.get(node_id, ())) for node_id in node_ids)
        return sum(map(len, by_node.values()), len(node_ids))

    def list_edges(self, node_ids: Iterable[str]) -> tuple[Edge, ...]:
        """List edges at nodes that were looked up, each once, in order."""
        # By their names: the hash of an edge takes longer than all the rest.
        edges = {
            (edge.source, edge.target, edge.type): edge
            for node_id in node_ids
            for edge in self.edges[node_id]
        }
        return tuple([edges[name] for name in sorted(edges)])
