"""Write memories to files.

What is about to be written is noted first, so that after a crash our own work is told from a
hand's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engrams.core import Edge, EdgeType, Json, Record, Scope, Status
from engrams.frozen_data import dataclass
from engrams.ports import NOTE_PIECE
from engrams.vault.dependencies import VaultDeps, change_note, decode_text, now_ns
from engrams.vault.files import record_markdown
from engrams.vault.files.folder_access import FileStat, PlannedFileWrite, hash_bytes
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_markdown import RecordFileLink
from engrams.vault.files.record_markdown import find_loose as loose_links
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import moved_path, new_path, path_key, relative_link


@dataclass(slots=True)
class _FilePlan:
    record: Record
    row: FileStateRow | None
    path: str
    old: bytes | None = None
    old_path: str = ""
    data: bytes = b""
    links: tuple[RecordFileLink, ...] = ()


@dataclass(frozen=True, slots=True)
class FileWriteResult:
    """Result of writing files.

    ``blocked``: ids whose file somebody changed or removed meanwhile. ``neighbours``: ids whose
    links name a file that moved.
    """

    count: int = 0
    blocked: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ()


class VaultFileWriter:
    """Writer of files. Call with the vault's lock held."""

    def __init__(self, parts: VaultDeps) -> None:
        self._parts = parts

    def write(
        self,
        owner: Scope,
        records: Sequence[Record],
        notes: Mapping[str, Json],
        force: bool = False,
    ) -> FileWriteResult:
        """Write the files of memories; ``force``: move what stands in the way."""
        parts = self._parts
        parts.make_folder()
        rows = parts.state.get(owner, [record.id for record in records])
        plans: list[_FilePlan] = []
        blocked: list[str] = []
        for record in records:
            row = rows.get(record.id)
            if record.status is Status.PURGED:
                self._erase(owner, record.id, row)
            elif NOTE_PIECE not in record.meta:
                plan = self._plan_file(
                    record, row, force, {path_key(other.path) for other in plans}
                )
                if plan is None:
                    blocked.append(record.id)
                else:
                    plans.append(plan)
        for plan in plans:
            self._remove_leftover(plan)
        self._render_plans(owner, plans)
        news = [
            plan
            for plan in plans
            if plan.old is None or plan.data != plan.old or plan.old_path != plan.path
        ]
        told = [
            (path, {**change_note("change", plan.record), **(notes.get(plan.record.id) or {})})
            for plan in news
            for path in {plan.path, plan.old_path}
            if path
        ]
        late = self._write_plans(owner, news, told)
        parts.state.put(
            self._written_rows(owner, [plan for plan in plans if plan.record.id not in late])
        )
        went = [plan.record.id for plan in news if plan.old_path not in ("", plan.path)]
        return FileWriteResult(len(news), (*blocked, *late), self._find_neighbours(owner, went))

    def _plan_file(
        self, record: Record, row: FileStateRow | None, force: bool, taken: set[str]
    ) -> _FilePlan | None:
        """Plan one file; None where an unread edit stands in the way."""
        disk = self._parts.disk
        if row is None or not (row.path or row.next_path):
            return _FilePlan(record, row, self._free_path(record, taken))
        place = next(
            (path for path in dict.fromkeys((row.path, row.next_path)) if path and disk.stat(path)),
            "",
        )
        old = disk.read(place) if place else None
        if not place and not row.path:
            if row.next_hash and self._parts.truth == "files" and not force:
                # An interrupted write, whose file a hand may have renamed since.
                return None
            # A file that a hand removed: the tombstone keeps its name.
            return _FilePlan(record, row, self._target_path(record, row, taken))
        if old is None:
            if self._parts.truth == "files" and not force:
                return None
            return _FilePlan(record, row, self._target_path(record, row, taken))
        if hash_bytes(old) not in (row.hash, row.next_hash):
            if self._parts.truth == "files" and not force:
                return None
            self._parts.keep_aside(place, old, "changed by hand, and memory changed too")
        return _FilePlan(
            record=record,
            row=row,
            path=self._target_path(record, replace(row, path=place), taken),
            old=old,
            old_path=place,
        )

    def _remove_leftover(self, plan: _FilePlan) -> None:
        """Remove the unfinished move of an earlier, interrupted write."""
        row = plan.row
        disk = self._parts.disk
        if (
            row is None
            or not row.path
            or not row.next_path
            or path_key(row.next_path) in (path_key(plan.path), path_key(plan.old_path))
        ):
            return
        held = disk.read(row.next_path)
        if held is not None and hash_bytes(held) == row.next_hash:
            self._parts.state.touch([(row.next_path, change_note("move", plan.record))])
            disk.remove(row.next_path)

    def _target_path(self, record: Record, row: FileStateRow, taken: set[str]) -> str:
        path = moved_path(row.path or row.next_path, record, row.scope)
        if path == row.path:
            return path
        known = self._parts.state.find_paths([path]).get(path_key(path))
        free = path_key(path) not in taken and (
            known is None or (known.owner, known.id) == (row.owner, row.id)
        )
        return (
            path
            if free and (path == row.next_path or self._parts.disk.stat(path) is None)
            else self._free_path(record, taken)
        )

    def _free_path(self, record: Record, taken: set[str]) -> str:
        used = set(taken)
        while True:
            path = new_path(record, used)
            known = self._parts.state.find_paths([path])
            if not known and self._parts.disk.stat(path) is None:
                return path
            used.add(path_key(path))

    def _render_plans(self, owner: Scope, plans: Sequence[_FilePlan]) -> None:
        ids = {plan.record.id: plan.path for plan in plans}
        outgoing: dict[str, list[Edge]] = {}
        for edge in self._parts.store.edges(owner, list(ids)) if ids else ():
            # Topics follow from vectors: they are found again, and their names mean nothing to a
            # reader.
            if edge.source in ids and edge.type is not EdgeType.IN_TOPIC:
                outgoing.setdefault(edge.source, []).append(edge)
        targets = {edge.target for edges in outgoing.values() for edge in edges} - ids.keys()
        paths = (
            {id: row.path for id, row in self._parts.state.get(owner, list(targets)).items()} | ids
            if targets
            else ids
        )
        for plan in plans:
            linked = [(edge, paths.get(edge.target)) for edge in outgoing.get(plan.record.id, ())]
            plan.links = tuple(
                record_markdown.to_link(edge, relative_link(path, plan.path) if path else "")
                for edge, path in linked
            )
            try:
                before = decode_text(plan.old) if plan.old is not None else ""
                loose = (
                    loose_links(
                        record_markdown.parse_entry(before), plan.path, owner, self._parts.state
                    )
                    if before
                    else {}
                )
            except FrontMatterError:
                before = ""
                loose = {}
            plan.data = record_markdown.render_entry(plan.record, plan.links, before, loose).encode(
                "utf-8", "replace"
            )

    def _write_plans(
        self, owner: Scope, news: Sequence[_FilePlan], told: Sequence[tuple[str, Json]]
    ) -> set[str]:
        """Write files, remove old ones; return ids that a hand changed meanwhile."""
        parts = self._parts
        if not news:
            return set()
        with parts.state.transaction():
            parts.state.put(
                replace(
                    plan.row
                    or FileStateRow(
                        owner=owner, id=plan.record.id, path="", scope=plan.record.scope, hash=""
                    ),
                    next_path=plan.path,
                    next_hash=hash_bytes(plan.data),
                )
                for plan in news
            )
            parts.state.touch(told)
        watched = parts.truth == "files"
        files = [
            PlannedFileWrite(
                plan.path, plan.data, plan.old if watched and plan.path == plan.old_path else None
            )
            for plan in news
        ]
        late = parts.disk.write(files)
        ids: set[str] = set()
        for plan in news:
            if plan.path in late:
                parts.disk.write([PlannedFileWrite(plan.path, late[plan.path])])
                ids.add(plan.record.id)
            elif plan.old_path not in ("", plan.path):
                held = parts.disk.take(plan.old_path)
                if held is not None and held != plan.old:
                    parts.disk.write([PlannedFileWrite(plan.old_path, held)])
                    parts.disk.remove(plan.path)
                    ids.add(plan.record.id)
        return ids

    def _written_rows(self, owner: Scope, plans: Sequence[_FilePlan]) -> list[FileStateRow]:
        rows = []
        for plan in plans:
            # A hand may have removed it already: only a row with its path tells that from a file
            # not written yet.
            stat = self._parts.disk.stat(plan.path) or FileStat(0, 0)
            links = tuple(
                (str(link.type), link.target, link.weight, link.count) for link in plan.links
            )
            record = plan.record
            rows.append(
                FileStateRow(
                    owner=owner,
                    id=record.id,
                    path=plan.path,
                    scope=record.scope,
                    hash=hash_bytes(plan.data),
                    version=record.version,
                    links=links,
                    stat=stat,
                    seen=now_ns(),
                )
            )
        return rows

    def _erase(self, owner: Scope, id: str, row: FileStateRow | None) -> None:
        for path in {row.path, row.next_path} if row else ():
            if path:
                self._parts.state.touch([(path, {"does": "purge", "id": id})])
                self._parts.disk.remove(path)
        self._parts.state.drop(owner, [id])

    def _find_neighbours(self, owner: Scope, ids: Sequence[str]) -> tuple[str, ...]:
        if not ids:
            return ()
        edges = self._parts.store.edges(owner, ids)
        known = set(ids)
        return tuple(
            dict.fromkeys(
                edge.source for edge in edges if edge.target in known and edge.source not in known
            )
        )
