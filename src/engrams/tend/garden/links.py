"""Links between related memories, links from use, and unified tags."""

from __future__ import annotations

from collections import Counter, defaultdict

from engrams.ports import EmbedderCard
from engrams.tend.garden.merge import find_near_pairs
from engrams.tend.garden.plan import GardenScope, GardenStep, make_change, order_pair, preview_texts
from engrams.text.terms import terms
from engrams.types import Edge, EdgeType
from engrams.write.edit import diff_tag_edges

_EACH = 3
"""New links per memory and cycle."""
_STRONGER = 0.1
_RELATED = 0.5
"""Floor of related memories where the model's card has none."""


def link_related(garden: GardenScope, card: EmbedderCard) -> list[GardenStep]:
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


_PREFIX = "tag:"


def unify_tags(garden: GardenScope) -> list[GardenStep]:
    """Replace tags by their most used spelling; remove orphaned tag links."""
    names = _find_spellings(garden)
    steps: list[GardenStep] = []
    linked: dict[str, list[Edge]] = defaultdict(list)
    for edge in garden.links:
        if edge.type is EdgeType.HAS_TAG and edge.target.startswith(_PREFIX):
            linked[edge.source].append(edge)
    for _, record in garden.untouched():
        if len(steps) >= garden.settings.max_changes:
            break
        wanted = tuple(dict.fromkeys(names.get(tag, tag) for tag in record.tags))
        if wanted != record.tags:
            new, gone = diff_tag_edges(record, wanted)
            said = ", ".join(f"{tag} is {names[tag]}" for tag in record.tags if names.get(tag, tag) != tag)
            change = make_change(record, {"tags": wanted}, "tag")
            garden.taken.add(record.id)
            steps.append(GardenStep("tags", "tag", (record.id,), preview_texts((record,)), said, (change,), new, gone))
            continue
        orphans = tuple(edge for edge in linked[record.id] if edge.target.removeprefix(_PREFIX) not in record.tags)
        if orphans:
            said = f"it has no tag {', '.join(edge.target.removeprefix(_PREFIX) for edge in orphans)}"
            steps.append(GardenStep("tags", "unlink", (record.id,), preview_texts((record,)), said, unlink=orphans))
    return steps


def _find_spellings(garden: GardenScope) -> dict[str, str]:
    """Map rarer spellings to the most used one, compared folded and stemmed."""
    counts = Counter(tag for record in garden.records for tag in record.tags)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for tag in counts:
        key = tuple(terms(tag.replace("-", " ").replace("_", " ").replace("/", " / ")))
        if key:
            groups[key].append(tag)
    found = {}
    for group in groups.values():
        best = max(group, key=lambda tag: (counts[tag], -len(tag), tag))
        found.update({tag: best for tag in group if tag != best})
    return found
