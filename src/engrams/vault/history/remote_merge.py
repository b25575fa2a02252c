"""Merge what two places did to the files, memory by memory.

``merge_sides`` is the entry. A memory is matched whatever its files are called. A tombstone on
either side wins over whatever the other side did to it, and what was purged here stays away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engrams.core import Scope, Status
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files import record_markdown
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.record_links import RecordFileLink
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.vault_paths import DELETED, ENTRIES, is_away, path_key
from engrams.vault.history import three_way_merge
from engrams.vault.history.git import CommittedFileChange

MemoryName: TypeAlias = tuple[str, str]
"""Key of a memory's owner, and its id."""

_CLASH = "changed here and in another place; the text of the other place stays"
_TEXTS = ("text", "caption", "summary")


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
    """Files after a merge of both sides' changes."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    """Content by path; None: there is to be no file."""
    conflicts: list[str] = field(default_factory=list)
    """Paths of which our words were put aside."""


@dataclass(frozen=True, slots=True)
class _MergedEntry:
    """Two versions of one memory's file, merged."""

    data: bytes
    is_away: bool
    """The memory is put away, so that its file belongs into ``deleted``."""
    loses_words: bool
    """Words of ours were replaced."""


def merge_sides(
    deps: VaultDeps,
    their_changes: Iterable[CommittedFileChange],
    our_changes: Sequence[CommittedFileChange],
) -> RemoteMergeResult:
    """Merge the changes of both sides since their common version into files."""
    merger = _SideMerger(deps)
    theirs, other_files = _group_by_memory(their_changes)
    ours, _ = _group_by_memory(our_changes)
    merger.merge_memories(theirs, ours)
    ours_by_path = {change.path: change for change in our_changes}
    for change in other_files:
        data = merger.merge_text(change, ours_by_path.get(change.path))
        merger.result.files[change.path] = data
    return merger.result


class _SideMerger:
    """Merges the other side's changes of files with ours."""

    def __init__(self, deps: VaultDeps) -> None:
        self._deps = deps
        self.result = RemoteMergeResult()

    def merge_memories(
        self, theirs: dict[MemoryName, SyncSideChange], ours: dict[MemoryName, SyncSideChange]
    ) -> None:
        """Merge the files of memories, and find a path for each."""
        placed: list[tuple[MemoryName, str, SyncSideMemoryFile]] = []
        leaving: set[MemoryName] = set()
        for name, change in theirs.items():
            own = ours.get(name, SyncSideChange(change.before, change.before))
            old_path = own.after.path if own.after is not None else ""
            merged = self._merge_memory(change, own)
            if old_path and (merged is None or merged.path != old_path):
                self.result.files[old_path] = None
                leaving.add(name)
            if merged is not None:
                placed.append((name, old_path, merged))
        taken_keys: set[str] = set()
        # Files that stay where they are come first, so that no other one takes their path.
        for name, old_path, merged in sorted(placed, key=lambda item: item[1] != item[2].path):
            path = merged.path
            occupant = _find_name(self._deps.disk.read(path))
            is_free = old_path == path or occupant in (None, name) or occupant in leaving
            if not is_free or path_key(path) in taken_keys:
                path = _add_id(path, name)
            self.result.files[path] = merged.data
            taken_keys.add(path_key(path))

    def merge_text(
        self, theirs: CommittedFileChange, ours: CommittedFileChange | None
    ) -> bytes | None:
        """Merge a note, a document, or a file that cannot be read."""
        if ours is None or ours.after == theirs.after:
            return theirs.after
        if theirs.after is None or ours.after is None:
            # Removed by one side, changed by the other: it stays.
            return ours.after if theirs.after is None else theirs.after
        try:
            text = three_way_merge.merge_lines(
                *(decode_text(data or b"") for data in (theirs.before, ours.after, theirs.after))
            )
        except FrontMatterError:
            text = None
        if text is not None:
            return text.encode()
        self._report_conflict(theirs.path, ours.after)
        return theirs.after

    def _merge_memory(
        self, theirs: SyncSideChange, ours: SyncSideChange
    ) -> SyncSideMemoryFile | None:
        """Merge one memory's file; None if it is to have none."""
        base = theirs.before or ours.before
        our_file = ours.after
        their_file = theirs.after
        if their_file is None:
            # Gone without a tombstone, as after a purge; what was changed here is kept.
            return None if our_file == base else our_file
        if self._is_purged(their_file.data):
            return None
        if our_file is None or our_file == base or our_file.data == their_file.data:
            return their_file
        if their_file == base:
            return our_file
        merged = _merge_versions(base, our_file, their_file)
        if merged is None:
            is_deleted = their_file.path.startswith(f"{DELETED}/")
            merged = _MergedEntry(their_file.data, is_deleted, loses_words=True)
        if merged.loses_words:
            self._report_conflict(their_file.path, our_file.data)
        # A move by the other side holds, else one by ours.
        is_moved = base is None or their_file.path != base.path
        path = their_file.path if is_moved else our_file.path
        return SyncSideMemoryFile(
            _replace_top(DELETED if merged.is_away else ENTRIES, path), merged.data
        )

    def _report_conflict(self, path: str, our_data: bytes) -> None:
        """Put our words aside."""
        self.result.conflicts.append(path)
        self._deps.keep_aside(path, our_data, _CLASH)

    def _is_purged(self, data: bytes) -> bool:
        name = _find_name(data)
        if name is None:
            return False
        owner_key, record_id = name
        records = self._deps.store.get(Scope.parse(owner_key), [record_id])
        return any(record.status is Status.PURGED for record in records)


