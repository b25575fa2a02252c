"""Unification of tag spellings, and removal of orphaned tag links (003)."""

from __future__ import annotations

from collections import Counter, defaultdict

from engrams.tend.garden.plan import GardenScope, GardenStep, make_change, preview_texts
from engrams.text.terms import terms
from engrams.types import Edge, EdgeType
from engrams.write.edit import diff_tag_edges

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
