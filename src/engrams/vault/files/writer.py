"""Write memories to files.

``VaultFileWriter.write_records`` plans each file, notes in the state what is about to be written,
and writes. The note tells our own work from a hand's after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.core import RUNNING, Edge, EdgeType, Json, Kind, Record, Scope, Status
from engrams.ports import NOTE_PIECE
from engrams.vault.change_notes import make_change_note
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files import record_markdown
from engrams.vault.files.folder_access import FileStat, PlannedFileWrite, hash_bytes
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.record_links import LooseLinks, RecordFileLink, find_dangling, to_link
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import moved_path, new_path, path_key, relative_link


@dataclass(slots=True)
class _FilePlan:
    """One memory's file as it is and as it is to be."""

    record: Record
    row: FileStateRow | None
    path: str
    old_data: bytes | None = None
    """Content of the file now; None: there is none."""
    old_path: str = ""
    data: bytes = b""
    links: tuple[RecordFileLink, ...] = ()

    @property
    def is_moved(self) -> bool:
        return self.old_path not in ("", self.path)

    @property
    def changes_file(self) -> bool:
        return self.data != self.old_data or self.old_path != self.path


@dataclass(frozen=True, slots=True)
class FileWriteResult:
    """Result of writing files."""

    count: int = 0
    """Number of files written."""
    blocked: tuple[str, ...] = ()
    """Ids of memories whose file somebody changed or removed meanwhile."""
    neighbours: tuple[str, ...] = ()
    """Ids of memories whose links name a file that moved."""


