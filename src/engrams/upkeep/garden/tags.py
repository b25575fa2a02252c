"""Job ``tags``: one spelling for each tag, and no links to tags that a memory lacks."""

from __future__ import annotations

from collections import Counter, defaultdict

from engrams.core import Edge, EdgeType, Record
from engrams.forget.edits import diff_tag_edges
from engrams.text.terms import terms
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    make_change,
    preview_texts,
)

_TAG_NODE = "tag:"
"""Prefix of the node ids of tags."""


def unify_tags(garden: GardenJobInput) -> list[PlannedGardenStep]:
    """Replace tags by their most used spelling; remove orphaned tag links."""
    spellings = _find_spellings(garden)
    tag_links: dict[str, list[Edge]] = defaultdict(list)
    for edge in garden.links:
        if edge.type is EdgeType.HAS_TAG and edge.target.startswith(_TAG_NODE):
            tag_links[edge.source].append(edge)
    steps: list[PlannedGardenStep] = []
    for _, record in garden.iter_unplanned():
        if len(steps) >= garden.settings.max_changes:
            break
        unified = tuple(dict.fromkeys(spellings.get(tag, tag) for tag in record.tags))
        if unified != record.tags:
            steps.append(_respell_tags(garden, record, unified, spellings))
            continue
        orphans = [
            edge
            for edge in tag_links[record.id]
            if edge.target.removeprefix(_TAG_NODE) not in record.tags
        ]
        if orphans:
            steps.append(_remove_orphans(record, orphans))
    return steps


def _respell_tags(
    garden: GardenJobInput, record: Record, unified: tuple[str, ...], spellings: dict[str, str]
) -> PlannedGardenStep:
    added, removed = diff_tag_edges(record, unified)
    respelt = [
        f"{tag} is {spellings[tag]}" for tag in record.tags if spellings.get(tag, tag) != tag
    ]
    garden.planned_ids.add(record.id)
    return PlannedGardenStep(
        job="tags",
        verb="tag",
        ids=(record.id,),
        texts=preview_texts((record,)),
        reason=", ".join(respelt),
        changes=(make_change(record, {"tags": unified}, "tag"),),
        edges=added,
        unlink=removed,
    )


def _remove_orphans(record: Record, orphans: list[Edge]) -> PlannedGardenStep:
    tags = ", ".join(edge.target.removeprefix(_TAG_NODE) for edge in orphans)
    return PlannedGardenStep(
        job="tags",
        verb="unlink",
        ids=(record.id,),
        texts=preview_texts((record,)),
        reason=f"it has no tag {tags}",
        unlink=tuple(orphans),
    )


def _find_spellings(garden: GardenJobInput) -> dict[str, str]:
    """Map rarer spellings to the most used one, compared folded and stemmed."""
    counts = Counter(tag for record in garden.records for tag in record.tags)
    tags_by_stems: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for tag in counts:
        stems = tuple(terms(tag.replace("-", " ").replace("_", " ").replace("/", " / ")))
        if stems:
            tags_by_stems[stems].append(tag)
    spellings = {}
    for tags in tags_by_stems.values():
        best = max(tags, key=lambda tag: (counts[tag], -len(tag), tag))
        spellings.update({tag: best for tag in tags if tag != best})
    return spellings
