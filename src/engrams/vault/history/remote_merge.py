"""Merge what two places did to the files, memory by memory.

A memory is matched whatever its files are called. A tombstone on either side wins over whatever the
other side did to it, and what was purged here stays away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TypeAlias

from engrams.core import Record, Scope, Status
from engrams.frozen_data import dataclass
from engrams.vault.dependencies import VaultDeps, decode_text
from engrams.vault.files import record_markdown
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.vault_paths import DELETED, ENTRIES, is_away, path_key
from engrams.vault.history import three_way_merge
from engrams.vault.history.git import CommittedFileChange

MemoryName: TypeAlias = tuple[str, str]
"""The owner and the id of a memory."""

_HOLDS = "changed here and in another place; the other's words hold"


@dataclass(frozen=True, slots=True)
class SyncSideMemoryFile:
    """One memory's file as one side of a synchronisation has it."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SyncSideChange:
    """Change of a memory's file by one side; None: no file."""

    before: SyncSideMemoryFile | None = None
    after: SyncSideMemoryFile | None = None


@dataclass(slots=True)
class RemoteMergeResult:
    """Files after a merge of both sides' changes.

    ``files``: content by path afterwards (None: no file). ``conflicts``: paths where words of ours
    were put aside.
    """

    files: dict[str, bytes | None] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)


def merge_sides(
    parts: VaultDeps, came: Iterable[CommittedFileChange], mine: Iterable[CommittedFileChange]
) -> RemoteMergeResult:
    """Merge both sides' changes into files."""
    done = RemoteMergeResult()
    here = list(mine)
    theirs, plain = _group_by_memory(came)
    ours, _ = _group_by_memory(here)
    placed: list[tuple[MemoryName, str, SyncSideMemoryFile]] = []
    leaving: set[MemoryName] = set()
    for name, side in theirs.items():
        own = ours.get(name, SyncSideChange(side.before, side.before))
        was = own.after.path if own.after is not None else ""
        result = _merge_memory(parts, side, own, done)
        if was and (result is None or result.path != was):
            done.files[was] = None
            leaving.add(name)
        if result is not None:
            placed.append((name, was, result))
    taken: set[str] = set()
    for name, was, result in sorted(placed, key=lambda item: item[1] != item[2].path):
        held = _memory_name(parts.disk.read(result.path))
        free = was == result.path or held in (None, name) or held in leaving
        path = (
            result.path
            if free and path_key(result.path) not in taken
            else _other_path(result.path, name)
        )
        done.files[path] = result.data
        taken.add(path_key(path))
    known = {version.path: version for version in here}
    for version in plain:
        done.files[version.path] = _merge_text(parts, version, known.get(version.path), done)
    return done


def _merge_memory(
    parts: VaultDeps, theirs: SyncSideChange, ours: SyncSideChange, done: RemoteMergeResult
) -> SyncSideMemoryFile | None:
    """Merge one memory's file; None: it is to have none."""
    base = theirs.before or ours.before
    now = ours.after
    other = theirs.after
    if other is None:
        # Gone without a tombstone, as after a purge; what was changed here is kept.
        return None if now == base else now
    if _is_purged(parts, other.data):
        return None
    if now is None or now == base or now.data == other.data:
        return other
    if other == base:
        return now
    joined = _merge_versions(base, now, other)
    data, away, lost = (
        joined if joined is not None else (other.data, other.path.startswith(f"{DELETED}/"), True)
    )
    if lost:
        done.conflicts.append(other.path)
        parts.keep_aside(other.path, now.data, _HOLDS)
    moved = other.path if base is None or other.path != base.path else now.path
    return SyncSideMemoryFile(_replace_top(DELETED if away else ENTRIES, moved), data)


