"""From what was found along links to what belongs with it (cascade retrieval, 003)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engrams.ports import Graph
from engrams.settings import GraphSettings
from engrams.types import Edge, EdgeType, Scope

FACTORS: Mapping[EdgeType, float] = {
    EdgeType.HAS_TAG: 0.8,
    EdgeType.IN_TOPIC: 0.6,
    EdgeType.SUPERSEDES: 0.9,
    EdgeType.DERIVED_FROM: 0.7,
    EdgeType.CONTRADICTS: 0.3,
    EdgeType.ABSTRACTED_FROM: 0.6,
}
"""What a step over a link of this type keeps; relates_to and co_occurs keep their own weight, at most 1 (003)."""

MOST = 50
"""Links followed from one node: a tag on thousands of memories says nothing about any of them."""


def cascade(
    seeds: Mapping[str, float], neighbours: Callable[[Sequence[str]], Sequence[Edge]], depth: int, decay: float
) -> dict[str, float]:
    """Scores of nodes within ``depth`` steps of the seeds, the best path's each.

    A step multiplies the score it starts from by the link's factor and by ``decay`` to the power of its depth, counted from 1 (003:
    0.7 ** (depth + 1) with depth from 0). ``depth`` 0 gives the seeds. Links are followed in both directions.
    """
    best = dict(seeds)
    front = dict(seeds)
    for step in range(1, depth + 1):
        reached: dict[str, float] = {}
        fan: dict[str, int] = {}
        for edge in neighbours(list(front)):
            for start, end in ((edge.source, edge.target), (edge.target, edge.source)):
                if start in front and start != end and fan.get(start, 0) < MOST:
                    fan[start] = fan.get(start, 0) + 1
                    reached[end] = max(reached.get(end, 0.0), front[start] * factor(edge) * decay**step)
        front = {node: score for node, score in reached.items() if score > best.get(node, 0.0)}
        best.update(front)
        if not front:
            break
    return best


def factor(edge: Edge) -> float:
    """What a step over this link keeps, 0..1."""
    return FACTORS.get(edge.type, min(max(edge.weight, 0.0), 1.0))


def bonuses(seeds: Mapping[str, float], owner: Scope, graph: Graph, settings: GraphSettings) -> dict[str, float]:
    """What links add to scores: a share of the cascade score of each node reached. Seeds get none from themselves."""
    if not settings.depth or not settings.bonus or not seeds:
        return {}
    found = cascade(seeds, lambda nodes: graph.edges(owner, nodes), settings.depth, settings.decay)
    return {node: settings.bonus * score for node, score in found.items() if node not in seeds}
