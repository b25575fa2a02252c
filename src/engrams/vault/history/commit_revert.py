"""Undo a commit, memory by memory; keep what changed since.

``revert_commit`` is the entry. A memory is merged as if the commit's change were taken back by hand:
fields that changed since stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from engrams.core import Edge, Record, Scope, Status, Vector, build_tombstone
from engrams.errors import EngramsError
from engrams.ports import NewRecord, RecordChange, WriteBatch
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files import record_markdown
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.vault_paths import parse_location
from engrams.vault.history import three_way_merge
from engrams.vault.history.git import CommittedFileChange

MemoryName: TypeAlias = tuple[Scope, str]
"""Owner and id of a memory."""


@dataclass(slots=True)
class CommitRevertResult:
    """Memories and files that a revert brought back, and those that it left alone."""

    commit: str
    changed: list[str] = field(default_factory=list)
    """Ids of memories, and paths of notes."""
    kept: dict[str, str] = field(default_factory=dict)
    """Reason for each id or path that was left alone."""


@dataclass(frozen=True, slots=True)
class _EntryVersions:
    """A memory's file before and after the commit; None: it had no file."""

    before: RecordFileContent | None = None
    after: RecordFileContent | None = None


def revert_commit(
    deps: VaultDeps, commit: str, changes: Sequence[CommittedFileChange]
) -> CommitRevertResult:
    """Undo the changes of a commit. Call with the vault's lock held."""
    result = CommitRevertResult(commit)
    versions: dict[MemoryName, _EntryVersions] = {}
    for change in changes:
        if parse_location(change.path) is None:
            _revert_text(deps, change, result)
            continue
        # By the id in the file, since a commit may have moved it.
        for side, data in (("before", change.before), ("after", change.after)):
            content = _parse_entry(data)
            scope = content.fields.get("scope") if content else None
            if content is not None and isinstance(scope, Scope) and content.id:
                name = (scope.owner, content.id)
                versions[name] = replace(versions.get(name, _EntryVersions()), **{side: content})
    for name, memory_versions in versions.items():
        reverter = _MemoryReverter(deps, name, f"reverted {commit[:10]}", versions.keys())
        try:
            obstacle = reverter.revert(memory_versions)
        except (EngramsError, FrontMatterError) as problem:
            obstacle = str(problem)
        _, record_id = name
        if obstacle:
            result.kept[record_id] = obstacle
        else:
            result.changed.append(record_id)
    return result


