"""Merge two changes of a record or text with their base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import SequenceMatcher
from typing import Any

from engrams.core import HistoryEntry, Record
from engrams.vault.files.record_markdown import UNVERSIONED, parse_field

_MAX_LINES = 5000
"""Lines of the longest text that is merged: the time to find common lines is quadratic."""
_TEXTS = ("text", "caption", "summary")


@dataclass(frozen=True, slots=True)
class ThreeWayMergeResult:
    """Fields of a record that a merge changes."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """New values of ours."""
    lost: Mapping[str, Any] = field(default_factory=dict)
    """Values of ours that clashed with theirs and were replaced."""


def merge(base: Record, ours: Record, theirs: Record) -> ThreeWayMergeResult:
    """Merge two versions of a record, field by field.

    A field that one side changed is taken from that side. One that both changed is theirs, except
    that texts are joined line by line where the changes do not touch.
    """
    merged: dict[str, Any] = {}
    lost: dict[str, Any] = {}
    for record_field in fields(Record):
        name = record_field.name
        base_value = getattr(base, name)
        our_value = getattr(ours, name)
        their_value = getattr(theirs, name)
        if name in UNVERSIONED or their_value in (base_value, our_value):
            continue
        if our_value == base_value:
            merged[name] = their_value
            continue
        joined = merge_lines(base_value, our_value, their_value) if name in _TEXTS else None
        if joined is not None:
            merged[name] = joined
        else:
            merged[name] = their_value
            lost[name] = our_value
    return ThreeWayMergeResult(
        {name: value for name, value in merged.items() if value != getattr(ours, name)}, lost
    )


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge two changes of a text; None where they clash.

    The lines that all three share are anchors. The region between two anchors is taken from the
    side that changed it.
    """
    base_lines = base.split("\n")
    our_lines = ours.split("\n")
    their_lines = theirs.split("\n")
    if max(len(base_lines), len(our_lines), len(their_lines)) > _MAX_LINES:
        return None
    merged: list[str] = []
    base_start = our_start = their_start = 0
    end = (len(base_lines), len(our_lines), len(their_lines))
    for base_end, our_end, their_end in [*_find_anchors(base_lines, our_lines, their_lines), end]:
        region = _merge_region(
            base_lines[base_start:base_end],
            our_lines[our_start:our_end],
            their_lines[their_start:their_end],
        )
        if region is None:
            return None
        merged += region
        if base_end < len(base_lines):
            merged.append(base_lines[base_end])
        base_start = base_end + 1
        our_start = our_end + 1
        their_start = their_end + 1
    return "\n".join(merged)


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


def _merge_region(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Merge lines between two anchors; None: both sides changed them."""
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None


def _find_anchors(
    base: list[str], ours: list[str], theirs: list[str]
) -> list[tuple[int, int, int]]:
    """Find the lines that base and both versions share, as three indexes each."""
    in_ours = _match_lines(base, ours)
    in_theirs = _match_lines(base, theirs)
    return [
        (index, in_ours[index], in_theirs[index])
        for index in range(len(base))
        if index in in_ours and index in in_theirs
    ]


def _match_lines(base: list[str], version: list[str]) -> dict[int, int]:
    """Map the indexes of lines in the base to those of the same lines in a version."""
    blocks = SequenceMatcher(None, base, version, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
