"""Tags that mean the same become one, and links to tags that a memory does not have go (003)."""

from __future__ import annotations

from collections import Counter, defaultdict

from engrams.tend.garden.plan import Bed, Step, changed, shown
from engrams.text.terms import terms
from engrams.types import Edge, EdgeType
from engrams.write.edit import tag_edges

_PREFIX = "tag:"


def tags(bed: Bed) -> list[Step]:
    """One spelling for each tag, the one most used; and links as the memories' own tags say."""
    names = _spellings(bed)
    steps: list[Step] = []
    linked: dict[str, list[Edge]] = defaultdict(list)
    for edge in bed.links:
        if edge.type is EdgeType.HAS_TAG and edge.target.startswith(_PREFIX):
            linked[edge.source].append(edge)
    for _, record in bed.free():
        if len(steps) >= bed.settings.most:
            break
        wanted = tuple(dict.fromkeys(names.get(tag, tag) for tag in record.tags))
        if wanted != record.tags:
            new, gone = tag_edges(record, wanted)
            said = ", ".join(f"{tag} is {names[tag]}" for tag in record.tags if names.get(tag, tag) != tag)
            change = changed(record, {"tags": wanted}, "tag")
            bed.taken.add(record.id)
            steps.append(Step("tags", "tag", (record.id,), shown((record,)), said, (change,), new, gone))
            continue
        orphans = tuple(edge for edge in linked[record.id] if edge.target.removeprefix(_PREFIX) not in record.tags)
        if orphans:
            said = f"it has no tag {', '.join(edge.target.removeprefix(_PREFIX) for edge in orphans)}"
            steps.append(Step("tags", "unlink", (record.id,), shown((record,)), said, unlink=orphans))
    return steps


def _spellings(bed: Bed) -> dict[str, str]:
    """Each tag that is spelt otherwise more often: what it becomes. Tags are the same whose words are, folded and stemmed."""
    counts = Counter(tag for record in bed.records for tag in record.tags)
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
