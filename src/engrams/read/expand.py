"""Expansion of hits along links (cascade retrieval, 003)."""

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
"""Share of the score kept over a link by type; others keep their weight, at most 1 (003)."""

_LENDING = tuple(kind for kind in EdgeType if kind is not EdgeType.DERIVED_FROM)

MAX_LINKS = 50
"""Links followed from one node: a tag on thousands of memories tells nothing."""


def cascade_scores(
    seeds: Mapping[str, float], neighbours: Callable[[Sequence[str]], Sequence[Edge]], depth: int, decay: float
) -> dict[str, float]:
    """Score nodes within ``depth`` steps of the seeds by their best path.

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
                if start in front and start != end and fan.get(start, 0) < MAX_LINKS:
                    fan[start] = fan.get(start, 0) + 1
                    reached[end] = max(reached.get(end, 0.0), front[start] * link_factor(edge) * decay**step)
        front = {node: score for node, score in reached.items() if score > best.get(node, 0.0)}
        best.update(front)
        if not front:
            break
    return best


def link_factor(edge: Edge) -> float:
    """Share of a score kept over this link, 0..1."""
    return FACTORS.get(edge.type, min(max(edge.weight, 0.0), 1.0))


def link_bonuses(seeds: Mapping[str, float], owner: Scope, graph: Graph, settings: GraphSettings) -> dict[str, float]:
    """Score bonuses by links: a share of the best cascade score.

    Only better seeds add to a node. Links between a fact and its turn are not followed: the two become one hit anyway.
    """
    if not settings.depth or not settings.bonus or not seeds:
        return {}
    extra: dict[str, float] = {}
    known: dict[str, tuple[Edge, ...]] = {}

    def fetch_edges(nodes: Sequence[str]) -> list[Edge]:
        fresh = [node for node in nodes if node not in known]
        if fresh:
            known.update((node, ()) for node in fresh)
            for edge in graph.edges(owner, fresh, _LENDING):
                for end in {edge.source, edge.target} & set(fresh):
                    known[end] = (*known[end], edge)
        return [edge for node in nodes for edge in known[node]]

    fetch_edges(list(seeds))
    for seed, score in seeds.items():
        if known[seed]:
            for node, reached in cascade_scores({seed: score}, fetch_edges, settings.depth, settings.decay).items():
                if node != seed and seeds.get(node, 0.0) < score:
                    extra[node] = max(extra.get(node, 0.0), settings.bonus * reached)
    return extra
