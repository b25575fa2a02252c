"""Memories to files. What is about to be written is noted first, so that after a crash our own work is told from a hand's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.types import Edge, EdgeType, Json, Record, Scope, Status
from engrams.vault import entry
from engrams.vault.disk import File, digest
from engrams.vault.entry import Link
from engrams.vault.frontmatter import FrontError
from engrams.vault.links import loose as loose_links
from engrams.vault.parts import Parts, decoded, note, now_ns
from engrams.vault.path import fresh, key, moved, relative
from engrams.vault.state import Row
from engrams.vault.storewrapper import PIECE


@dataclass(slots=True)
class _Plan:
    """One file to be written."""

    record: Record
    row: Row | None
    path: str
    old: bytes | None = None
    old_path: str = ""
    data: bytes = b""
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """``blocked``: ids whose file somebody changed or removed meanwhile. ``neighbours``: ids whose links name a file that moved."""

    count: int = 0
    blocked: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ()


class Writer:
    """Call with the vault's lock held."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def write(self, owner: Scope, records: Sequence[Record], notes: Mapping[str, Json], force: bool = False) -> Written:
        """Bring the files of these memories up to date. ``force``: what stands in the way of ours is put into ``conflicts``."""
        parts = self._parts
        parts.begin()
        rows = parts.state.get(owner, [record.id for record in records])
        plans: list[_Plan] = []
        blocked: list[str] = []
        for record in records:
            row = rows.get(record.id)
            if record.status is Status.PURGED:
                self._erase(owner, record.id, row)
            elif PIECE not in record.meta:
                plan = self._plan(record, row, force, {key(other.path) for other in plans})
                (plans if plan is not None else blocked).append(plan if plan is not None else record.id)  # type: ignore[arg-type]
        for plan in plans:
            self._leftover(plan)
        self._fill(owner, plans)
        news = [plan for plan in plans if plan.old is None or plan.data != plan.old or plan.old_path != plan.path]
        told = [
            (path, {**note("change", plan.record), **(notes.get(plan.record.id) or {})})
            for plan in news
            for path in {plan.path, plan.old_path}
            if path
        ]
        late = self._carry_out(owner, news, told)
        parts.state.put(self._settled(owner, [plan for plan in plans if plan.record.id not in late]))
        went = [plan.record.id for plan in news if plan.old_path not in ("", plan.path)]
        return Written(len(news), (*blocked, *late), self._neighbours(owner, went))

    def _plan(self, record: Record, row: Row | None, force: bool, taken: set[str]) -> _Plan | None:
        """Where the file goes and what is there now; None where a hand's work stands in the way."""
        disk = self._parts.disk
        if row is None or not (row.path or row.next_path):
            return _Plan(record, row, self._free(record, taken))
        place = next((path for path in dict.fromkeys((row.path, row.next_path)) if path and disk.stat(path)), "")
        old = disk.read(place) if place else None
        if not place and not row.path:
            # A file that a hand removed: the tombstone keeps its name.
            return _Plan(record, row, self._target(record, row, taken))
        if old is None:
            if self._parts.truth == "files" and not force:
                return None
            return _Plan(record, row, self._target(record, row, taken))
        if digest(old) not in (row.hash, row.next_hash):
            if self._parts.truth == "files" and not force:
                return None
            self._parts.keep(place, old, "changed by hand, and memory changed too")
        return _Plan(record, row, self._target(record, replace(row, path=place), taken), old, place)

    def _leftover(self, plan: _Plan) -> None:
        """Remove our own work of before, cut short between two places, where the memory has gone another way since."""
        row, disk = plan.row, self._parts.disk
        if row is None or not row.path or not row.next_path or key(row.next_path) in (key(plan.path), key(plan.old_path)):
            return
        held = disk.read(row.next_path)
        if held is not None and digest(held) == row.next_hash:
            self._parts.state.touch([(row.next_path, note("move", plan.record))])
            disk.remove(row.next_path)

    def _target(self, record: Record, row: Row, taken: set[str]) -> str:
        """The same name as before, where that is free."""
        path = moved(row.path or row.next_path, record, row.scope)
        if path == row.path:
            return path
        known = self._parts.state.paths([path]).get(key(path))
        free = key(path) not in taken and (known is None or (known.owner, known.id) == (row.owner, row.id))
        return path if free and (path == row.next_path or self._parts.disk.stat(path) is None) else self._free(record, taken)

    def _free(self, record: Record, taken: set[str]) -> str:
        used = set(taken)
        while True:
            path = fresh(record, used)
            known = self._parts.state.paths([path])
            if not known and self._parts.disk.stat(path) is None:
                return path
            used.add(key(path))

    def _fill(self, owner: Scope, plans: Sequence[_Plan]) -> None:
        """Render each, with links to the files of what it is linked to."""
        ids = {plan.record.id: plan.path for plan in plans}
        outgoing: dict[str, list[Edge]] = {}
        for edge in self._parts.store.edges(owner, list(ids)) if ids else ():
            # Topics follow from vectors: they are found anew, and their names mean nothing to who reads the file.
            if edge.source in ids and edge.type is not EdgeType.IN_TOPIC:
                outgoing.setdefault(edge.source, []).append(edge)
        targets = {edge.target for edges in outgoing.values() for edge in edges} - ids.keys()
        paths = {id: row.path for id, row in self._parts.state.get(owner, list(targets)).items()} | ids if targets else ids
        for plan in plans:
            told = outgoing.get(plan.record.id, ())
            plan.links = tuple(entry.link(edge, relative(paths[edge.target], plan.path) if paths.get(edge.target) else "") for edge in told)
            try:
                before = decoded(plan.old) if plan.old is not None else ""
                loose = loose_links(entry.read(before), plan.path, owner, self._parts.state) if before else {}
            except FrontError:
                before, loose = "", {}
            plan.data = entry.render(plan.record, plan.links, before, loose).encode("utf-8", "replace")

    def _carry_out(self, owner: Scope, news: Sequence[_Plan], told: Sequence[tuple[str, Json]]) -> set[str]:
        """Note, for the history too, write, remove the old ones. The ids of those that a hand changed in this very moment."""
        parts = self._parts
        if not news:
            return set()
        with parts.state.change():
            parts.state.put(
                replace(plan.row or Row(owner, plan.record.id, "", plan.record.scope, ""), next_path=plan.path, next_hash=digest(plan.data))
                for plan in news
            )
            parts.state.touch(told)
        watched = parts.truth == "files"
        files = [File(plan.path, plan.data, plan.old if watched and plan.path == plan.old_path else None) for plan in news]
        late = parts.disk.write(files)
        ids: set[str] = set()
        for plan in news:
            if plan.path in late:
                parts.disk.write([File(plan.path, late[plan.path])])
                ids.add(plan.record.id)
            elif plan.old_path not in ("", plan.path):
                held = parts.disk.take(plan.old_path)
                if held is not None and held != plan.old:
                    parts.disk.write([File(plan.old_path, held)])
                    parts.disk.remove(plan.path)
                    ids.add(plan.record.id)
        return ids

    def _settled(self, owner: Scope, plans: Sequence[_Plan]) -> list[Row]:
        rows = []
        for plan in plans:
            stat = self._parts.disk.stat(plan.path)
            if stat is not None:
                links = tuple((str(link.type), link.target, link.weight, link.count) for link in plan.links)
                record = plan.record
                rows.append(Row(owner, record.id, plan.path, record.scope, digest(plan.data), record.version, links, stat, now_ns()))
        return rows

    def _erase(self, owner: Scope, id: str, row: Row | None) -> None:
        for path in {row.path, row.next_path} if row else ():
            if path:
                self._parts.state.touch([(path, {"does": "purge", "id": id})])
                self._parts.disk.remove(path)
        self._parts.state.drop(owner, [id])

    def _neighbours(self, owner: Scope, ids: Sequence[str]) -> tuple[str, ...]:
        if not ids:
            return ()
        edges = self._parts.store.edges(owner, ids)
        known = set(ids)
        return tuple(dict.fromkeys(edge.source for edge in edges if edge.target in known and edge.source not in known))
