"""Bring changes of the files into memory, with their history.

``VaultFileImporter.run`` takes these steps: list the files, read those with new content
(``changed_files``), match them to memories (``file_matching``), work out what they change
(``file_edits``), store that, and forget the memories whose file is gone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engrams.core import Json, Scope, Status
from engrams.errors import EngramsError
from engrams.ports import NewRecord, WriteBatch
from engrams.vault.change_notes import make_change_note
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.changed_files import ChangedFileReader
from engrams.vault.files.changes import (
    BY_HAND,
    ChangedVaultFile,
    FileChangeCause,
    FileEditEffects,
    split_overlapping,
)
from engrams.vault.files.file_edits import FileEditBuilder
from engrams.vault.files.file_matching import NO_SCOPE, FileMatcher, find_missing
from engrams.vault.files.folder_access import FileStat
from engrams.vault.files.import_run import FileImportRun
from engrams.vault.files.owner_groups import group_by_owner
from engrams.vault.files.record_links import to_link_rows
from engrams.vault.files.sync_report import VaultSyncReport
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import DELETED, ENTRIES, path_key

_MANY_MISSING = 10
"""Missing files below which their memories are forgotten whatever their share."""
_STEP = 200
"""Files whose changes are stored in one transaction."""
_log = logging.getLogger(__name__)


class VaultFileImporter:
    """Applies edited files to memory. Call with the vault's lock held."""

    def __init__(self, deps: VaultDeps) -> None:
        self._deps = deps

    def run(
        self,
        paths: Sequence[str] | None = None,
        *,
        accept: bool = False,
        cause: FileChangeCause | None = None,
    ) -> VaultSyncReport:
        """Apply the changes of files; return the counts.

        ``paths``: look at these files (None: at all). ``accept``: forget the memories of missing
        files, however many are missing.
        """
        run = FileImportRun(self._deps, cause or FileChangeCause())
        if not self._deps.is_there:
            return run.report
        self._deps.make_folder()
        state = self._deps.state
        stats = self._list_files(run, paths)
        if paths is None:
            rows = {path_key(row.path): row for row in state.all_rows() if row.path}
        else:
            rows = state.find_paths(paths)
        reader = ChangedFileReader(run, rows)
        reader.read(stats)
        missing = self._find_missing(run, rows, stats, reader.changed)
        files = FileMatcher(run, missing).match(reader.changed)
        state.put(reader.touched)
        matched = {(file.row.owner, file.row.id) for file in files if file.row}
        self._apply(run, files)
        self._forget_missing(
            run, [row for row in missing if (row.owner, row.id) not in matched], accept
        )
        known_problems = state.problems()
        for path, problem in run.report.problems.items():
            if known_problems.get(path) != problem:
                _log.warning("vault: %s: %s.", path, problem)
        state.report_problems(run.report.problems, paths)
        return run.report

    def _list_files(self, run: FileImportRun, paths: Sequence[str] | None) -> dict[str, FileStat]:
        disk = self._deps.disk
        if paths is not None:
            return {path: stat for path in paths if (stat := disk.stat(path)) is not None}
        unusable: list[str] = []
        stats = {
            path: stat
            for top in (ENTRIES, DELETED)
            for path, stat in disk.walk(top, unusable=unusable)
        }
        for path in unusable:
            run.add_problem(
                path,
                "it is left out: it is no plain file, or its name is not UTF-8 or holds `:` or"
                " `\\`. Rename it",
            )
        return stats

    def _find_missing(
        self,
        run: FileImportRun,
        rows: Mapping[str, FileStateRow],
        stats: Mapping[str, FileStat],
        changed: Sequence[ChangedVaultFile],
    ) -> list[FileStateRow]:
        """Find the memories whose file is not, or no more, at its path."""
        present_keys = {path_key(path) for path in stats}
        replaced_paths = {file.path for file in changed if file.row is None}
        suspects = [
            row
            for key, row in rows.items()
            if key not in present_keys or row.path in replaced_paths
        ]
        return find_missing(run, suspects, changed)

    # ----------------------------------------------------------------------------------------------
    # changed files

    def _apply(self, run: FileImportRun, files: Sequence[ChangedVaultFile]) -> None:
        """Store the changes of files, owner by owner."""
        by_path = {}
        # New memories are added in the order of their times, which later ones build on.
        for file in sorted(files, key=_age_key):
            if file.row is None and not run.has_scope(file):
                run.add_problem(file.path, NO_SCOPE)
            else:
                by_path[file.path] = file
        paths_by_owner = group_by_owner(
            (file.row.owner if file.row else run.find_scope(file).owner, path)
            for path, file in by_path.items()
        )
        for owner, paths in paths_by_owner.items():
            for start in range(0, len(paths), _STEP):
                step = [by_path[path] for path in paths[start : start + _STEP]]
                self._apply_step(run, owner, step)

    def _apply_step(
        self, run: FileImportRun, owner: Scope, files: Sequence[ChangedVaultFile]
    ) -> None:
        """Store the changes of many files at once; where that fails, one by one."""
        edits = FileEditBuilder(run, owner).build(files)
        combinable, separate = split_overlapping(edits)
        try:
            for exact in (True, False):
                self._store(run, owner, [edit for edit in combinable if edit.exact is exact])
        except EngramsError as problem:
            if len(edits) == 1:
                run.add_problem(edits[0].file.path, problem.message)
                return
            for edit in edits:
                self._apply_step(run, owner, [edit.file])
            return
        for edit in separate:
            self._apply_step(run, owner, [edit.file])

    def _store(self, run: FileImportRun, owner: Scope, edits: Sequence[FileEditEffects]) -> None:
        """Store the changes of files in one transaction, then note the files as synchronised.

        A crash in between does no harm: the files are compared with their memories again.
        """
        if not edits:
            return
        existing = self._commit(run, owner, edits)
        stored = []
        for edit in edits:
            record = edit.new_record
            if record is not None and record.id in existing:
                run.add_problem(
                    edit.file.path,
                    f"its external id {record.external_id} is that of {existing[record.id]}",
                )
            else:
                stored.append(edit)
        notes = [(edit.file.path, _make_edit_note(edit, run.cause)) for edit in stored]
        notes += [
            (edit.file.row.path, _make_edit_note(edit, run.cause))
            for edit in stored
            if edit.file.row and edit.file.row.path not in ("", edit.file.path)
        ]
        rows = [self._make_row(owner, edit) for edit in stored]
        state = self._deps.state
        with state.transaction():
            state.put(rows)
            state.touch(notes)
        for edit in stored:
            _count_edit(run.report, edit)

    def _commit(
        self, run: FileImportRun, owner: Scope, edits: Sequence[FileEditEffects]
    ) -> Mapping[str, str]:
        """Write the changes to the store.

        Returns the ids of new memories that were there under another id, which has their external
        id, with that other id.
        """
        deps = self._deps
        puts = tuple(
            NewRecord(edit.new_record, vector=edit.vectors[0] if edit.vectors else None)
            for edit in edits
            if edit.new_record
        )
        changes = [edit.change for edit in edits if edit.change and edit.change.fields]
        changes += [ripple for edit in edits for ripple in edit.ripples]
        new_edges = tuple(edge for edit in edits for edge in edit.new_edges)
        old_edges = tuple(edge for edit in edits for edge in edit.old_edges)
        if not (puts or changes or new_edges or old_edges):
            return {}
        learned = [edit.new_record for edit in edits if edit.new_record and edit.outcome == "add"]
        learned += [edit.relearn for edit in edits if edit.relearn]
        jobs = deps.callbacks.find_jobs(learned)
        lacks_vector = any(put.vector is None for put in puts) or any(
            "text" in change.fields for change in changes
        )
        if deps.callbacks.embed and lacks_vector:
            jobs = (*jobs, deps.callbacks.embed)
        # Where the files already hold exactly this, the plain store writes none of them again.
        needs_no_file = run.cause.quiet and all(edit.exact for edit in edits)
        store = deps.plain_store if needs_no_file else deps.store
        batch = WriteBatch(
            actor=run.cause.actor,
            reason=run.cause.reason,
            at=deps.clock(),
            puts=puts,
            changes=tuple(changes),
            vectors=tuple(
                (owner, vector) for edit in edits if not edit.new_record for vector in edit.vectors
            ),
            edges=new_edges,
            unlink=old_edges,
            jobs=jobs,
        )
        return store.commit(batch).existing

    def _make_row(self, owner: Scope, edit: FileEditEffects) -> FileStateRow:
        """Make the state of a file that its memory agrees with."""
        file = edit.file
        scope = edit.new_record.scope if edit.new_record else None
        if edit.change is not None:
            scope = edit.change.fields.get("scope") or edit.scope
        return FileStateRow(
            owner=owner,
            id=edit.record_id,
            path=file.path,
            scope=scope or owner,
            hash=file.hash,
            version=edit.version,
            links=to_link_rows(file.content.links, file.path, owner, self._deps.state),
            stat=file.stat,
            looked_at=time.time_ns(),
        )

    # ----------------------------------------------------------------------------------------------
    # missing files

    def _forget_missing(
        self, run: FileImportRun, rows: Sequence[FileStateRow], accept: bool
    ) -> None:
        """Forget memories without files, unless too many files went at once.

        So many are hardly removed on purpose: a folder may not be mounted.
        """
        state = self._deps.state
        tombstones = [row for row in rows if row.path.startswith(f"{DELETED}/")]
        total = state.count()
        state.put(replace(row, path="", hash="", next_path="", next_hash="") for row in tombstones)
        live = [row for row in rows if not row.path.startswith(f"{DELETED}/")]
        max_missing = self._deps.settings.max_missing_share * total
        if len(live) >= _MANY_MISSING and len(live) > max_missing and not accept:
            run.report.gone = len(live)
            run.add_problem(
                ENTRIES,
                f"{len(live)} of {total} files are gone: put them back, or let `engrams sync"
                " --accept` forget those memories",
            )
            return
        reason = run.cause.reason
        if reason == BY_HAND:
            reason = "its file was removed by hand"
        rows_by_name = {(row.owner, row.id): row for row in live}
        for owner, record_ids in group_by_owner(rows_by_name).items():
            for start in range(0, len(record_ids), _STEP):
                step = record_ids[start : start + _STEP]
                step_rows = {record_id: rows_by_name[owner, record_id] for record_id in step}
                self._forget_step(run, owner, step_rows, reason)

    def _forget_step(
        self,
        run: FileImportRun,
        owner: Scope,
        rows: Mapping[str, FileStateRow],
        reason: str,
    ) -> None:
        """Forget the memories of missing files; their tombstones get files in ``deleted``."""
        deps = self._deps
        records = deps.store.get(owner, list(rows))
        remembered = [
            record for record in records if record.status not in (Status.FORGOTTEN, Status.PURGED)
        ]
        deps.callbacks.forget(remembered, run.cause.actor, reason)
        run.report.forgotten += len(remembered)
        new_rows = []
        notes = []
        for record in records:
            row = rows[record.id]
            below_top = row.path[row.path.index("/") :]
            new_rows.append(replace(row, path="", next_path=DELETED + below_top, next_hash=""))
            notes.append((row.path, make_change_note("forget", record, reason, run.cause.actor)))
        with deps.state.transaction():
            deps.state.put(new_rows)
            deps.state.touch(notes)


def _age_key(file: ChangedVaultFile) -> tuple[float, bool, str]:
    """Sort key of files: by time, and texts before the facts that quote them."""
    fields = file.content.fields
    if fields.get("recorded_at"):
        seconds = fields["recorded_at"].timestamp()
    else:
        seconds = file.stat.mtime / 1e9
    return seconds, bool(fields.get("evidence")), file.content.id


def _make_edit_note(edit: FileEditEffects, cause: FileChangeCause) -> Json:
    return {
        "does": "edit" if edit.outcome == "none" else edit.outcome,
        "id": edit.record_id,
        "why": cause.reason,
        "actor": cause.actor,
        "session": edit.new_record.session if edit.new_record else "",
    }


def _count_edit(report: VaultSyncReport, edit: FileEditEffects) -> None:
    match edit.outcome:
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
        case "none":
            pass