def _merge_versions(
    base: SyncSideMemoryFile | None, now: SyncSideMemoryFile, other: SyncSideMemoryFile
) -> tuple[bytes, bool, bool] | None:
    """Merge two versions; return data, away, and lost words of ours."""
    told = [
        record_markdown.parse_entry(decode_text(kept.data)) for kept in (base or now, now, other)
    ]
    try:
        was, mine, new = (one.to_record({}) for one in told)
    except (TypeError, KeyError):
        return None
    found = three_way_merge.merge(was, mine, new)
    record = replace(mine, **found.fields, version=max(mine.version, new.version) + 1)
    gone = [side for side in (mine, new) if side.status is Status.FORGOTTEN]
    if gone and (base is None or was.status is not Status.FORGOTTEN):
        record = replace(
            record,
            status=Status.FORGOTTEN,
            retired_at=gone[0].retired_at,
            meta={**record.meta, **gone[0].meta},
        )
    were = {(link.type, link.target) for link in told[0].links}
    links = {(link.type, link.target): link for link in (*told[1].links, *told[2].links)}
    kept = [
        link
        for name, link in links.items()
        if name not in were or all(name in _link_names(side.links) for side in told[1:])
    ]
    # Without a common version it is unknown which words are newer.
    lost = any(name in found.lost for name in ("text", "caption", "summary")) or (
        base is None and _record_texts(mine) != _record_texts(new)
    )
    return (
        record_markdown.render_entry(record, kept, decode_text(now.data)).encode(),
        is_away(record),
        lost,
    )


def _merge_text(
    parts: VaultDeps,
    theirs: CommittedFileChange,
    ours: CommittedFileChange | None,
    done: RemoteMergeResult,
) -> bytes | None:
    """Merge a note, a document, or a file that cannot be read."""
    if ours is None or ours.after == theirs.after:
        return theirs.after
    if theirs.after is None or ours.after is None:
        return ours.after if theirs.after is None else theirs.after
    try:
        text = three_way_merge.merge_lines(
            *(decode_text(data or b"") for data in (theirs.before, ours.after, theirs.after))
        )
    except FrontMatterError:
        text = None
    if text is not None:
        return text.encode()
    done.conflicts.append(theirs.path)
    parts.keep_aside(theirs.path, ours.after, _HOLDS)
    return theirs.after


def _group_by_memory(
    versions: Iterable[CommittedFileChange],
) -> tuple[dict[MemoryName, SyncSideChange], list[CommittedFileChange]]:
    """Group changes by memory; return the other files apart."""
    found: dict[MemoryName, SyncSideChange] = {}
    plain: list[CommittedFileChange] = []
    for version in versions:
        before = _memory_name(version.before)
        after = _memory_name(version.after)
        readable = (before is None) == (version.before is None) and (after is None) == (
            version.after is None
        )
        if not readable or version.path.partition("/")[0] not in (ENTRIES, DELETED):
            plain.append(version)
            continue
        if before is not None:
            found[before] = replace(
                found.get(before, SyncSideChange()),
                before=SyncSideMemoryFile(version.path, version.before or b""),
            )
        if after is not None:
            found[after] = replace(
                found.get(after, SyncSideChange()),
                after=SyncSideMemoryFile(version.path, version.after or b""),
            )
    return found, plain


def _memory_name(data: bytes | None) -> MemoryName | None:
    """Return owner and id of a memory's file, None for others."""
    try:
        told = record_markdown.parse_entry(decode_text(data or b""))
    except FrontMatterError:
        return None
    scope = told.fields.get("scope")
    return (scope.owner.key, told.id) if isinstance(scope, Scope) and told.id else None


def _other_path(path: str, name: MemoryName) -> str:
    return f"{path.removesuffix('.md')}__{''.join(char for char in path_key(name[1]) if char.isascii() and char.isalnum())[-8:]}.md"


def _replace_top(top: str, path: str) -> str:
    return f"{top}/{path.partition('/')[2]}"


def _is_purged(parts: VaultDeps, data: bytes) -> bool:
    name = _memory_name(data)
    return name is not None and any(
        record.status is Status.PURGED
        for record in parts.store.get(Scope.parse(name[0]), [name[1]])
    )


def _link_names(links: tuple[record_markdown.RecordFileLink, ...]) -> set[tuple[str, str]]:
    return {(link.type, link.target) for link in links}


def _record_texts(record: Record) -> tuple[str, str, str]:
    return record.text, record.caption, record.summary
