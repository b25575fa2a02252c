"""Jobs ``links`` and ``strengthen``: link statements that are related, or found together."""

from __future__ import annotations

from collections import Counter

from engrams.core import Edge, EdgeType, Record, is_learned_from
from engrams.upkeep.garden.near_pairs import find_near_pairs
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    order_pair,
    preview_texts,
)

_MAX_NEW_LINKS = 3
"""New links per memory and cycle."""
_WEIGHT_STEP = 0.1
"""By which a link grows each time that enough searches found its ends together."""
_MIN_RELATED_COSINE = 0.5
"""Floor of related memories where the model's card has none, or a lower one."""


def link_related(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Link similar statements of different sessions, nearest first."""
    floor = max(garden.card.floors.get("related", _MIN_RELATED_COSINE), _MIN_RELATED_COSINE)
    linked_pairs = set(_find_related_links(garden))
    new_links: Counter[int] = Counter()
    steps: list[PlannedGardenStep] = []
    for first_index, second_index in find_near_pairs(garden, floor):
        first = garden.records[first_index]
        second = garden.records[second_index]
        ends = order_pair(first.id, second.id)
        if _is_of_one_session(first, second) or first.scope != second.scope:
            continue
        if is_learned_from(first, second):
            continue
        if ends in linked_pairs:
            continue
        if max(new_links[first_index], new_links[second_index]) >= _MAX_NEW_LINKS:
            continue
        new_links.update((first_index, second_index))
        edge = Edge(garden.owner, *ends, EdgeType.RELATES_TO, garden.settings.link_weight)
        steps.append(
            PlannedGardenStep(
                job="links",
                verb="link",
                ids=ends,
                texts=preview_texts((first, second)),
                reason="of different sessions, about the same",
                edges=(edge,),
            )
        )
        if len(steps) >= garden.settings.max_changes:
            break
    return steps


def _is_of_one_session(first: Record, second: Record) -> bool:
    """Return True for statements of one session; what was told outside of any has none."""
    return bool(first.session) and first.session == second.session


def strengthen_links(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Link statements that searches found together; links that exist grow by a tenth, to 1."""
    records = {record.id: record for record in garden.records}
    related_links = _find_related_links(garden)
    steps: list[PlannedGardenStep] = []
    by_weight = sorted(garden.links, key=lambda edge: (-edge.weight, edge.source, edge.target))
    for co_occurrence in by_weight:
        # The weight of a CO_OCCURS link is the number of searches that found both ends.
        if co_occurrence.type is not EdgeType.CO_OCCURS:
            continue
        if co_occurrence.weight < garden.settings.link_after_searches:
            continue
        if len(steps) >= garden.settings.max_changes:
            break
        ends = order_pair(co_occurrence.source, co_occurrence.target)
        if ends[0] not in records or ends[1] not in records:
            continue
        if is_learned_from(records[ends[0]], records[ends[1]]):
            continue
        existing = related_links.get(ends)
        if existing is not None and not _may_grow(existing, co_occurrence, garden):
            continue
        grown = _grow_link(existing, ends, garden)
        steps.append(
            PlannedGardenStep(
                job="strengthen",
                verb="link",
                ids=ends,
                texts=preview_texts((records[ends[0]], records[ends[1]])),
                reason=f"found together {co_occurrence.weight:g} times",
                edges=(grown,),
            )
        )
    return steps


def _find_related_links(garden: GardenJobInput) -> dict[tuple[str, str], Edge]:
    """Map ordered pairs of ids to their link of relation."""
    return {
        order_pair(edge.source, edge.target): edge
        for edge in garden.links
        if edge.type is EdgeType.RELATES_TO
    }


def _may_grow(existing: Edge, co_occurrence: Edge, garden: GardenJobInput) -> bool:
    """Count each co-occurrence once over all cycles: a link's count says how often it has grown."""
    counted = existing.count * garden.settings.link_after_searches
    return existing.weight < 1.0 and counted < co_occurrence.weight


def _grow_link(existing: Edge | None, ends: tuple[str, str], garden: GardenJobInput) -> Edge:
    if existing is None:
        return Edge(garden.owner, *ends, EdgeType.RELATES_TO, garden.settings.link_weight)
    return Edge(
        owner=garden.owner,
        source=existing.source,
        target=existing.target,
        type=EdgeType.RELATES_TO,
        weight=min(existing.weight + _WEIGHT_STEP, 1.0),
    )
