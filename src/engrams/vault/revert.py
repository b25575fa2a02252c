"""Undo one commit of the files' history: memory by memory, keeping what has changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engrams.errors import EngramsError
from engrams.ports import Batch, Change, Put
from engrams.types import Edge, Record, Scope, Status
from engrams.vault import entry, threeway
from engrams.vault.entry import Entry
from engrams.vault.frontmatter import FrontError
from engrams.vault.git import Version
from engrams.vault.parts import Parts, decoded
from engrams.vault.path import place_of


@dataclass(slots=True)
class Reverted:
    """``changed``: ids of memories brought back. ``kept``: why the others stayed as they are, by id or path."""

    commit: str
    changed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sides:
    before: Entry | None = None
    after: Entry | None = None


def revert(parts: Parts, commit: str, versions: Sequence[Version]) -> Reverted:
    """Carry it out, with the vault's lock held."""
    done = Reverted(commit)
    sides: dict[tuple[Scope, str], _Sides] = {}
    for version in versions:
        if place_of(version.path) is None:
            _plain(parts, version, done)
            continue
        for name, data in (("before", version.before), ("after", version.after)):
            told = _entry(data)
            scope = told.fields.get("scope") if told else None
            if told is not None and isinstance(scope, Scope) and told.id:
                key = (scope.owner, told.id)
                sides[key] = replace(sides.get(key, _Sides()), **{name: told})
    for (owner, id), pair in sides.items():
        try:
            outcome = _one(parts, (owner, id), pair, f"reverted {commit[:10]}", sides.keys())
        except (EngramsError, FrontError) as problem:
            outcome = str(problem)
        if outcome:
            done.kept[id] = outcome
        else:
            done.changed.append(id)
    return done


def _one(parts: Parts, name: tuple[Scope, str], pair: _Sides, reason: str, others: Collection[tuple[Scope, str]]) -> str:
    """Undo what happened to one memory; why not, where it cannot be. ``others``: those that are undone by themselves."""
    owner, id = name
    found = parts.store.get(owner, [id])
    ours = found[0] if found else None
    if ours is not None and ours.status is Status.PURGED:
        return "it was purged"
    at = parts.clock()
    if pair.before is None:
        if ours is None or ours.status is Status.FORGOTTEN:
            return "it is put away already"
        values = {"status": Status.FORGOTTEN, "retired_at": at, "meta": {**ours.meta, "was": str(ours.status)}}
        changes = (Change(owner, id, values, "forget", ours.version), *_ripples(parts, ours, values, others))
        parts.store.commit(Batch("hand", reason, at, changes=changes))
        return ""
    old = pair.before.record({})
    if ours is None:
        parts.store.commit(Batch("hand", reason, at, puts=(Put(old),)))
        return ""
    new = pair.after.record({}) if pair.after is not None else ours
    merged = threeway.merge(new, ours, old)
    values = {name: value for name, value in merged.fields.items() if name not in merged.lost}
    add, drop = _links(parts, ours, pair)
    if not values and not add and not drop:
        return "it has changed since" if merged.lost else "nothing of it is left to undo"
    values, vectors = parts.rules.prepare(ours, values) if values else (values, ())
    changes = (Change(owner, id, values, "revert", ours.version), *_ripples(parts, ours, values, others)) if values else ()
    told = tuple((owner, vector) for vector in vectors)
    parts.store.commit(Batch("hand", reason, at, changes=changes, vectors=told, edges=add, unlink=drop))
    return ""


def _ripples(parts: Parts, ours: Record, values: Mapping[str, Any], others: Collection[tuple[Scope, str]]) -> list[Change]:
    return [change for change in parts.rules.ripple(ours, values) if (change.owner, change.id) not in others]


def _links(parts: Parts, ours: Record, pair: _Sides) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    owner = ours.scope.owner
    sides = [{(link.type, link.target): link for link in (side.links if side else ()) if link.target} for side in (pair.before, pair.after)]
    before, after = sides
    held = {(edge.type, edge.target): edge for edge in parts.store.edges(owner, [ours.id]) if edge.source == ours.id}
    gone = [before[name] for name in before if name not in after and name not in held] if pair.after else []
    add = tuple(Edge(owner, ours.id, link.target, link.type, link.weight, link.count) for link in gone)
    return add, tuple(held[name] for name in after if name not in before and name in held)


def _plain(parts: Parts, version: Version, done: Reverted) -> None:
    """A daily note or another text: its lines are taken back, where they have not been changed since."""
    if version.path.startswith("."):
        return
    now = parts.disk.read(version.path)
    told = {"does": "revert", "actor": "hand", "why": f"reverted {done.commit[:10]}"}
    if now == version.after:
        if version.before is None:
            parts.state.touch([(version.path, told)])
            parts.disk.remove(version.path)
        else:
            parts.replace(version.path, version.before, now, told)
    else:
        try:
            texts = [decoded(data or b"") for data in (version.after, now, version.before)]
        except FrontError as problem:
            done.kept[version.path] = str(problem)
            return
        joined = threeway.lines(*texts)
        if joined is None:
            done.kept[version.path] = "it has changed since"
            return
        parts.replace(version.path, joined.encode(), now, told)
    done.changed.append(version.path)


def _entry(data: bytes | None) -> Entry | None:
    if data is None:
        return None
    try:
        return entry.read(decoded(data))
    except FrontError:
        return None
