"""Bring changes of the files into memory, with their history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engrams.core import Edge, EdgeType, Record, Scope, Status
from engrams.errors import EngramsError, InputError
from engrams.ports import NewRecord, RecordChange, WriteBatch
from engrams.vault.dependencies import (
    VaultDeps,
    VaultSyncReport,
    change_note,
    decode_text,
    group_by_owner,
    now_ns,
)
from engrams.vault.files import file_parser, record_markdown
from engrams.vault.files.changes import (
    BY_HAND,
    ChangedVaultFile,
    FileChangeCause,
    FileEditEffects,
    split_overlapping,
)
from engrams.vault.files.folder_access import FileStat, hash_bytes
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_markdown import RecordFileContent, resolve_links
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import (
    DELETED,
    ENTRIES,
    FOLDERS,
    VaultFileLocation,
    find_scope,
    is_away,
    parse_place,
    path_key,
    scope_folder,
)
from engrams.vault.history import three_way_merge

_RACY = 2_000_000_000
_LARGEST = 32 << 20
_AT_LEAST = 10
_STEP = 200
_WHOSE = "it does not say whose memory it is: a line `scope:` is missing"


def _age_key(item: ChangedVaultFile) -> tuple[float, bool, str]:
    """Sort key of files: time, then texts before their facts."""
    told = item.entry.fields
    at = told["recorded_at"].timestamp() if told.get("recorded_at") else item.stat.mtime / 1e9
    return at, bool(told.get("evidence")), item.entry.id


def _leaves_owner(
    told: RecordFileContent, place: VaultFileLocation, row: FileStateRow | None
) -> bool:
    """Detect a file whose scope belongs to another owner."""
    scope = told.fields.get("scope")
    if not isinstance(scope, Scope) or (row is not None and scope.owner == row.owner):
        return False
    return not f"{path_key(place.scope)}/".startswith(f"{path_key(scope_folder(scope.owner))}/")


class VaultFileImporter:
    """Apply edited files to memory. Call with the vault's lock held."""

    def __init__(self, parts: VaultDeps) -> None:
        self._parts = parts
        self._report = VaultSyncReport()
        self._scopes_cache: tuple[Scope, ...] = ()

    def run(
        self,
        paths: Sequence[str] | None = None,
        accept: bool = False,
        cause: FileChangeCause | None = None,
    ) -> VaultSyncReport:
        """Apply changes of files (None: all); ``accept``: however many are gone."""
        self._report = VaultSyncReport()
        if not self._parts.is_there:
            return self._report
        self._parts.make_folder()
        self._scopes_cache = ()
        cause = cause or FileChangeCause()
        seen = self._list_files(paths)
        state = self._parts.state
        rows = (
            {path_key(row.path): row for row in state.all_rows() if row.path}
            if paths is None
            else state.find_paths(paths)
        )
        found, same = self._read_changed(seen, rows)
        present = {path_key(path) for path in seen}
        foreign = {item.path for item in found if item.row is None}
        missing = self._find_missing(
            [row for name, row in rows.items() if name not in present or row.path in foreign], found
        )
        found = self._identify(found, missing)
        here = {(item.row.owner, item.row.id) for item in found if item.row}
        gone = [row for row in missing if (row.owner, row.id) not in here]
        state.put(same)
        self._apply(found, cause)
        self._forget_missing(gone, state.count(), accept, cause)
        state.report_problems(self._report.problems, paths)
        return self._report

    def _list_files(self, paths: Sequence[str] | None) -> dict[str, FileStat]:
        if paths is None:
            odd: list[str] = []
            seen = {
                path: stat
                for top in (ENTRIES, DELETED)
                for path, stat in self._parts.disk.walk(top, odd=odd)
            }
            for path in odd:
                self._add_problem(path, "it is no plain file, or its name is not UTF-8")
            return seen
        return {path: stat for path in paths if (stat := self._parts.disk.stat(path)) is not None}

    def _read_changed(
        self, seen: Mapping[str, FileStat], rows: Mapping[str, FileStateRow]
    ) -> tuple[list[ChangedVaultFile], list[FileStateRow]]:
        """Read files with new content; collect rows of those only touched."""
        found: list[ChangedVaultFile] = []
        same: list[FileStateRow] = []
        now = now_ns()
        first: dict[str, str] = {name: row.path for name, row in rows.items()}
        for path, stat in seen.items():
            row = rows.get(path_key(path))
            other = first.setdefault(path_key(path), path)
            if (
                other != path
                and (other in seen or self._parts.disk.stat(other))
                and not self._parts.disk.is_same(other, path)
            ):
                self._add_problem(
                    path,
                    f"its name differs from that of {other} only in case or Unicode form: give it"
                    " another",
                )
                continue
            if (
                row is not None
                and row.path == path
                and row.stat == stat
                and stat.mtime < row.seen - _RACY
            ):
                continue
            data = self._parts.disk.read(path) if stat.size <= _LARGEST else None
            if data is None:
                if stat.size > _LARGEST:
                    self._add_problem(
                        path, f"it has {stat.size:,} bytes, more than a memory may have"
                    )
                continue
            found_hash = hash_bytes(data)
            if row is not None and row.path == path and found_hash == row.hash:
                same.append(replace(row, stat=stat, seen=now))
                continue
            place = parse_place(path)
            if place is None:
                self._add_problem(
                    path, f"no memory belongs in this folder; the folders are {', '.join(FOLDERS)}"
                )
                continue
            try:
                told = record_markdown.parse_entry(decode_text(data))
            except FrontMatterError as problem:
                self._add_problem(path, str(problem))
                continue
            if _leaves_owner(told, place, row) and not self._parts.state.get(
                told.fields["scope"].owner, [told.id]
            ):
                self._add_problem(
                    path, "its line `scope:` names another owner's memory: the folder's holds"
                )
                told = replace(
                    told,
                    fields={name: value for name, value in told.fields.items() if name != "scope"},
                )
            if row is not None and (path, found_hash) == (row.next_path, row.next_hash):
                # Our own write, interrupted before it was noted as done.
                version = int(told.fields.get("version", 1))
                links = tuple(self._link_rows(path, told, row.owner))
                same.append(
                    replace(
                        row,
                        path=path,
                        hash=found_hash,
                        version=version,
                        links=links,
                        stat=stat,
                        seen=now,
                    )
                )
                continue
            mine = row if row is not None and (not told.id or row.id == told.id) else None
            found.append(
                ChangedVaultFile(
                    path=path,
                    stat=stat,
                    hash=found_hash,
                    entry=told,
                    place=place,
                    row=mine,
                    data=data,
                )
            )
        return found, same

    def _find_missing(
        self, rows: Sequence[FileStateRow], found: Sequence[ChangedVaultFile]
    ) -> list[FileStateRow]:
        """Find rows whose file is gone, except those we were moving."""
        moving = {(item.path, item.hash) for item in found}
        taken = {item.path for item in found if item.row is None}
        lost = (row for row in rows if row.path in taken or self._parts.disk.stat(row.path) is None)
        return [row for row in lost if (row.next_path, row.next_hash) not in moving]

    def _identify(
        self, found: Sequence[ChangedVaultFile], missing: Sequence[FileStateRow]
    ) -> list[ChangedVaultFile]:
        """Match files to memories; a second file of one is a problem."""
        lost = {(row.owner, row.id): row for row in missing}
        kept: list[ChangedVaultFile] = []
        for item in found:
            if item.row is None and item.entry.id:
                owner = self._find_scope(item).owner if self._has_scope(item) else None
                if owner is None:
                    self._add_problem(item.path, _WHOSE)
                    continue
                row = lost.get((owner, item.entry.id)) or self._parts.state.get(
                    owner, [item.entry.id]
                ).get(item.entry.id)
                if row is not None and (item.path, item.hash) == (row.next_path, row.next_hash):
                    self._drop_unfinished_copy(item, row)
                    continue
                if (
                    row is not None
                    and row.path
                    and (owner, item.entry.id) not in lost
                    and not self._has_returned(item, row)
                ):
                    self._add_problem(
                        item.path,
                        f"its id is that of {row.path}: remove the line `id:` to make it a memory"
                        " of its own",
                    )
                    continue
                item.row = row
                lost.pop((owner, item.entry.id), None)
            elif (
                not item.entry.id and item.row is None and not self._parts.settings.adopt_new_files
            ):
                self._add_problem(item.path, "it has no id")
                continue
            kept.append(item)
        return kept

    def _drop_unfinished_copy(self, item: ChangedVaultFile, row: FileStateRow) -> None:
        """Remove an interrupted move's copy if a hand edited the original."""
        disk = self._parts.disk
        held = disk.read(row.path) if row.path and not disk.is_same(row.path, item.path) else None
        if held is not None and hash_bytes(held) != row.hash:
            disk.remove(item.path)

    def _has_returned(self, item: ChangedVaultFile, row: FileStateRow) -> bool:
        """Detect a restored file of a forgotten memory; remove its tombstone."""
        disk = self._parts.disk
        if (
            item.place.deleted
            or not row.path.startswith(f"{DELETED}/")
            or hash_bytes(disk.read(row.path) or b"") != row.hash
        ):
            return False
        disk.remove(row.path)
        return True

    def _apply(self, found: Sequence[ChangedVaultFile], cause: FileChangeCause) -> None:
        by_path = {}
        # New memories are added in the order of their times, which later ones build on.
        for item in sorted(found, key=_age_key):
            if item.row is None and not self._has_scope(item):
                self._add_problem(item.path, _WHOSE)
            else:
                by_path[item.path] = item
        owners = group_by_owner(
            (item.row.owner if item.row else self._find_scope(item).owner, path)
            for path, item in by_path.items()
        )
        for owner, paths in owners.items():
            for start in range(0, len(paths), _STEP):
                self._apply_step(
                    owner, [by_path[path] for path in paths[start : start + _STEP]], cause
                )

    def _apply_step(
        self, owner: Scope, items: Sequence[ChangedVaultFile], cause: FileChangeCause
    ) -> None:
        """Commit many files at once; where that fails, one by one."""
        edits = self._make_edits(owner, items, cause)
        together, alone = split_overlapping(edits)
        try:
            for exact in (True, False):
                self._commit(owner, [edit for edit in together if edit.exact is exact], cause)
        except EngramsError as problem:
            if len(edits) == 1:
                self._add_problem(edits[0].found.path, problem.message)
                return
            for item in items:
                if item.path in {edit.found.path for edit in edits}:
                    self._apply_step(owner, [item], cause)
            return
        for edit in alone:
            self._apply_step(owner, [edit.found], cause)

    def _make_edits(
        self, owner: Scope, items: Sequence[ChangedVaultFile], cause: FileChangeCause
    ) -> list[FileEditEffects]:
        ids = [item.row.id if item.row else file_parser.name_file(item) for item in items]
        known = {record.id: record for record in self._parts.store.get(owner, ids)}
        edits = []
        for item, name in zip(items, ids, strict=True):
            try:
                ours = known.get(name)
                edit = (
                    self._make_edit(item, ours, cause)
                    if ours is not None
                    else self._make_addition(item, owner)
                )
            except (EngramsError, FrontMatterError) as problem:
                self._add_problem(
                    item.path,
                    problem.message if isinstance(problem, EngramsError) else str(problem),
                )
                continue
            edits.append(edit)
        return edits

    def _commit(
        self, owner: Scope, edits: Sequence[FileEditEffects], cause: FileChangeCause
    ) -> None:
        if not edits:
            return
        parts = self._parts
        puts = tuple(
            NewRecord(edit.put, vector=edit.vectors[0] if edit.vectors else None)
            for edit in edits
            if edit.put
        )
        changes = tuple(edit.change for edit in edits if edit.change and edit.change.fields)
        vectors = tuple(
            (owner, vector) for edit in edits if not edit.put for vector in edit.vectors
        )
        add, drop = (
            tuple(edge for edit in edits for edge in getattr(edit, name))
            for name in ("add", "drop")
        )
        changes += tuple(ripple for edit in edits for ripple in edit.ripples)
        written = [edit.put for edit in edits if edit.put and edit.does == "add"]
        jobs = parts.rules.find_jobs([*written, *(edit.relearn for edit in edits if edit.relearn)])
        if parts.rules.embed and (
            any(put.vector is None for put in puts)
            or any("text" in change.fields for change in changes)
        ):
            jobs = (*jobs, parts.rules.embed)
        store = (
            parts.plain_store if cause.quiet and all(edit.exact for edit in edits) else parts.store
        )
        if puts or changes or add or drop:
            batch = WriteBatch(
                actor=cause.actor,
                reason=cause.reason,
                at=parts.clock(),
                puts=puts,
                changes=changes,
                vectors=vectors,
                edges=add,
                unlink=drop,
                jobs=jobs,
            )
            existing = store.commit(batch).existing
        else:
            existing = {}
        for edit in edits:
            if edit.put and edit.put.id in existing:
                self._add_problem(
                    edit.found.path,
                    f"its external id {edit.put.external_id} is that of {existing[edit.put.id]}",
                )
        done = [edit for edit in edits if not (edit.put and edit.put.id in existing)]
        moved = [
            (edit.found.row.path, edit)
            for edit in done
            if edit.found.row and edit.found.row.path not in ("", edit.found.path)
        ]
        rows = [self._to_row(owner, edit) for edit in done]
        with parts.state.transaction():
            parts.state.put(rows)
            parts.state.touch((edit.found.path, self._edit_note(edit, cause)) for edit in done)
            parts.state.touch((path, self._edit_note(edit, cause)) for path, edit in moved)
        for edit in done:
            self._count_edit(edit)

    def _make_edit(
        self, item: ChangedVaultFile, ours: Record, cause: FileChangeCause
    ) -> FileEditEffects:
        """Merge the file, the memory, and their last common version."""
        if ours.status is Status.PURGED:
            raise InputError(
                "its memory was purged; remove the file, or its line `id:` to make it a new memory"
            )
        row = item.row
        if row is None and not item.entry.id:
            # Taken in before a crash, and not written since.
            same = RecordChange(ours.scope.owner, ours.id, {}, "move")
            return FileEditEffects(
                item, None, same, does="none", version=ours.version, scope=ours.scope
            )
        version = row.version if row is not None else int(item.entry.fields.get("version", 1))
        history = (
            self._parts.store.history(ours.scope.owner, ours.id) if version < ours.version else ()
        )
        base = (
            three_way_merge.record_at_version(ours, history, version)
            if version < ours.version
            else ours
        ) or ours
        theirs = file_parser.parse_edit(item, base, self._known_scopes(), self._parts.clock())
        merged = three_way_merge.merge(base, ours, theirs)
        values: dict[str, Any] = dict(merged.fields)
        values, vectors = self._parts.rules.prepare(ours, values) if values else (values, ())
        if merged.lost:
            if any(name in merged.lost for name in ("text", "caption", "summary")):
                old = record_markdown.render_entry(ours, (), decode_text(item.data))
                told = (
                    f"{ours.id} was changed in memory and by hand at once: the hand's words hold,"
                    " these were memory's"
                )
                self._parts.keep_aside(item.path, old.encode("utf-8", "replace"), told)
            self._report.conflicts += 1
        add, drop = self._diff_links(item, ours)
        does = "change"
        if values.get("status") is Status.FORGOTTEN:
            does = "forget"
        elif is_away(ours) and "status" in values:
            does = "restore"
        elif not values and not add and not drop:
            does = "move" if row is None or row.path != item.path else "none"
        action = does if does in ("forget", "restore") else cause.action
        change = RecordChange(
            owner=ours.scope.owner, id=ours.id, fields=values, action=action, expect=ours.version
        )
        edit = FileEditEffects(
            found=item,
            put=None,
            change=change,
            vectors=vectors,
            add=add,
            drop=drop,
            does=does,
            version=ours.version + bool(values),
            scope=ours.scope,
        )
        if values and not cause.quiet:
            edit.ripples = self._parts.rules.find_ripples(ours, values)
        if values and cause.reason == BY_HAND:
            edit.relearn = (
                replace(ours, text=values["text"])
                if "text" in values and ours.status is Status.ACTIVE
                else None
            )
        return edit

    def _make_addition(self, item: ChangedVaultFile, owner: Scope) -> FileEditEffects:
        given = item.entry.fields
        own = bool(item.entry.id)
        record = file_parser.parse_new(item, self._find_scope(item), self._parts.clock())
        parts = {part: value for part in ("text", "caption") if (value := getattr(record, part))}
        values, vectors = self._parts.rules.prepare(record, dict(parts))
        exact = own and {"kind", "scope", "recorded_at"} <= given.keys() and parts == values
        record = replace(record, **values)
        links = resolve_links(item.entry, item.path, owner, self._parts.state)
        add = tuple(
            Edge(
                owner=owner,
                source=record.id,
                target=link.target,
                type=link.type,
                weight=link.weight,
                count=link.count,
            )
            for link in links
        )
        return FileEditEffects(
            found=item,
            put=record,
            change=None,
            vectors=vectors,
            add=add,
            drop=(),
            does="restore" if own else "add",
            version=record.version,
            exact=exact,
        )

    def _diff_links(
        self, item: ChangedVaultFile, ours: Record
    ) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Find added and removed edges; only the row's links are removed."""
        owner = ours.scope.owner
        told = {
            (kind, target): (weight, count)
            for kind, target, weight, count in self._link_rows(item.path, item.entry, owner)
        }
        were = {
            (kind, target): (weight, count)
            for kind, target, weight, count in (item.row.links if item.row else ())
        }
        held = {
            (str(edge.type), edge.target): edge
            for edge in self._parts.store.edges(owner, [ours.id])
            if edge.source == ours.id
        }
        now = {name: (edge.weight, edge.count) for name, edge in held.items()}
        fresh = [
            name
            for name, value in told.items()
            if value != were.get(name) and value != now.get(name)
        ]
        add = tuple(
            Edge(owner, ours.id, target, EdgeType(kind), *told[kind, target])
            for kind, target in fresh
        )
        gone = [name for name in were if name not in told and name in held]
        # An edge that is added again counts up: one whose count was set is taken away first.
        return add, tuple(held[name] for name in [*gone, *(name for name in fresh if name in held)])

    def _forget_missing(
        self, rows: Sequence[FileStateRow], total: int, accept: bool, cause: FileChangeCause
    ) -> None:
        """Forget memories without files, unless too many went at once."""
        parts = self._parts
        live = [row for row in rows if not row.path.startswith(f"{DELETED}/")]
        parts.state.put(
            replace(row, path="", hash="", next_path="", next_hash="")
            for row in rows
            if row.path.startswith(f"{DELETED}/")
        )
        if (
            len(live) >= _AT_LEAST
            and len(live) > parts.settings.max_missing_share * total
            and not accept
        ):
            self._report.gone = len(live)
            told = (
                f"{len(live)} of {total} files are gone: put them back, or let `engrams sync"
                " --accept` forget those memories"
            )
            self._add_problem(ENTRIES, told)
            return
        rows_by_id = {(row.owner, row.id): row for row in live}
        cause = (
            replace(cause, reason="its file was removed by hand")
            if cause.reason == BY_HAND
            else cause
        )
        for owner, ids in group_by_owner(rows_by_id).items():
            for start in range(0, len(ids), _STEP):
                records = parts.store.get(owner, ids[start : start + _STEP])
                known = [
                    record
                    for record in records
                    if record.status not in (Status.FORGOTTEN, Status.PURGED)
                ]
                parts.rules.forget(known, cause.actor, cause.reason)
                self._report.forgotten += len(known)
                some = [rows_by_id[owner, record.id] for record in records]
                notes = [
                    (
                        rows_by_id[owner, record.id].path,
                        change_note("forget", record, cause.reason, cause.actor),
                    )
                    for record in records
                ]
                with parts.state.transaction():
                    parts.state.put(
                        replace(
                            row,
                            path="",
                            next_path=DELETED + row.path[row.path.index("/") :],
                            next_hash="",
                        )
                        for row in some
                    )
                    parts.state.touch(notes)

    def _to_row(self, owner: Scope, edit: FileEditEffects) -> FileStateRow:
        item = edit.found
        scope = edit.put.scope if edit.put else None
        if edit.change is not None:
            scope = edit.change.fields.get("scope") or edit.scope
        if edit.put:
            name = edit.put.id
        elif edit.change:
            name = edit.change.id
        else:
            name = ""
        links = tuple(self._link_rows(item.path, item.entry, owner))
        return FileStateRow(
            owner=owner,
            id=name,
            path=item.path,
            scope=scope or owner,
            hash=item.hash,
            version=edit.version,
            links=links,
            stat=item.stat,
            seen=now_ns(),
        )

    def _link_rows(
        self, path: str, told: RecordFileContent, owner: Scope
    ) -> list[tuple[str, str, float, int]]:
        found = resolve_links(told, path, owner, self._parts.state)
        return [(str(link.type), link.target, link.weight, link.count) for link in found]

    def _edit_note(self, edit: FileEditEffects, cause: FileChangeCause) -> Any:
        record = edit.put
        if record:
            name = record.id
        elif edit.change:
            name = edit.change.id
        else:
            name = ""
        does = "edit" if edit.does == "none" else edit.does
        return {
            "does": does,
            "id": name,
            "why": cause.reason,
            "actor": cause.actor,
            "session": record.session if record else "",
        }

    def _count_edit(self, edit: FileEditEffects) -> None:
        report = self._report
        match edit.does:
            case "add":
                report.added += 1
            case "forget":
                report.forgotten += 1
            case "restore":
                report.restored += 1
            case "move":
                report.moved += 1
                if edit.change:
                    report.renamed.append((edit.change.owner, edit.change.id))
            case "change":
                report.changed += 1

    def _has_scope(self, item: ChangedVaultFile) -> bool:
        return (
            "scope" in item.entry.fields
            or find_scope(item.place.scope, self._known_scopes()) is not None
        )

    def _find_scope(self, item: ChangedVaultFile) -> Scope:
        told = item.entry.fields.get("scope") or find_scope(item.place.scope, self._known_scopes())
        assert isinstance(told, Scope)
        return told

    def _known_scopes(self) -> Collection[Scope]:
        if not self._scopes_cache:
            used = (row.scope for row in self._parts.state.all_rows())
            self._scopes_cache = tuple(sorted({*self._parts.store.scopes(None), *used}))
        return self._scopes_cache

    def _add_problem(self, path: str, told: str) -> None:
        self._report.problems[path] = told
