"""Work out what an edited or new file changes in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engrams.core import STATEMENT_KINDS, Edge, EdgeType, Record, Scope, Status, Vector
from engrams.core.turns import to_role
from engrams.errors import EngramsError, InputError
from engrams.ports import RecordChange
from engrams.vault.files import file_parser, record_markdown
from engrams.vault.files.changes import (
    BY_HAND,
    ChangedVaultFile,
    FileEditEffects,
    Outcome,
)
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.import_run import FileImportRun
from engrams.vault.files.record_links import resolve_links, to_link_rows
from engrams.vault.files.vault_paths import is_away
from engrams.vault.history import three_way_merge
from engrams.vault.history.three_way_merge import ThreeWayMergeResult


class FileEditBuilder:
    """Builds the effects of files on the memories of one owner."""

    def __init__(self, run: FileImportRun, owner: Scope) -> None:
        self._run = run
        self._deps = run.deps
        self._owner = owner

    def build(self, files: Sequence[ChangedVaultFile]) -> list[FileEditEffects]:
        """Build the effects of each file; a file that fits no memory becomes a problem."""
        record_ids = [file.row.id if file.row else file_parser.name_memory(file) for file in files]
        records = {record.id: record for record in self._deps.store.get(self._owner, record_ids)}
        edits = []
        for file, record_id in zip(files, record_ids, strict=True):
            record = records.get(record_id)
            try:
                edit = (
                    self._build_addition(file) if record is None else self._build_edit(file, record)
                )
            except EngramsError as problem:
                self._run.add_problem(file.path, problem.message)
            except FrontMatterError as problem:
                self._run.add_problem(file.path, str(problem))
            else:
                edits.append(edit)
        return edits

    def _build_edit(self, file: ChangedVaultFile, record: Record) -> FileEditEffects:
        """Merge a file and its memory with their last common version."""
        cause = self._run.cause
        if record.status is Status.PURGED:
            raise InputError(
                "its memory was purged; remove the file, or its line `id:` to make it a new memory"
            )
        if file.row is None and not file.content.id:
            # It was taken in before a crash, and not written since.
            unchanged = RecordChange(self._owner, record.id, {}, "move")
            return FileEditEffects(
                file, "none", change=unchanged, version=record.version, scope=record.scope
            )
        merged = self._merge(file, record)
        values: dict[str, Any] = dict(merged.fields)
        vectors: tuple[Vector, ...] = ()
        if values:
            values, vectors = self._deps.callbacks.prepare(record, values)
        if merged.lost:
            self._keep_lost(file, record, merged)
            self._run.report.conflicts += 1
        new_edges, old_edges = self._diff_links(file, record)
        outcome = _choose_outcome(file, record, values, has_links=bool(new_edges or old_edges))
        action = outcome if outcome in ("forget", "restore") else cause.action
        edit = FileEditEffects(
            file=file,
            outcome=outcome,
            change=RecordChange(
                owner=record.scope.owner,
                id=record.id,
                fields=values,
                action=action,
                expect=record.version,
            ),
            vectors=vectors,
            new_edges=new_edges,
            old_edges=old_edges,
            version=record.version + bool(values),
            scope=record.scope,
        )
        if values and not cause.quiet:
            edit.ripples = self._deps.callbacks.find_ripples(record, values)
        if cause.reason == BY_HAND and "text" in values and record.status is Status.ACTIVE:
            edit.relearn = replace(record, text=values["text"])
        elif outcome == "restore" and record.kind in STATEMENT_KINDS:
            edit.relearn = record
        return edit

    def _merge(self, file: ChangedVaultFile, record: Record) -> ThreeWayMergeResult:
        """Merge the file's fields and the memory's, from the version that they had in common."""
        if file.row is not None:
            version = file.row.version
        else:
            version = int(file.content.fields.get("version", 1))
        base = record
        if version < record.version:
            history = self._deps.store.history(self._owner, record.id)
            base = three_way_merge.record_at_version(record, history, version) or record
        theirs = file_parser.parse_edit(file, base, self._run.list_scopes(), self._deps.clock())
        if damage := _find_torn(file.data, base.text, theirs.text):
            raise InputError(damage)
        if theirs.role not in ("", base.role):
            theirs = replace(theirs, role=to_role(theirs.role))
        return three_way_merge.merge(base, record, theirs)

    def _keep_lost(
        self, file: ChangedVaultFile, record: Record, merged: ThreeWayMergeResult
    ) -> None:
        """Keep aside the memory's texts that the hand's texts replace."""
        if not any(name in merged.lost for name in ("text", "caption", "summary")):
            return
        rendered = record_markdown.render_entry(record, (), decode_text(file.data))
        self._deps.keep_aside(
            file.path,
            rendered.encode("utf-8", "replace"),
            f"{record.id} was changed in memory and by hand at once: the text by hand"
            " stays in the file; this was the text in memory",
        )

    def _build_addition(self, file: ChangedVaultFile) -> FileEditEffects:
        """Build the memory that a file without one is about."""
        fields = file.content.fields
        has_id = bool(file.content.id)
        record = file_parser.parse_new(file, self._run.find_scope(file), self._deps.clock())
        texts = {name: value for name in ("text", "caption") if (value := getattr(record, name))}
        values, vectors = self._deps.callbacks.prepare(record, dict(texts))
        is_complete = has_id and {"kind", "scope", "recorded_at"} <= fields.keys()
        record = replace(record, **values)
        links = resolve_links(file.content.links, file.path, self._owner, self._deps.state)
        return FileEditEffects(
            file=file,
            outcome="restore" if has_id else "add",
            new_record=record,
            vectors=vectors,
            new_edges=tuple(
                Edge(
                    owner=self._owner,
                    source=record.id,
                    target=link.target,
                    type=link.type,
                    weight=link.weight,
                    count=link.count,
                )
                for link in links
            ),
            version=record.version,
            exact=is_complete and texts == values,
        )

    def _diff_links(
        self, file: ChangedVaultFile, record: Record
    ) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Find the edges to add and to remove.

        Only a link that the file had at the last synchronisation is removed: any other one may have
        been added in memory since.
        """
        file_links = {
            (kind, target): (weight, count)
            for kind, target, weight, count in to_link_rows(
                file.content.links, file.path, self._owner, self._deps.state
            )
        }
        synced_links = {
            (kind, target): (weight, count)
            for kind, target, weight, count in (file.row.links if file.row else ())
        }
        edges = {
            (str(edge.type), edge.target): edge
            for edge in self._deps.store.edges(self._owner, [record.id])
            if edge.source == record.id
        }
        changed = [
            name
            for name, value in file_links.items()
            if value != synced_links.get(name)
            and (name not in edges or value != (edges[name].weight, edges[name].count))
        ]
        new_edges = tuple(
            Edge(self._owner, record.id, target, EdgeType(kind), *file_links[kind, target])
            for kind, target in changed
        )
        removed = [name for name in synced_links if name not in file_links and name in edges]
        # An edge that is added again counts up: one whose count was set is taken away first.
        replaced = [name for name in changed if name in edges]
        return new_edges, tuple(edges[name] for name in (*removed, *replaced))


def _find_torn(data: bytes, text: str, new_text: str) -> str:
    """Say how a write that was torn damaged a file; empty: it looks as a person left it.

    Files end with a line break, whoever writes them. One without, whose text is the beginning of
    what it was, was cut off; one that holds all it was twice was written twice.
    """
    if not data.endswith(b"\n") and text != new_text and text.startswith(new_text):
        return (
            "it was cut off; end it with a line break if you shortened it, or remove it and run"
            " `engrams reindex --files` to have it written anew"
        )
    middle, is_odd = divmod(len(data), 2)
    if not is_odd and data[:middle] == data[middle:]:
        return "it holds everything twice; remove one half"
    return ""


def _choose_outcome(
    file: ChangedVaultFile, record: Record, values: Mapping[str, Any], *, has_links: bool
) -> Outcome:
    """Name what an edit does to a memory, for the report and the history."""
    if values.get("status") is Status.FORGOTTEN:
        return "forget"
    if is_away(record) and "status" in values:
        return "restore"
    if values or has_links:
        return "change"
    return "move" if file.row is None or file.row.path != file.path else "none"
