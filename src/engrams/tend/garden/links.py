"""Links that no single conversation could have made, and links that use has earned (003)."""

from __future__ import annotations

from collections import Counter

from engrams.ports import Card
from engrams.tend.garden.merge import near
from engrams.tend.garden.plan import Bed, Step, pair, shown
from engrams.types import Edge, EdgeType

_EACH = 3
"""New links of one memory in one cycle."""
_STRONGER = 0.1
_RELATED = 0.5
"""Where a model's card says nothing of what is related."""


def links(bed: Bed, card: Card) -> list[Step]:
    """Memories of different sessions that are about the same are linked, the nearest first."""
    known = {pair(edge.source, edge.target) for edge in bed.links if edge.type is EdgeType.RELATES_TO}
    counts: Counter[int] = Counter()
    steps: list[Step] = []
    for one, other in near(bed, max(card.floors.get("related", _RELATED), _RELATED)):
        first, second = bed.records[one], bed.records[other]
        ends = pair(first.id, second.id)
        if first.session == second.session or first.scope != second.scope or ends in known or max(counts[one], counts[other]) >= _EACH:
            continue
        counts.update((one, other))
        edge = Edge(bed.owner, *ends, EdgeType.RELATES_TO, bed.settings.link)
        steps.append(Step("links", "link", ends, shown((first, second)), "of different sessions, about the same", edges=(edge,)))
        if len(steps) >= bed.settings.most:
            break
    return steps


def strengthen(bed: Bed) -> list[Step]:
    """What searches keep finding together is linked, and its link grows by a tenth, to 1 at most."""
    texts = {record.id: record for record in bed.records}
    weights = {pair(edge.source, edge.target): edge for edge in bed.links if edge.type is EdgeType.RELATES_TO}
    steps: list[Step] = []
    for edge in sorted(bed.links, key=lambda each: (-each.weight, each.source, each.target)):
        ends = pair(edge.source, edge.target)
        both = ends[0] in texts and ends[1] in texts
        if edge.type is not EdgeType.CO_OCCURS or not both or edge.weight < bed.settings.together or len(steps) >= bed.settings.most:
            continue
        known = weights.get(ends)
        # What was counted once is not counted again in every cycle: a link has grown as often as its count says.
        if known is not None and (known.weight >= 1.0 or known.count * bed.settings.together >= edge.weight):
            continue
        weight = bed.settings.link if known is None else min(known.weight + _STRONGER, 1.0)
        source, target = (known.source, known.target) if known else ends
        grown = Edge(bed.owner, source, target, EdgeType.RELATES_TO, weight)
        reason = f"found together {edge.weight:g} times"
        steps.append(Step("strengthen", "link", ends, shown((texts[ends[0]], texts[ends[1]])), reason, edges=(grown,)))
    return steps