def _merge_versions(
    base: SyncSideMemoryFile | None, ours: SyncSideMemoryFile, theirs: SyncSideMemoryFile
) -> _MergedEntry | None:
    """Merge two versions of a memory's file; None: one of them is no whole memory."""
    base_entry, our_entry, their_entry = (
        record_markdown.parse_entry(decode_text(file.data)) for file in (base or ours, ours, theirs)
    )
    try:
        base_record = base_entry.to_record({})
        our_record = our_entry.to_record({})
        their_record = their_entry.to_record({})
    except (TypeError, KeyError):
        return None
    merged = three_way_merge.merge(base_record, our_record, their_record)
    record = replace(
        our_record,
        **merged.fields,
        version=max(our_record.version, their_record.version) + 1,
    )
    tombstones = [side for side in (our_record, their_record) if side.status is Status.FORGOTTEN]
    if tombstones and (base is None or base_record.status is not Status.FORGOTTEN):
        record = replace(
            record,
            status=Status.FORGOTTEN,
            retired_at=tombstones[0].retired_at,
            meta={**record.meta, **tombstones[0].meta},
        )
    # Without a common version it is unknown which words are newer.
    texts_differ = any(getattr(our_record, name) != getattr(their_record, name) for name in _TEXTS)
    loses_words = any(name in merged.lost for name in _TEXTS) or (base is None and texts_differ)
    links = _merge_links(base_entry, our_entry, their_entry)
    text = record_markdown.render_entry(record, links, decode_text(ours.data))
    return _MergedEntry(text.encode(), is_away(record), loses_words)


def _merge_links(
    base: RecordFileContent, ours: RecordFileContent, theirs: RecordFileContent
) -> list[RecordFileLink]:
    """Merge links: new ones of either side, and old ones that both sides still have."""
    base_names, our_names, their_names = (
        {(link.type, link.target) for link in content.links} for content in (base, ours, theirs)
    )
    links = {(link.type, link.target): link for link in (*ours.links, *theirs.links)}
    return [
        link
        for name, link in links.items()
        if name not in base_names or (name in our_names and name in their_names)
    ]


def _group_by_memory(
    changes: Iterable[CommittedFileChange],
) -> tuple[dict[MemoryName, SyncSideChange], list[CommittedFileChange]]:
    """Group changes by memory; return the changes of other files apart."""
    memories: dict[MemoryName, SyncSideChange] = {}
    other_files: list[CommittedFileChange] = []
    for change in changes:
        before = _find_name(change.before)
        after = _find_name(change.after)
        is_readable = (before is None) == (change.before is None) and (after is None) == (
            change.after is None
        )
        if not is_readable or change.path.partition("/")[0] not in (ENTRIES, DELETED):
            other_files.append(change)
            continue
        if before is not None:
            file = SyncSideMemoryFile(change.path, change.before or b"")
            memories[before] = replace(memories.get(before, SyncSideChange()), before=file)
        if after is not None:
            file = SyncSideMemoryFile(change.path, change.after or b"")
            memories[after] = replace(memories.get(after, SyncSideChange()), after=file)
    return memories, other_files


def _find_name(data: bytes | None) -> MemoryName | None:
    """Find owner and id in a memory's file; None: it is no memory's."""
    try:
        content = record_markdown.parse_entry(decode_text(data or b""))
    except FrontMatterError:
        return None
    scope = content.fields.get("scope")
    return (scope.owner.key, content.id) if isinstance(scope, Scope) and content.id else None


def _add_id(path: str, name: MemoryName) -> str:
    """Return another path for a memory whose path another one has."""
    _, record_id = name
    id_chars = "".join(char for char in path_key(record_id) if char.isascii() and char.isalnum())
    return f"{path.removesuffix('.md')}__{id_chars[-8:]}.md"


def _replace_top(top: str, path: str) -> str:
    return f"{top}/{path.partition('/')[2]}"
