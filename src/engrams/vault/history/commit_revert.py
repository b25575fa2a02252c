"""Undo a commit, memory by memory; keep what changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from engrams.core import Edge, Record, Scope, Status, build_tombstone
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.ports import NewRecord, RecordChange, WriteBatch
from engrams.vault.dependencies import VaultDeps, decode_text
from engrams.vault.files import record_markdown
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.vault_paths import parse_place
from engrams.vault.history import three_way_merge
from engrams.vault.history.git import CommittedFileChange


@dataclass(slots=True)
class CommitRevertResult:
    """Memories brought back, and reasons for those that were kept."""

    commit: str
    changed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _EntryVersions:
    before: RecordFileContent | None = None
    after: RecordFileContent | None = None


def revert(
    parts: VaultDeps, commit: str, versions: Sequence[CommittedFileChange]
) -> CommitRevertResult:
    """Revert a commit's versions, with the vault's lock held."""
    done = CommitRevertResult(commit)
    sides: dict[tuple[Scope, str], _EntryVersions] = {}
    for version in versions:
        if parse_place(version.path) is None:
            _revert_text(parts, version, done)
            continue
        for name, data in (("before", version.before), ("after", version.after)):
            told = _parse_entry(data)
            scope = told.fields.get("scope") if told else None
            if told is not None and isinstance(scope, Scope) and told.id:
                key = (scope.owner, told.id)
                sides[key] = replace(sides.get(key, _EntryVersions()), **{name: told})
    for (owner, id), pair in sides.items():
        try:
            outcome = _revert_memory(
                parts, (owner, id), pair, f"reverted {commit[:10]}", sides.keys()
            )
        except (EngramsError, FrontMatterError) as problem:
            outcome = str(problem)
        if outcome:
            done.kept[id] = outcome
        else:
            done.changed.append(id)
    return done


def _revert_memory(
    parts: VaultDeps,
    name: tuple[Scope, str],
    pair: _EntryVersions,
    reason: str,
    others: Collection[tuple[Scope, str]],
) -> str:
    """Undo one memory's change; return why not, where that fails."""
    owner, id = name
    found = parts.store.get(owner, [id])
    ours = found[0] if found else None
    if ours is not None and ours.status is Status.PURGED:
        return "it was purged"
    at = parts.clock()
    if pair.before is None:
        if ours is None or ours.status is Status.FORGOTTEN:
            return "it is put away already"
        values = build_tombstone(ours, at)
        changes = (
            RecordChange(owner=owner, id=id, fields=values, action="forget", expect=ours.version),
            *_find_ripples(parts, ours, values, others),
        )
        parts.store.commit(WriteBatch("hand", reason, at, changes=changes))
        return ""
    old = pair.before.to_record({})
    if ours is None:
        parts.store.commit(WriteBatch("hand", reason, at, puts=(NewRecord(old),)))
        return ""
    new = pair.after.to_record({}) if pair.after is not None else ours
    merged = three_way_merge.merge(new, ours, old)
    values = {name: value for name, value in merged.fields.items() if name not in merged.lost}
    add, drop = _diff_links(parts, ours, pair)
    if not values and not add and not drop:
        return "it has changed since" if merged.lost else "nothing of it is left to undo"
    values, vectors = parts.rules.prepare(ours, values) if values else (values, ())
    changes = (
        (
            RecordChange(owner=owner, id=id, fields=values, action="revert", expect=ours.version),
            *_find_ripples(parts, ours, values, others),
        )
        if values
        else ()
    )
    told = tuple((owner, vector) for vector in vectors)
    parts.store.commit(
        WriteBatch("hand", reason, at, changes=changes, vectors=told, edges=add, unlink=drop)
    )
    return ""


def _find_ripples(
    parts: VaultDeps, ours: Record, values: Mapping[str, Any], others: Collection[tuple[Scope, str]]
) -> list[RecordChange]:
    return [
        change
        for change in parts.rules.find_ripples(ours, values)
        if (change.owner, change.id) not in others
    ]


def _diff_links(
    parts: VaultDeps, ours: Record, pair: _EntryVersions
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    owner = ours.scope.owner
    sides = [
        {(link.type, link.target): link for link in (side.links if side else ()) if link.target}
        for side in (pair.before, pair.after)
    ]
    before, after = sides
    held = {
        (edge.type, edge.target): edge
        for edge in parts.store.edges(owner, [ours.id])
        if edge.source == ours.id
    }
    gone = (
        [before[name] for name in before if name not in after and name not in held]
        if pair.after
        else []
    )
    add = tuple(
        Edge(
            owner=owner,
            source=ours.id,
            target=link.target,
            type=link.type,
            weight=link.weight,
            count=link.count,
        )
        for link in gone
    )
    return add, tuple(held[name] for name in after if name not in before and name in held)


def _revert_text(parts: VaultDeps, version: CommittedFileChange, done: CommitRevertResult) -> None:
    """Undo a note's change, where its lines have not changed since."""
    if version.path.startswith("."):
        return
    now = parts.disk.read(version.path)
    told = {"does": "revert", "actor": "hand", "why": f"reverted {done.commit[:10]}"}
    if now == version.after:
        if version.before is None:
            parts.state.touch([(version.path, told)])
            parts.disk.remove(version.path)
        else:
            parts.replace_file(version.path, version.before, now, told)
    else:
        try:
            texts = [decode_text(data or b"") for data in (version.after, now, version.before)]
        except FrontMatterError as problem:
            done.kept[version.path] = str(problem)
            return
        joined = three_way_merge.merge_lines(*texts)
        if joined is None:
            done.kept[version.path] = "it has changed since"
            return
        parts.replace_file(version.path, joined.encode(), now, told)
    done.changed.append(version.path)


def _parse_entry(data: bytes | None) -> RecordFileContent | None:
    if data is None:
        return None
    try:
        return record_markdown.parse_entry(decode_text(data))
    except FrontMatterError:
        return None