class _MemoryReverter:
    """Undoes a commit's change of one memory."""

    def __init__(
        self,
        deps: VaultDeps,
        name: MemoryName,
        reason: str,
        reverted: Collection[MemoryName],
    ) -> None:
        """Set up the reverter.

        ``reverted``: all memories of the commit; they are reverted by themselves, and change with
        no other one.
        """
        self._deps = deps
        self._owner, self._record_id = name
        self._reason = reason
        self._now = deps.clock()
        self._reverted = reverted

    def revert(self, versions: _EntryVersions) -> str:
        """Undo the change; return why not, where that fails."""
        records = self._deps.store.get(self._owner, [self._record_id])
        record = records[0] if records else None
        if record is not None and record.status is Status.PURGED:
            return "it was purged"
        if versions.before is None:
            return self._forget(record)
        old_record = versions.before.to_record({})
        if record is None:
            self._commit(puts=(NewRecord(old_record),))
            return ""
        return self._restore_version(record, old_record, versions)

    def _forget(self, record: Record | None) -> str:
        """Forget a memory that the commit added."""
        if record is None or record.status is Status.FORGOTTEN:
            return "it is put away already"
        self._commit(
            changes=self._build_changes(record, build_tombstone(record, self._now), "forget")
        )
        return ""

    def _restore_version(self, record: Record, old_record: Record, versions: _EntryVersions) -> str:
        """Bring back the fields and links that the commit changed, unless they changed since."""
        new_record = versions.after.to_record({}) if versions.after is not None else record
        merged = three_way_merge.merge(new_record, record, old_record)
        values: dict[str, Any] = {
            name: value for name, value in merged.fields.items() if name not in merged.lost
        }
        new_edges, old_edges = self._diff_links(versions)
        if not values and not new_edges and not old_edges:
            return "it has changed since" if merged.lost else "nothing of it is left to undo"
        changes: tuple[RecordChange, ...] = ()
        vectors: tuple[Vector, ...] = ()
        if values:
            values, vectors = self._deps.callbacks.prepare(record, values)
            changes = self._build_changes(record, values, "revert")
        self._commit(changes=changes, vectors=vectors, edges=new_edges, unlink=old_edges)
        return ""

    def _build_changes(
        self, record: Record, values: dict[str, Any], action: str
    ) -> tuple[RecordChange, ...]:
        """Build the change of the memory, and those of others that follow from it."""
        change = RecordChange(
            owner=self._owner,
            id=record.id,
            fields=values,
            action=action,
            expect=record.version,
        )
        ripples = [
            ripple
            for ripple in self._deps.callbacks.find_ripples(record, values)
            if (ripple.owner, ripple.id) not in self._reverted
        ]
        return (change, *ripples)

    def _diff_links(self, versions: _EntryVersions) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Find the edges that the commit removed, to add, and those it added, to remove."""
        before, after = (
            {(link.type, link.target): link for link in content.links if link.target}
            if content
            else {}
            for content in (versions.before, versions.after)
        )
        edges = {
            (edge.type, edge.target): edge
            for edge in self._deps.store.edges(self._owner, [self._record_id])
            if edge.source == self._record_id
        }
        new_edges = tuple(
            Edge(
                owner=self._owner,
                source=self._record_id,
                target=link.target,
                type=link.type,
                weight=link.weight,
                count=link.count,
            )
            for name, link in before.items()
            # A deleted file took no link away.
            if versions.after is not None and name not in after and name not in edges
        )
        old_edges = tuple(edges[name] for name in after if name not in before and name in edges)
        return new_edges, old_edges

    def _commit(
        self,
        *,
        puts: tuple[NewRecord, ...] = (),
        changes: tuple[RecordChange, ...] = (),
        vectors: tuple[Vector, ...] = (),
        edges: tuple[Edge, ...] = (),
        unlink: tuple[Edge, ...] = (),
    ) -> None:
        self._deps.store.commit(
            WriteBatch(
                "hand",
                self._reason,
                self._now,
                puts=puts,
                changes=changes,
                vectors=tuple((self._owner, vector) for vector in vectors),
                edges=edges,
                unlink=unlink,
            )
        )


def _revert_text(deps: VaultDeps, change: CommittedFileChange, result: CommitRevertResult) -> None:
    """Undo a note's change, where its lines have not changed since."""
    if change.path.startswith("."):
        return
    data = deps.disk.read(change.path)
    note: Mapping[str, str] = {
        "does": "revert",
        "actor": "hand",
        "why": f"reverted {result.commit[:10]}",
    }
    if data == change.after:
        if change.before is None:
            deps.state.touch([(change.path, note)])
            deps.disk.remove(change.path)
        else:
            deps.replace_file(change.path, change.before, data, note)
        result.changed.append(change.path)
        return
    try:
        texts = [decode_text(side or b"") for side in (change.after, data, change.before)]
    except FrontMatterError as problem:
        result.kept[change.path] = str(problem)
        return
    merged = three_way_merge.merge_lines(*texts)
    if merged is None:
        result.kept[change.path] = "it has changed since"
        return
    deps.replace_file(change.path, merged.encode(), data, note)
    result.changed.append(change.path)


def _parse_entry(data: bytes | None) -> RecordFileContent | None:
    if data is None:
        return None
    try:
        return record_markdown.parse_entry(decode_text(data))
    except FrontMatterError:
        return None
