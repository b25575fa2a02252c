"""Files to memories: what a hand wrote, changed, moved or removed flows in, each with its own entry in the history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engrams.errors import EngramsError, InputError
from engrams.ports import Batch, Change, Put
from engrams.types import Edge, EdgeType, Record, Scope, Status
from engrams.vault import entry, parse, threeway
from engrams.vault.disk import Stat, digest
from engrams.vault.entry import Entry
from engrams.vault.frontmatter import FrontError
from engrams.vault.links import resolved
from engrams.vault.parts import Parts, Report, by_owner, decoded, note, now_ns
from engrams.vault.path import DELETED, ENTRIES, FOLDERS, is_away, key, place_of, scope_of
from engrams.vault.scan import BY_HAND, Cause, Edit, Found
from engrams.vault.state import Row

_RACY = 2_000_000_000
_LARGEST = 32 << 20
_AT_LEAST = 10
_STEP = 200
_WHOSE = "it does not say whose memory it is: a line `scope:` is missing"


def _age(item: Found) -> tuple[float, bool, str]:
    """What was learned from a text has the text's time, and came after it."""
    told = item.entry.fields
    at = told["recorded_at"].timestamp() if told.get("recorded_at") else item.stat.mtime / 1e9
    return at, bool(told.get("evidence")), item.entry.id