class VaultFileWriter:
    """Writes files. Call with the vault's lock held."""

    def __init__(self, deps: VaultDeps) -> None:
        self._deps = deps

    def write_records(
        self,
        owner: Scope,
        records: Sequence[Record],
        notes: Mapping[str, Json],
        force: bool = False,
    ) -> FileWriteResult:
        """Write the files of memories.

        ``notes``: what was done to each memory, by id. ``force``: move aside any edit that stands
        in the way, also one that was not read yet. Running summaries come last: the file of a
        forgotten one leaves its name to the next.
        """
        self._deps.make_folder()
        summaries = [record for record in records if _is_running_summary(record)]
        settled_records = [record for record in records if not _is_running_summary(record)]
        results = [
            self._write_batch(owner, batch, notes, force)
            for batch in (settled_records, summaries)
            if batch
        ]
        return FileWriteResult(
            count=sum(result.count for result in results),
            blocked=tuple(record_id for result in results for record_id in result.blocked),
            neighbours=tuple(
                dict.fromkeys(record_id for result in results for record_id in result.neighbours)
            ),
        )

    def _write_batch(
        self, owner: Scope, records: Sequence[Record], notes: Mapping[str, Json], force: bool
    ) -> FileWriteResult:
        deps = self._deps
        rows = deps.state.get(owner, [record.id for record in records])
        plans: list[_FilePlan] = []
        blocked_ids: list[str] = []
        for record in records:
            row = rows.get(record.id)
            if record.status is Status.PURGED:
                self._erase(owner, record.id, row)
            elif NOTE_PIECE not in record.meta:
                taken_keys = {path_key(plan.path) for plan in plans}
                plan = self._plan_file(record, row, force, taken_keys)
                if plan is None:
                    blocked_ids.append(record.id)
                else:
                    plans.append(plan)
        for plan in plans:
            self._remove_leftover(plan)
        self._render_plans(owner, plans)
        changed = [plan for plan in plans if plan.changes_file]
        touched = [
            (path, {**make_change_note("change", plan.record), **(notes.get(plan.record.id) or {})})
            for plan in changed
            for path in {plan.path, plan.old_path}
            if path
        ]
        late_ids = self._write_plans(owner, changed, touched)
        deps.state.put(
            self._make_rows(owner, [plan for plan in plans if plan.record.id not in late_ids])
        )
        moved_ids = [plan.record.id for plan in changed if plan.is_moved]
        return FileWriteResult(
            count=len(changed),
            blocked=(*blocked_ids, *late_ids),
            neighbours=self._find_neighbours(owner, moved_ids),
        )

    def _plan_file(
        self, record: Record, row: FileStateRow | None, force: bool, taken_keys: set[str]
    ) -> _FilePlan | None:
        """Plan one file; None where an unread edit stands in the way."""
        disk = self._deps.disk
        respects_hands = self._deps.truth == "files" and not force
        if row is None or not (row.path or row.next_path):
            return _FilePlan(record, row, self._find_free_path(record, taken_keys))
        current_path = next(
            (path for path in dict.fromkeys((row.path, row.next_path)) if path and disk.stat(path)),
            "",
        )
        old_data = disk.read(current_path) if current_path else None
        if old_data is None:
            # Without a path, a hand removed the file, and the tombstone keeps its name; or a write
            # was interrupted, and a hand may have renamed the file since.
            was_removed = not current_path and not row.path and not row.next_hash
            if respects_hands and not was_removed:
                return None
            return _FilePlan(record, row, self._choose_path(record, row, taken_keys))
        if hash_bytes(old_data) not in (row.hash, row.next_hash):
            if respects_hands:
                return None
            self._deps.keep_aside(current_path, old_data, "changed by hand, and memory changed too")
        path = self._choose_path(record, replace(row, path=current_path), taken_keys)
        edited_copy = self._read_edited_copy(row, path) if path != current_path else None
        if edited_copy is not None:
            if respects_hands:
                return None
            self._deps.keep_aside(path, edited_copy, "changed by hand, and memory changed too")
        return _FilePlan(
            record=record, row=row, path=path, old_data=old_data, old_path=current_path
        )

    def _read_edited_copy(self, row: FileStateRow, path: str) -> bytes | None:
        """Read what a hand made of the copy that an interrupted move of ours left at its target."""
        data = self._deps.disk.read(path) if path == row.next_path else None
        return data if data is not None and hash_bytes(data) != row.next_hash else None

    def _remove_leftover(self, plan: _FilePlan) -> None:
        """Remove the unfinished move of an earlier, interrupted write."""
        row = plan.row
        disk = self._deps.disk
        if row is None or not row.path or not row.next_path:
            return
        if path_key(row.next_path) in (path_key(plan.path), path_key(plan.old_path)):
            return
        leftover = disk.read(row.next_path)
        if leftover is not None and hash_bytes(leftover) == row.next_hash:
            self._deps.state.touch([(row.next_path, make_change_note("move", plan.record))])
            disk.remove(row.next_path)

    def _choose_path(self, record: Record, row: FileStateRow, taken_keys: set[str]) -> str:
        """Choose the path of a file that has one, or is to have it again."""
        path = moved_path(row.path or row.next_path, record, row.scope)
        if path == row.path:
            return path
        other_row = self._deps.state.find_paths([path]).get(path_key(path))
        is_free = path_key(path) not in taken_keys and (
            other_row is None or (other_row.owner, other_row.id) == (row.owner, row.id)
        )
        if is_free and (path == row.next_path or self._deps.disk.stat(path) is None):
            return path
        return self._find_free_path(record, taken_keys)

    def _find_free_path(self, record: Record, taken_keys: set[str]) -> str:
        used_keys = set(taken_keys)
        while True:
            path = new_path(record, used_keys)
            is_known = bool(self._deps.state.find_paths([path]))
            if not is_known and self._deps.disk.stat(path) is None:
                return path
            used_keys.add(path_key(path))

    def _render_plans(self, owner: Scope, plans: Sequence[_FilePlan]) -> None:
        """Render the content of each planned file, with its links."""
        planned_paths = {plan.record.id: plan.path for plan in plans}
        outgoing: dict[str, list[Edge]] = {}
        for edge in self._deps.store.edges(owner, list(planned_paths)) if planned_paths else ():
            # Topics follow from vectors: they are found again, and their names mean nothing to a
            # reader.
            if edge.source in planned_paths and edge.type is not EdgeType.IN_TOPIC:
                outgoing.setdefault(edge.source, []).append(edge)
        target_ids = {edge.target for edges in outgoing.values() for edge in edges}
        unplanned_ids = list(target_ids - planned_paths.keys())
        paths = dict(planned_paths)
        if unplanned_ids:
            rows = self._deps.state.get(owner, unplanned_ids)
            paths |= {record_id: row.path for record_id, row in rows.items()}
        for plan in plans:
            plan.links = tuple(
                _make_link(edge, paths.get(edge.target), plan.path)
                for edge in outgoing.get(plan.record.id, ())
            )
            self._render_plan(owner, plan)

    def _render_plan(self, owner: Scope, plan: _FilePlan) -> None:
        """Render one file; keep what a hand wrote into it beyond the memory's fields."""
        old_text = ""
        loose: LooseLinks = {}
        try:
            if plan.old_data:
                old_text = decode_text(plan.old_data)
                content = record_markdown.parse_entry(old_text)
                dangling = find_dangling(content.links, plan.path, owner, self._deps.state)
                loose = {
                    name: (*content.loose.get(name, ()), *dangling.get(name, ()))
                    for name in (*content.loose, *dangling)
                }
        except FrontMatterError:
            old_text = ""
        text = record_markdown.render_entry(plan.record, plan.links, old_text, loose)
        plan.data = text.encode("utf-8", "replace")

    def _write_plans(
        self,
        owner: Scope,
        plans: Sequence[_FilePlan],
        touched: Sequence[tuple[str, Json]],
    ) -> set[str]:
        """Write files, remove old ones; return ids that a hand changed meanwhile."""
        deps = self._deps
        if not plans:
            return set()
        with deps.state.transaction():
            deps.state.put(
                replace(
                    plan.row
                    or FileStateRow(
                        owner=owner, id=plan.record.id, path="", scope=plan.record.scope, hash=""
                    ),
                    next_path=plan.path,
                    next_hash=hash_bytes(plan.data),
                )
                for plan in plans
            )
            deps.state.touch(touched)
        is_watched = deps.truth == "files"
        late_edits = deps.disk.write(
            [
                PlannedFileWrite(
                    plan.path,
                    plan.data,
                    plan.old_data if is_watched and plan.path == plan.old_path else None,
                )
                for plan in plans
            ]
        )
        late_ids: set[str] = set()
        for plan in plans:
            if plan.path in late_edits:
                # Somebody wrote it in the moment in which we did: theirs goes back into place.
                deps.disk.write([PlannedFileWrite(plan.path, late_edits[plan.path])])
                late_ids.add(plan.record.id)
            elif plan.is_moved:
                taken_data = deps.disk.take(plan.old_path)
                if taken_data is not None and taken_data != plan.old_data:
                    deps.disk.write([PlannedFileWrite(plan.old_path, taken_data)])
                    deps.disk.remove(plan.path)
                    late_ids.add(plan.record.id)
        return late_ids

    def _make_rows(self, owner: Scope, plans: Sequence[_FilePlan]) -> list[FileStateRow]:
        """Make the states of files that were written."""
        rows = []
        for plan in plans:
            # A hand may have removed it already: only a row with its path tells that from a file
            # not written yet.
            stat = self._deps.disk.stat(plan.path) or FileStat(0, 0)
            rows.append(
                FileStateRow(
                    owner=owner,
                    id=plan.record.id,
                    path=plan.path,
                    scope=plan.record.scope,
                    hash=hash_bytes(plan.data),
                    version=plan.record.version,
                    links=tuple(
                        (str(link.type), link.target, link.weight, link.count)
                        for link in plan.links
                    ),
                    stat=stat,
                    looked_at=time.time_ns(),
                )
            )
        return rows

    def _erase(self, owner: Scope, record_id: str, row: FileStateRow | None) -> None:
        """Remove the file of a purged memory."""
        for path in {row.path, row.next_path} if row else ():
            if path:
                self._deps.state.touch([(path, {"does": "purge", "id": record_id})])
                self._deps.disk.remove(path)
        self._deps.state.drop(owner, [record_id])

    def _find_neighbours(self, owner: Scope, moved_ids: Sequence[str]) -> tuple[str, ...]:
        """Find the memories that link to moved files."""
        if not moved_ids:
            return ()
        moved = set(moved_ids)
        return tuple(
            dict.fromkeys(
                edge.source
                for edge in self._deps.store.edges(owner, moved_ids)
                if edge.target in moved and edge.source not in moved
            )
        )


def _is_running_summary(record: Record) -> bool:
    return record.kind is Kind.SUMMARY and RUNNING in record.meta and record.status is Status.ACTIVE


def _make_link(edge: Edge, target_path: str | None, source_path: str) -> RecordFileLink:
    link_path = relative_link(target_path, source_path) if target_path else ""
    return to_link(edge, link_path)
