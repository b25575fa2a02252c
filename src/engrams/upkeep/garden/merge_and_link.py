"""Merge of duplicate statements, and upkeep of links and tags."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from engrams.core import ABSORBED, Edge, EdgeType, Record, Status
from engrams.extract.predicate_slots import canonical_predicate
from engrams.forget.edits import diff_tag_edges
from engrams.ports import EmbedderCard
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.upkeep.garden.rule_jobs import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    order_pair,
    preview_texts,
)
from engrams.write.reconcile import (
    has_distinct_detail,
    is_affirmative,
    is_ending,
    jaccard,
    object_terms,
)

_BLOCK = 512
_NEAREST = 16
"""Neighbours per row; more duplicates are merged in the next cycle."""
_MOST_EVIDENCE = 64
_OVERLAP = 0.8
_MOVED_TYPES = frozenset(
    (
        EdgeType.RELATES_TO,
        EdgeType.CO_OCCURS,
        EdgeType.HAS_TAG,
        EdgeType.CONTRADICTS,
        EdgeType.DERIVED_FROM,
    )
)


_EACH = 3
"""New links per memory and cycle."""
_STRONGER = 0.1
_RELATED = 0.5
"""Floor of related memories where the model's card has none."""


_PREFIX = "tag:"


def merge_duplicates(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Merge near-identical statements into the strongest of each group.

    Their cosine is above ``merge``, and they differ in no number, name, date or negation.
    """
    groups: dict[int, list[int]] = {}
    into: dict[int, int] = {}
    for one, other in find_near_pairs(garden, garden.settings.merge_cosine):
        if len(into) >= garden.settings.max_changes:
            break
        stays, goes = sorted(
            (one, other), key=lambda place: _rank(garden.records[place]), reverse=True
        )
        # Compare with the remaining one only: similarity is not transitive.
        if (
            goes in into
            or goes in groups
            or stays in into
            or not is_mergeable(garden.records[stays], garden.records[goes])
        ):
            continue
        into[goes] = stays
        groups.setdefault(stays, []).append(goes)
    return [
        absorb(garden, garden.records[stays], [garden.records[place] for place in goes])
        for stays, goes in groups.items()
    ]


def find_near_pairs(garden: GardenJobInput, floor: float) -> list[tuple[int, int]]:
    """Find index pairs above ``floor``, nearest first, at most 16 per row."""
    free = [
        place
        for place, _ in garden.untouched()
        if garden.vectors.shape[1] and garden.vectors[place].any()
    ]
    rows = garden.vectors[free]
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(free), _BLOCK):
        cosines = rows[start : start + _BLOCK] @ rows.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -1.0
        some = np.flatnonzero((cosines > floor).any(axis=1))
        count = min(_NEAREST, len(free))
        others = np.argpartition(cosines[some], -count, axis=1)[:, -count:]
        for one, nearest in zip(some.tolist(), others.tolist(), strict=True):
            for other in nearest:
                if cosines[one, other] > floor:
                    found[min(start + one, other), max(start + one, other)] = float(
                        cosines[one, other]
                    )
    ranked = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return [(free[one], free[other]) for (one, other), _ in ranked]


def is_mergeable(one: Record, other: Record) -> bool:
    """Return whether two statements say the same in nearly the same words."""
    kind = (
        one.scope,
        one.kind,
        fold(one.subject),
        canonical_predicate(one.predicate),
        is_affirmative(one),
        is_ending(one),
    )
    if kind != (
        other.scope,
        other.kind,
        fold(other.subject),
        canonical_predicate(other.predicate),
        is_affirmative(other),
        is_ending(other),
    ):
        return False
    times = one.valid_from, one.valid_to, other.valid_from, other.valid_to
    if times[:2] != times[2:] and (
        times[1] != times[3] or (times[0] and times[2] and abs((times[0] - times[2]).days) >= 1)
    ):
        return False
    if (
        has_distinct_detail(one.text, other.text)
        or one.triggers != other.triggers
        or one.steps != other.steps
    ):
        return False
    things = object_terms(one.object), object_terms(other.object)
    return things[0] == things[1] if all(things) else jaccard(one.text, other.text) >= _OVERLAP


def absorb(
    garden: GardenJobInput,
    stays: Record,
    goes: Sequence[Record],
    job: str = "merge",
    reason: str = "they say the same",
) -> PlannedGardenStep:
    """Build the step that merges duplicate records into one.

    Strengths add up, the confidence is the highest, and the evidence is that of all.
    """
    every = (stays, *goes)
    evidence = {(quote.source, quote.quote): quote for record in every for quote in record.evidence}
    fields: dict[str, Any] = {
        "strength": sum(record.strength for record in every),
        "confidence": max(record.confidence for record in every),
        "importance": max(record.importance for record in every),
        "trust": max(record.trust for record in every),
        "tags": tuple(dict.fromkeys(tag for record in every for tag in record.tags)),
        "evidence": tuple(evidence.values())[:_MOST_EVIDENCE],
        "meta": {
            **stays.meta,
            ABSORBED: [*stays.meta.get(ABSORBED, ()), *(record.id for record in goes)],
        },
    }
    gone = {"status": Status.SUPERSEDED, "superseded_by": stays.id, "retired_at": garden.now}
    edges = [Edge(garden.owner, stays.id, record.id, EdgeType.SUPERSEDES) for record in goes]
    garden.taken.update(record.id for record in every)
    return PlannedGardenStep(
        job=job,
        verb="merge",
        ids=tuple(record.id for record in every),
        texts=preview_texts(every),
        reason=reason,
        changes=(
            make_change(stays, fields, "merge"),
            *(make_change(record, gone, "merge") for record in goes),
        ),
        edges=(*edges, *_move_edges(garden.links, stays.id, {record.id for record in goes})),
    )


def _move_edges(links: Sequence[Edge], stays: str, goes: set[str]) -> tuple[Edge, ...]:
    known = {(edge.source, edge.target, edge.type): edge.weight for edge in links}
    found: dict[tuple[str, str, EdgeType], tuple[float, int]] = {}
    for edge in links:
        if edge.type not in _MOVED_TYPES or not ({edge.source, edge.target} & goes):
            continue
        ends = tuple(stays if end in goes else end for end in (edge.source, edge.target))
        source, target = (
            order_pair(*ends)
            if edge.type in (EdgeType.CO_OCCURS, EdgeType.RELATES_TO)
            else (ends[0], ends[1])
        )
        if source != target:
            key = (source, target, edge.type)
            weight, count = found.get(key, (known.get(key, 0.0), 0))
            found[key] = (max(weight, edge.weight), count + edge.count)
    return tuple(
        Edge(links[0].owner, *key, weight, count) for key, (weight, count) in found.items()
    )


def _rank(record: Record) -> tuple[Any, ...]:
    """Rank for staying: strength, then confidence times trust, then age."""
    return (
        record.strength,
        record.confidence * record.trust,
        -record.recorded_at.timestamp(),
        record.id,
    )


def link_related(garden: GardenJobInput, card: EmbedderCard) -> list[PlannedGardenStep]:
    """Link similar memories of different sessions, nearest first."""
    known = {
        order_pair(edge.source, edge.target)
        for edge in garden.links
        if edge.type is EdgeType.RELATES_TO
    }
    counts: Counter[int] = Counter()
    steps: list[PlannedGardenStep] = []
    for one, other in find_near_pairs(garden, max(card.floors.get("related", _RELATED), _RELATED)):
        first = garden.records[one]
        second = garden.records[other]
        ends = order_pair(first.id, second.id)
        if (
            first.session == second.session
            or first.scope != second.scope
            or ends in known
            or max(counts[one], counts[other]) >= _EACH
        ):
            continue
        counts.update((one, other))
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


def strengthen_links(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Link memories found together; known links grow by a tenth, to 1."""
    texts = {record.id: record for record in garden.records}
    weights = {
        order_pair(edge.source, edge.target): edge
        for edge in garden.links
        if edge.type is EdgeType.RELATES_TO
    }
    steps: list[PlannedGardenStep] = []
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
        if known is not None and (
            known.weight >= 1.0 or known.count * garden.settings.link_after_searches >= edge.weight
        ):
            continue
        weight = (
            garden.settings.link_weight if known is None else min(known.weight + _STRONGER, 1.0)
        )
        source, target = (known.source, known.target) if known else ends
        grown = Edge(
            owner=garden.owner,
            source=source,
            target=target,
            type=EdgeType.RELATES_TO,
            weight=weight,
        )
        reason = f"found together {edge.weight:g} times"
        steps.append(
            PlannedGardenStep(
                job="strengthen",
                verb="link",
                ids=ends,
                texts=preview_texts((texts[ends[0]], texts[ends[1]])),
                reason=reason,
                edges=(grown,),
            )
        )
    return steps


def unify_tags(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Replace tags by their most used spelling; remove orphaned tag links."""
    names = _find_spellings(garden)
    steps: list[PlannedGardenStep] = []
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
            said = ", ".join(
                f"{tag} is {names[tag]}" for tag in record.tags if names.get(tag, tag) != tag
            )
            change = make_change(record, {"tags": wanted}, "tag")
            garden.taken.add(record.id)
            steps.append(
                PlannedGardenStep(
                    job="tags",
                    verb="tag",
                    ids=(record.id,),
                    texts=preview_texts((record,)),
                    reason=said,
                    changes=(change,),
                    edges=new,
                    unlink=gone,
                )
            )
            continue
        orphans = tuple(
            edge
            for edge in linked[record.id]
            if edge.target.removeprefix(_PREFIX) not in record.tags
        )
        if orphans:
            said = (
                f"it has no tag {', '.join(edge.target.removeprefix(_PREFIX) for edge in orphans)}"
            )
            steps.append(
                PlannedGardenStep(
                    job="tags",
                    verb="unlink",
                    ids=(record.id,),
                    texts=preview_texts((record,)),
                    reason=said,
                    unlink=orphans,
                )
            )
    return steps


def _find_spellings(garden: GardenJobInput) -> dict[str, str]:
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
