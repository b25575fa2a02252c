"""Links across sessions between related memories, and links from use (003)."""

from __future__ import annotations

from collections import Counter

from engrams.ports import Card
from engrams.tend.garden.merge import find_near_pairs
from engrams.tend.garden.plan import GardenScope, GardenStep, order_pair, preview_texts
from engrams.types import Edge, EdgeType

_EACH = 3
"""New links per memory and cycle."""
_STRONGER = 0.1
_RELATED = 0.5
"""Floor of related memories where the model's card has none."""


def link_related(garden: GardenScope, card: Card) -> list[GardenStep]:
    """Link similar memories of different sessions, nearest first."""
    known = {order_pair(edge.source, edge.target) for edge in garden.links if edge.type is EdgeType.RELATES_TO}
    counts: Counter[int] = Counter()
    steps: list[GardenStep] = []
    for one, other in find_near_pairs(garden, max(card.floors.get("related", _RELATED), _RELATED)):
        first, second = garden.records[one], garden.records[other]
        ends = order_pair(first.id, second.id)
        if first.session == second.session or first.scope != second.scope or ends in known or max(counts[one], counts[other]) >= _EACH:
            continue
        counts.update((one, other))
        edge = Edge(garden.owner, *ends, EdgeType.RELATES_TO, garden.settings.link_weight)
        steps.append(
            GardenStep("links", "link", ends, preview_texts((first, second)), "of different sessions, about the same", edges=(edge,))
        )
        if len(steps) >= garden.settings.max_changes:
            break
    return steps


def strengthen_links(garden: GardenScope) -> list[GardenStep]:
    """Link memories found together; known links grow by a tenth, to 1."""
    texts = {record.id: record for record in garden.records}
    weights = {order_pair(edge.source, edge.target): edge for edge in garden.links if edge.type is EdgeType.RELATES_TO}
    steps: list[GardenStep] = []
    for edge in sorted(garden.links, key=lambda each: (-each.weight, each.source, each.target)):
        ends = order_pair(edge.source, edge.target)
        both = ends[0] in texts and ends[1] in texts
        if (
            edge.type is not EdgeType.CO_OCCURS
            or not both
            or edge.weight < garden.settings.link_after_searches
            or len(steps) >= garden.settings.max_changes
        ):
            continue
        known = weights.get(ends)
        # Count each co-occurrence once over all cycles: a link's count says how often it has grown.
        if known is not None and (known.weight >= 1.0 or known.count * garden.settings.link_after_searches >= edge.weight):
            continue
        weight = garden.settings.link_weight if known is None else min(known.weight + _STRONGER, 1.0)
        source, target = (known.source, known.target) if known else ends
        grown = Edge(garden.owner, source, target, EdgeType.RELATES_TO, weight)
        reason = f"found together {edge.weight:g} times"
        steps.append(GardenStep("strengthen", "link", ends, preview_texts((texts[ends[0]], texts[ends[1]])), reason, edges=(grown,)))
    return steps