class Intake:
    """Call with the vault's lock held."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._report = Report()
        self._known: tuple[Scope, ...] = ()

    def run(self, paths: Sequence[str] | None = None, accept: bool = False, cause: Cause | None = None) -> Report:
        """Take in what changed below the vault, or at these paths alone. ``accept``: however many files are gone."""
        self._report = Report()
        if not self._parts.there:
            return self._report
        self._parts.begin()
        cause = cause or Cause()
        self._known = ()
        seen = self._seen(paths)
        rows = {key(row.path): row for row in self._parts.state.every() if row.path} if paths is None else self._parts.state.paths(paths)
        found, same = self._read(seen, rows)
        present, foreign = {key(path) for path in seen}, {item.path for item in found if item.row is None}
        missing = self._missing([row for name, row in rows.items() if name not in present or row.path in foreign], found)
        found = self._identified(found, missing)
        kept = {(row.owner, row.id) for row in missing} - {(item.row.owner, item.row.id) for item in found if item.row}
        gone = [row for row in missing if (row.owner, row.id) in kept]
        self._parts.state.put(same)
        self._apply(found, cause)
        self._forget(gone, self._parts.state.count(), accept, cause)
        self._parts.state.report(self._report.problems, None if paths is None else paths)
        return self._report

    # ----------------------------------------------------------------------------------------------------- looking

    def _seen(self, paths: Sequence[str] | None) -> dict[str, Stat]:
        if paths is None:
            odd: list[str] = []
            seen = {path: stat for top in (ENTRIES, DELETED) for path, stat in self._parts.disk.walk(top, odd=odd)}
            for path in odd:
                self._problem(path, "its name is not UTF-8: rename it")
            return seen
        return {path: stat for path in paths if (stat := self._parts.disk.stat(path)) is not None}

    def _read(self, seen: Mapping[str, Stat], rows: Mapping[str, Row]) -> tuple[list[Found], list[Row]]:
        """Files whose content is news, and rows of those that were only touched."""
        found: list[Found] = []
        same: list[Row] = []
        now = now_ns()
        first: dict[str, str] = {name: row.path for name, row in rows.items()}
        for path, stat in seen.items():
            row, other = rows.get(key(path)), first.setdefault(key(path), path)
            if other != path and (other in seen or self._parts.disk.stat(other)) and not self._parts.disk.same(other, path):
                self._problem(path, f"its name differs from that of {other} only in case or Unicode form: give it another")
                continue
            if row is not None and row.path == path and row.stat == stat and stat.mtime < row.seen - _RACY:
                continue
            data = self._parts.disk.read(path) if stat.size <= _LARGEST else None
            if data is None:
                if stat.size > _LARGEST:
                    self._problem(path, f"it has {stat.size:,} bytes, more than a memory may have")
                continue
            found_hash = digest(data)
            if row is not None and row.path == path and found_hash == row.hash:
                same.append(replace(row, stat=stat, seen=now))
                continue
            place = place_of(path)
            if place is None:
                self._problem(path, f"no memory belongs in this folder; the folders are {', '.join(FOLDERS)}")
                continue
            try:
                told = entry.read(decoded(data))
            except FrontError as problem:
                self._problem(path, str(problem))
                continue
            if row is not None and (path, found_hash) == (row.next_path, row.next_hash):
                # Our own work, which something stopped before it was noted as done.
                version, links = int(told.fields.get("version", 1)), tuple(self._told(path, told, row.owner))
                same.append(replace(row, path=path, hash=found_hash, version=version, links=links, stat=stat, seen=now))
                continue
            mine = row if row is not None and (not told.id or row.id == told.id) else None
            found.append(Found(path, stat, found_hash, told, place, mine, data))
        return found, same

    def _missing(self, rows: Sequence[Row], found: Sequence[Found]) -> list[Row]:
        """Rows whose file is gone; not those whose file we were moving ourselves when something stopped us."""
        moving = {(item.path, item.hash) for item in found}
        taken = {item.path for item in found if item.row is None}
        lost = (row for row in rows if row.path in taken or self._parts.disk.stat(row.path) is None)
        return [row for row in lost if (row.next_path, row.next_hash) not in moving]

    def _identified(self, found: Sequence[Found], missing: Sequence[Row]) -> list[Found]:
        """Each file with the memory it is; two files of one memory are a problem, and only the first counts."""
        lost = {(row.owner, row.id): row for row in missing}
        kept: list[Found] = []
        for item in found:
            if item.row is None and item.entry.id:
                owner = self._scope(item).owner if self._scope_known(item) else None
                if owner is None:
                    self._problem(item.path, _WHOSE)
                    continue
                row = lost.get((owner, item.entry.id)) or self._parts.state.get(owner, [item.entry.id]).get(item.entry.id)
                if row is not None and (item.path, item.hash) == (row.next_path, row.next_hash):
                    continue
                if row is not None and row.path and (owner, item.entry.id) not in lost and not self._returned(item, row):
                    self._problem(item.path, f"its id is that of {row.path}: remove the line `id:` to make it a memory of its own")
                    continue
                item.row = row
                lost.pop((owner, item.entry.id), None)
            elif not item.entry.id and item.row is None and not self._parts.settings.adopt_new_files:
                self._problem(item.path, "it has no id")
                continue
            kept.append(item)
        return kept

    def _returned(self, item: Found, row: Row) -> bool:
        """Whether a file came back whose memory was put away, as when a removal is undone: its tombstone makes room."""
        disk = self._parts.disk
        if item.place.deleted or not row.path.startswith(f"{DELETED}/") or digest(disk.read(row.path) or b"") != row.hash:
            return False
        disk.remove(row.path)
        return True

    # ----------------------------------------------------------------------------------------------------- changing

    def _apply(self, found: Sequence[Found], cause: Cause) -> None:
        by_path = {}
        # Memories that come anew come in the order in which they were first known: it tells what was said before what.
        for item in sorted(found, key=_age):
            if item.row is None and not self._scope_known(item):
                self._problem(item.path, _WHOSE)
            else:
                by_path[item.path] = item
        owners = by_owner((item.row.owner if item.row else self._scope(item).owner, path) for path, item in by_path.items())
        for owner, paths in owners.items():
            for start in range(0, len(paths), _STEP):
                self._step(owner, [by_path[path] for path in paths[start : start + _STEP]], cause)

    def _step(self, owner: Scope, items: Sequence[Found], cause: Cause) -> None:
        """One commit for many files; where that fails, one for each."""
        edits = self._edits(owner, items, cause)
        try:
            for exact in (True, False):
                self._commit(owner, [edit for edit in edits if edit.exact is exact], cause)
        except EngramsError as problem:
            if len(edits) == 1:
                self._problem(edits[0].found.path, problem.message)
                return
            for item in items:
                if item.path in {edit.found.path for edit in edits}:
                    self._step(owner, [item], cause)

    def _edits(self, owner: Scope, items: Sequence[Found], cause: Cause) -> list[Edit]:
        ids = [item.row.id if item.row else item.entry.id for item in items]
        known = {record.id: record for record in self._parts.store.get(owner, [*filter(None, ids)])}
        edits = []
        for item, name in zip(items, ids, strict=True):
            try:
                ours = known.get(name)
                edit = self._edit(item, ours, cause) if ours is not None else self._new(item, owner)
            except (EngramsError, FrontError) as problem:
                self._problem(item.path, problem.message if isinstance(problem, EngramsError) else str(problem))
                continue
            edits.append(edit)
        return edits

    def _commit(self, owner: Scope, edits: Sequence[Edit], cause: Cause) -> None:
        if not edits:
            return
        parts = self._parts
        puts = tuple(Put(edit.put, vector=edit.vectors[0] if edit.vectors else None) for edit in edits if edit.put)
        changes = tuple(edit.change for edit in edits if edit.change and edit.change.fields)
        vectors = tuple((owner, vector) for edit in edits if not edit.put for vector in edit.vectors)
        add, drop = (tuple(edge for edit in edits for edge in getattr(edit, name)) for name in ("add", "drop"))
        mine = {edit.change.id for edit in edits if edit.change}
        changes += tuple({ripple.id: ripple for edit in edits for ripple in edit.ripples if ripple.id not in mine}.values())
        written = [edit.put for edit in edits if edit.put and edit.does == "add"]
        jobs = parts.rules.follow([*written, *(edit.said for edit in edits if edit.said)])
        if parts.rules.embed and (any(put.vector is None for put in puts) or any("text" in change.fields for change in changes)):
            jobs = (*jobs, parts.rules.embed)
        store = parts.plain if cause.quiet and all(edit.exact for edit in edits) else parts.store
        if puts or changes or add or drop:
            batch = Batch(cause.actor, cause.reason, parts.clock(), puts, changes, vectors, edges=add, unlink=drop, jobs=jobs)
            existing = store.commit(batch).existing
        else:
            existing = {}
        for edit in edits:
            if edit.put and edit.put.id in existing:
                self._problem(edit.found.path, f"its external id {edit.put.external_id} is that of {existing[edit.put.id]}")
        done = [edit for edit in edits if not (edit.put and edit.put.id in existing)]
        moved = [(edit.found.row.path, edit) for edit in done if edit.found.row and edit.found.row.path not in ("", edit.found.path)]
        rows = [self._row(owner, edit) for edit in done]
        with parts.state.change():
            parts.state.put(rows)
            parts.state.touch((edit.found.path, self._note(edit, cause)) for edit in done)
            parts.state.touch((path, self._note(edit, cause)) for path, edit in moved)
        for edit in done:
            self._count(edit)

    def _edit(self, item: Found, ours: Record, cause: Cause) -> Edit:
        """Three ways into one: the file, the memory, and what both were when they were last alike."""
        if ours.status is Status.PURGED:
            raise InputError("its memory was purged; remove the file, or its line `id:` to make it a new memory")
        row = item.row
        version = row.version if row is not None else int(item.entry.fields.get("version", ours.version))
        history = self._parts.store.history(ours.scope.owner, ours.id) if version < ours.version else ()
        base = (threeway.before(ours, history, version) if version < ours.version else ours) or ours
        theirs = parse.told(item, base, self._scopes(), self._parts.clock())
        merged = threeway.merge(base, ours, theirs)
        values: dict[str, Any] = dict(merged.fields)
        values, vectors = self._parts.rules.prepare(ours, values) if values else (values, ())
        if merged.lost:
            if any(name in merged.lost for name in ("text", "caption", "summary")):
                old = entry.render(ours, (), decoded(item.data))
                told = f"{ours.id} was changed in memory and by hand at once: the hand's words hold, these were memory's"
                self._parts.keep(item.path, old.encode("utf-8", "replace"), told)
            self._report.conflicts += 1
        add, drop = self._linked(item, ours, base if row is None else None)
        does = "change"
        if values.get("status") is Status.FORGOTTEN:
            does = "forget"
        elif is_away(ours) and "status" in values:
            does = "restore"
        elif not values and not add and not drop:
            does = "move" if row is None or row.path != item.path else "none"
        action = does if does in ("forget", "restore") else cause.action
        change = Change(ours.scope.owner, ours.id, values, action, ours.version)
        edit = Edit(item, None, change, vectors, add, drop, does, ours.version + bool(values), ours.scope)
        if values and not cause.quiet:
            edit.ripples = self._parts.rules.ripple(ours, values)
        if values and cause.reason == BY_HAND:
            edit.said = replace(ours, text=values["text"]) if "text" in values and ours.status is Status.ACTIVE else None
        return edit

    def _new(self, item: Found, owner: Scope) -> Edit:
        """A memory that a hand wrote, or one that the store has lost and the file still holds."""
        given, own = item.entry.fields, bool(item.entry.id)
        record = parse.written(item, self._scope(item), self._parts.clock())
        parts = {part: value for part in ("text", "caption") if (value := getattr(record, part))}
        values, vectors = self._parts.rules.prepare(record, dict(parts))
        exact = own and {"kind", "scope", "recorded_at"} <= given.keys() and parts == values
        record = replace(record, **values)
        links = resolved(item.entry, item.path, owner, self._parts.state)
        add = tuple(Edge(owner, record.id, link.target, link.type, link.weight, link.count) for link in links)
        return Edit(item, record, None, vectors, add, (), "restore" if own else "add", record.version, exact=exact)

    def _linked(self, item: Found, ours: Record, alone: Record | None) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Edges that the hand added and took away. ``alone``: nothing is known of how they were; nothing is taken away."""
        owner = ours.scope.owner
        told = {(kind, target): (weight, count) for kind, target, weight, count in self._told(item.path, item.entry, owner)}
        were = {(kind, target): (weight, count) for kind, target, weight, count in (item.row.links if item.row else ())}
        held = {(str(edge.type), edge.target): edge for edge in self._parts.store.edges(owner, [ours.id]) if edge.source == ours.id}
        now = {name: (edge.weight, edge.count) for name, edge in held.items()}
        fresh = [name for name, value in told.items() if value != were.get(name) and value != now.get(name)]
        add = tuple(Edge(owner, ours.id, target, EdgeType(kind), *told[kind, target]) for kind, target in fresh)
        gone = [] if alone is not None else [name for name in were if name not in told and name in held]
        # An edge that is added again counts up: one whose count was set is taken away first.
        return add, tuple(held[name] for name in [*gone, *(name for name in fresh if name in held)])

    def _forget(self, rows: Sequence[Row], total: int, accept: bool, cause: Cause) -> None:
        """Files that are gone: their memories are put away, unless so many went at once that it may be a mistake."""
        parts = self._parts
        live = [row for row in rows if not row.path.startswith(f"{DELETED}/")]
        parts.state.put(replace(row, path="", hash="", next_path="", next_hash="") for row in rows if row.path.startswith(f"{DELETED}/"))
        if len(live) >= _AT_LEAST and len(live) > parts.settings.max_missing_share * total and not accept:
            self._report.gone = len(live)
            told = f"{len(live)} of {total} files are gone: put them back, or let `engrams sync --accept` forget those memories"
            self._problem(ENTRIES, told)
            return
        rows_by_id = {(row.owner, row.id): row for row in live}
        cause = replace(cause, reason="its file was removed by hand") if cause.reason == BY_HAND else cause
        for owner, ids in by_owner(rows_by_id).items():
            for start in range(0, len(ids), _STEP):
                records = parts.store.get(owner, ids[start : start + _STEP])
                self._tombs(owner, [record for record in records if record.status not in (Status.FORGOTTEN, Status.PURGED)], cause)
                some = [rows_by_id[owner, record.id] for record in records]
                notes = [(rows_by_id[owner, record.id].path, note("forget", record, cause.reason, cause.actor)) for record in records]
                with parts.state.change():
                    parts.state.put(
                        replace(row, path="", next_path=DELETED + row.path[row.path.index("/") :], next_hash="") for row in some
                    )
                    parts.state.touch(notes)

    def _tombs(self, owner: Scope, records: Sequence[Record], cause: Cause) -> None:
        if not records:
            return
        at = self._parts.clock()
        fields = ({"status": Status.FORGOTTEN, "retired_at": at, "meta": {**record.meta, "was": str(record.status)}} for record in records)
        changes = {record.id: Change(owner, record.id, values, "forget") for record, values in zip(records, fields, strict=True)}
        for record in records:
            for ripple in self._parts.rules.ripple(record, changes[record.id].fields):
                changes.setdefault(ripple.id, ripple)
        self._parts.store.commit(Batch(cause.actor, cause.reason, at, changes=tuple(changes.values())))
        self._report.forgotten += len(records)

    # ----------------------------------------------------------------------------------------------------- the rest

    def _row(self, owner: Scope, edit: Edit) -> Row:
        item, scope = edit.found, edit.put.scope if edit.put else None
        if edit.change is not None:
            scope = edit.change.fields.get("scope") or edit.scope
        name = edit.put.id if edit.put else edit.change.id if edit.change else ""
        links = tuple(self._told(item.path, item.entry, owner))
        return Row(owner, name, item.path, scope or owner, item.hash, edit.version, links, item.stat, now_ns())

    def _told(self, path: str, told: Entry, owner: Scope) -> list[tuple[str, str, float, int]]:
        found = resolved(told, path, owner, self._parts.state)
        return [(str(link.type), link.target, link.weight, link.count) for link in found]

    def _note(self, edit: Edit, cause: Cause) -> Any:
        record = edit.put
        name = record.id if record else edit.change.id if edit.change else ""
        does = "edit" if edit.does == "none" else edit.does
        return {"does": does, "id": name, "why": cause.reason, "actor": cause.actor, "session": record.session if record else ""}

    def _count(self, edit: Edit) -> None:
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

    def _scope_known(self, item: Found) -> bool:
        return "scope" in item.entry.fields or scope_of(item.place.scope, self._scopes()) is not None

    def _scope(self, item: Found) -> Scope:
        told = item.entry.fields.get("scope") or scope_of(item.place.scope, self._scopes())
        assert isinstance(told, Scope)
        return told

    def _scopes(self) -> Collection[Scope]:
        if not self._known:
            self._known = tuple(sorted({*self._parts.store.scopes(None), *(row.scope for row in self._parts.state.every())}))
        return self._known

    def _problem(self, path: str, told: str) -> None:
        self._report.problems[path] = told
