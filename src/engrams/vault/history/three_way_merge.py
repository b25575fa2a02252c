"""Merge two changes of a record or text with their base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import SequenceMatcher
from typing import Any

from engrams.core import HistoryEntry, Record
from engrams.frozen_data import dataclass
from engrams.vault.files.record_markdown import UNVERSIONED, parse_field

_LINE_LIMIT = 5000
_TEXTS = ("text", "caption", "summary")


@dataclass(frozen=True, slots=True)
class ThreeWayMergeResult:
    """Merged field values of a record, and our texts that were replaced."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    lost: Mapping[str, Any] = field(default_factory=dict)


def merge(base: Record, ours: Record, theirs: Record) -> ThreeWayMergeResult:
    """Merge two versions of a record, field by field.

    What one side changed is taken from it; what both changed is theirs, except that texts are
    joined line by line where the changes do not touch.
    """
    changed: dict[str, Any] = {}
    lost: dict[str, Any] = {}
    for item in fields(Record):
        name = item.name
        was = getattr(base, name)
        mine = getattr(ours, name)
        new = getattr(theirs, name)
        if name in UNVERSIONED or new in (was, mine):
            continue
        if mine == was:
            changed[name] = new
            continue
        joined = merge_lines(was, mine, new) if name in _TEXTS else None
        changed[name] = new if joined is None else joined
        if joined is None:
            lost[name] = mine
    return ThreeWayMergeResult(
        {name: value for name, value in changed.items() if value != getattr(ours, name)}, lost
    )


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge two changes of a text; None where they clash."""
    versions = [text.split("\n") for text in (base, ours, theirs)]
    if max(len(version) for version in versions) > _LINE_LIMIT:
        return None
    old, mine, new = versions
    out: list[str] = []
    a = b = c = 0
    for start, left, right in [*_find_anchors(old, mine, new), (len(old), len(mine), len(new))]:
        part = _merge_region(old[a:start], mine[b:left], new[c:right])
        if part is None:
            return None
        out += part
        if start < len(old):
            out.append(old[start])
        a = start + 1
        b = left + 1
        c = right + 1
    return "\n".join(out)


def record_at_version(
    record: Record, history: Sequence[HistoryEntry], version: int
) -> Record | None:
    """Return a record as of a version; None: its history is shorter."""
    if version >= record.version:
        return record
    values: dict[str, Any] = {}
    reached = record.version
    for entry in sorted(history, key=lambda entry: entry.version, reverse=True):
        if entry.version <= version:
            break
        if entry.version != reached or not entry.before:
            return None
        values.update(entry.before)
        reached = entry.version - 1
    if reached != version:
        return None
    return replace(
        record,
        version=version,
        **{name: parse_field(name, value) for name, value in values.items()},
    )


def _merge_region(old: list[str], mine: list[str], new: list[str]) -> list[str] | None:
    if mine in (old, new):
        return new
    return mine if new == old else None


def _find_anchors(old: list[str], mine: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Find lines that base and both versions share, with their places."""
    left = _match_lines(old, mine)
    right = _match_lines(old, new)
    return [(at, left[at], right[at]) for at in range(len(old)) if at in left and at in right]


def _match_lines(old: list[str], new: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
