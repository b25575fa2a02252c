"""Job ``merge``: merges statements that say the same in nearly the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engrams.core import ABSORBED, Edge, EdgeType, Record, Status
from engrams.extract.predicate_slots import canonical_predicate
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.text.normalize import fold
from engrams.upkeep.garden.near_pairs import find_near_pairs
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    order_pair,
    preview_texts,
)
from engrams.write.reconcile_rules import (
    is_affirmative,
    is_ending,
    jaccard,
    object_terms,
)

_MAX_EVIDENCE = 64
"""Quotes that a merged statement keeps."""
_MIN_WORD_OVERLAP = 0.8
"""Jaccard of the words of two texts from which they say the same, where they name no object."""
_SYMMETRIC_TYPES = (EdgeType.CO_OCCURS, EdgeType.RELATES_TO)
"""Links without a direction: they are stored once, with ordered ends."""
_MOVED_TYPES = frozenset(
    (
        *_SYMMETRIC_TYPES,
        EdgeType.HAS_TAG,
        EdgeType.CONTRADICTS,
        EdgeType.DERIVED_FROM,
        EdgeType.MAY_OUTDATE,
    )
)
"""Links that the remaining statement takes over from those merged into it."""


def merge_duplicates(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Merge near-identical statements into the strongest of each group.

    Their cosine is above ``garden.merge_cosine``, and they differ in no number, name, date or
    negation.
    """
    absorbed_by_survivor: dict[int, list[int]] = {}
    absorbed: set[int] = set()
    for first, second in find_near_pairs(garden, garden.settings.merge_cosine):
        if len(absorbed) >= garden.settings.max_changes:
            break
        survivor, duplicate = sorted(
            (first, second),
            key=lambda index: _rank_for_survival(garden.records[index]),
            reverse=True,
        )
        # What absorbed others stays, and what was absorbed absorbs nothing: likeness is not
        # transitive, and each duplicate was compared with its own survivor only.
        if duplicate in absorbed or duplicate in absorbed_by_survivor or survivor in absorbed:
            continue
        if not is_mergeable(garden.records[survivor], garden.records[duplicate]):
            continue
        absorbed.add(duplicate)
        absorbed_by_survivor.setdefault(survivor, []).append(duplicate)
    return [
        absorb(garden, garden.records[survivor], [garden.records[index] for index in duplicates])
        for survivor, duplicates in absorbed_by_survivor.items()
    ]


def is_mergeable(survivor: Record, duplicate: Record) -> bool:
    """Test whether two statements say the same in nearly the same words."""
    if _find_claim(survivor) != _find_claim(duplicate):
        return False
    if not _hold_at_one_time(survivor, duplicate):
        return False
    if differ_in_detail(survivor.text, duplicate.text):
        return False
    if survivor.triggers != duplicate.triggers or survivor.steps != duplicate.steps:
        return False
    survivor_object = object_terms(survivor.object)
    duplicate_object = object_terms(duplicate.object)
    if survivor_object and duplicate_object:
        return survivor_object == duplicate_object
    return jaccard(survivor.text, duplicate.text) >= _MIN_WORD_OVERLAP


def _find_claim(record: Record) -> tuple[object, ...]:
    """Return what a statement is about, whether it affirms, denies or ends it, and who says so.

    What an assistant or another person says is no repetition of the user's words.
    """
    return (
        record.scope,
        record.role or "user",
        fold(record.speaker),
        record.kind,
        fold(record.subject),
        canonical_predicate(record.predicate),
        is_affirmative(record),
        is_ending(record),
    )


def _hold_at_one_time(survivor: Record, duplicate: Record) -> bool:
    """Test for the same end, and beginnings within a day; an unknown beginning is no difference."""
    if survivor.valid_to != duplicate.valid_to:
        return False
    if survivor.valid_from is None or duplicate.valid_from is None:
        return True
    return abs((survivor.valid_from - duplicate.valid_from).days) < 1


def absorb(
    garden: GardenJobInput,
    survivor: Record,
    duplicates: Sequence[Record],
    job: str = "merge",
    reason: str = "they say the same",
) -> PlannedGardenStep:
    """Build the step that merges duplicates into one statement.

    Strengths add up, the confidence is the highest, and the evidence is that of all.
    """
    records = (survivor, *duplicates)
    evidence = {
        (quote.source, quote.quote): quote for record in records for quote in record.evidence
    }
    absorbed_ids = [record.id for record in duplicates]
    merged_fields: dict[str, Any] = {
        "strength": sum(record.strength for record in records),
        "confidence": max(record.confidence for record in records),
        "importance": max(record.importance for record in records),
        "trust": max(record.trust for record in records),
        "tags": tuple(dict.fromkeys(tag for record in records for tag in record.tags)),
        "evidence": tuple(evidence.values())[:_MAX_EVIDENCE],
        "meta": {
            **survivor.meta,
            ABSORBED: [*survivor.meta.get(ABSORBED, ()), *absorbed_ids],
        },
    }
    superseded_fields = {
        "status": Status.SUPERSEDED,
        "superseded_by": survivor.id,
        "retired_at": garden.now,
    }
    supersedes = [
        Edge(garden.owner, survivor.id, record.id, EdgeType.SUPERSEDES) for record in duplicates
    ]
    garden.planned_ids.update(record.id for record in records)
    return PlannedGardenStep(
        job=job,
        verb="merge",
        ids=tuple(record.id for record in records),
        texts=preview_texts(records),
        reason=reason,
        changes=(
            make_change(survivor, merged_fields, "merge"),
            *(make_change(record, superseded_fields, "merge") for record in duplicates),
        ),
        edges=(*supersedes, *_move_links(garden.links, survivor.id, set(absorbed_ids))),
    )


def _move_links(
    links: Sequence[Edge], survivor_id: str, duplicate_ids: set[str]
) -> tuple[Edge, ...]:
    """Build the survivor's links from those of the duplicates.

    Where it has such a link already, the greater weight holds and the counts add up.
    """
    weights = {(edge.source, edge.target, edge.type): edge.weight for edge in links}
    moved: dict[tuple[str, str, EdgeType], tuple[float, int]] = {}
    for edge in links:
        if edge.type not in _MOVED_TYPES or not {edge.source, edge.target} & duplicate_ids:
            continue
        source, target = (
            survivor_id if end in duplicate_ids else end for end in (edge.source, edge.target)
        )
        if edge.type in _SYMMETRIC_TYPES:
            source, target = order_pair(source, target)
        if source == target:
            continue
        key = (source, target, edge.type)
        # A write adds to a stored link's count, so only the counts of moved links are summed here.
        weight, count = moved.get(key, (weights.get(key, 0.0), 0))
        moved[key] = (max(weight, edge.weight), count + edge.count)
    return tuple(
        Edge(links[0].owner, *key, weight, count) for key, (weight, count) in moved.items()
    )


def _rank_for_survival(record: Record) -> tuple[Any, ...]:
    """Rank for staying: strength, then confidence times trust, then age."""
    return (
        record.strength,
        record.confidence * record.trust,
        -record.recorded_at.timestamp(),
        record.id,
    )
