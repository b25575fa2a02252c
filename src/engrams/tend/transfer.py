"""Import and export of files, in batches and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from engrams import formats
from engrams.errors import InputError, RefusedError
from engrams.formats import ExportedEdge, ParsedTurn, RestoredRecord, UnreadablePiece
from engrams.ports import Batch, Clock, Put, Query, Reach, Store
from engrams.types import HistoryEntry, Kind, Receipt, Record, Scope, Status, Turn

Progress = Callable[[int, int], None]
_BATCH = 500
_OWN_SCOPES = frozenset({"locomo", "turns", "json", "engrams"})
"""Formats with a scope per conversation; the others hold one person's chats."""


@dataclass(slots=True)
class LoadReport:
    """Counts of an import. ``bad``: (line, reason) of unreadable pieces."""

    stored: int = 0
    existing: int = 0
    refused: int = 0
    edges: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    scopes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Target of an import; ``write_turns`` stores turns in a scope."""

    write_turns: Callable[[Sequence[Turn], Scope, Kind, str], tuple[Receipt, ...]]
    store: Store
    clock: Clock


def load(source: Path | str | Iterable[Any], scope: Scope, target: ImportTarget, format: str, progress: Progress | None) -> LoadReport:
    """Import a file (or parsed items); a repeated import continues."""
    report = LoadReport()
    named, total = format, 0
    items: Iterable[Any]
    if isinstance(source, str | Path):
        if str(source) != "-":
            named = formats.detect(source) if format == "auto" else format
            total = formats.count_items(source, named) if progress is not None else 0
        items = formats.read(source, named)
    else:
        items = source
    alone = named in _OWN_SCOPES
    done = 0
    for batch in _batches(items, _BATCH):
        for (place, kind), parsed in _group_items(batch, scope, alone):
            _write_turns(parsed, place, kind, target, report)
        _restore([item for item in batch if isinstance(item, RestoredRecord | ExportedEdge)], scope, target, report)
        report.bad.extend((item.line, item.message) for item in batch if isinstance(item, UnreadablePiece))
        done += len(batch)
        if progress is not None:
            progress(done, max(total, done))
    return report


def dump(path: Path, reach: Reach, store: Store, format: Literal["jsonl", "markdown"], progress: Progress | None) -> int:
    """Export everything in reach, oldest first, as JSONL or Markdown.

    JSONL holds edges and history too. Returns the number of records."""
    return formats.write(path, _iter_records(reach, store, format == "jsonl", progress), format, header={"scope": reach.owner.key})


def _group_items(batch: Sequence[Any], scope: Scope, alone: bool) -> Iterator[tuple[tuple[Scope, Kind], list[ParsedTurn]]]:
    group: list[ParsedTurn] = []
    key: tuple[Scope, Kind] | None = None
    for item in batch:
        if not isinstance(item, ParsedTurn):
            continue
        own = item.conversation if alone and item.conversation not in scope.labels else ""
        place = (scope.within("conversation", own) if own else scope, item.kind)
        if place != key and group and key is not None:
            yield key, group
            group = []
        key = place
        group.append(item)
    if group and key is not None:
        yield key, group


def _write_turns(parsed: Sequence[ParsedTurn], scope: Scope, kind: Kind, target: ImportTarget, report: LoadReport) -> None:
    turns = []
    for item in parsed:
        turn = item.turn
        if not turn.session and item.conversation:
            turn = replace(turn, session=item.conversation)
        extra: Mapping[str, Any] = {"triple": [item.subject, item.predicate, item.object]} if item.subject else {}
        labels: Mapping[str, Any] = {"tags": list(item.tags)} if item.tags else {}
        turns.append(replace(turn, meta={**turn.meta, **extra, **labels}) if extra or labels else turn)
    try:
        receipts = target.write_turns(turns, scope, kind, "import")
    except (InputError, RefusedError):
        # One refused turn must not cost its neighbours: write them one by one and report it.
        receipts = tuple(receipt for turn in turns for receipt in _write_one(turn, scope, kind, target, report))
    for receipt in receipts:
        report.scopes[scope.key] = report.scopes.get(scope.key, 0) + 1
        report.stored += receipt.outcome in ("stored", "redacted", "incognito")
        report.existing += receipt.outcome == "duplicate"
        report.refused += receipt.outcome == "refused"


def _write_one(turn: Turn, scope: Scope, kind: Kind, target: ImportTarget, report: LoadReport) -> tuple[Receipt, ...]:
    try:
        return target.write_turns([turn], scope, kind, "import")
    except (InputError, RefusedError) as problem:
        report.bad.append((0, f"{turn.external_id}: {problem.message}"))
        return ()


def _restore(items: Sequence[RestoredRecord | ExportedEdge], scope: Scope, target: ImportTarget, report: LoadReport) -> None:
    """Restore records of an earlier export under this owner."""
    if not items:
        return
    told = {item.record.id: item.history for item in items if isinstance(item, RestoredRecord)}
    moved = [replace(item.record, scope=_move_under(item.record.scope, scope)) for item in items if isinstance(item, RestoredRecord)]
    store, now = target.store, target.clock()
    known = {record.id for record in store.get(scope.owner, [record.id for record in moved])}
    edges = [edge for item in items for edge in (item.edges if isinstance(item, RestoredRecord) else (item.edge,))]
    fresh = [record for record in moved if record.id not in known]
    links = tuple(replace(edge, owner=scope.owner) for edge in edges)
    puts = tuple(Put(record, history=_clean_history(told[record.id], record)) for record in fresh)
    store.commit(Batch("import", "restored from an export", now, puts=puts, edges=links))
    report.stored += len(fresh)
    report.existing += len(moved) - len(fresh)
    report.edges += len(edges)
    for record in moved:
        report.scopes[record.scope.key] = report.scopes.get(record.scope.key, 0) + 1


def _clean_history(entries: Sequence[HistoryEntry], record: Record) -> tuple[HistoryEntry, ...]:
    """Sort history by version, one entry each, up to the record's version."""
    kept = {entry.version: entry for entry in entries if 1 <= entry.version <= record.version}
    return tuple(kept[version] for version in sorted(kept))


def _move_under(theirs: Scope, ours: Scope) -> Scope:
    return Scope((*ours.labels, *theirs.labels[len(theirs.owner.labels) :])) if ours.is_owner else ours


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def _iter_records(reach: Reach, store: Store, full: bool, progress: Progress | None) -> Iterator[RestoredRecord | Record]:
    statuses = tuple(status for status in Status if status is not Status.PURGED) if full else (Status.ACTIVE,)
    after, done = "", 0
    while True:
        page = store.find(Query(reach, statuses=statuses, order="oldest", after=after, limit=_BATCH))
        edges = store.edges(reach.owner, [record.id for record in page.records]) if full and page.records else ()
        for record in page.records:
            if full:
                own = tuple(edge for edge in edges if edge.source == record.id)
                yield RestoredRecord(record, own, store.history(reach.owner, record.id))
            else:
                yield record
        done += len(page.records)
        if progress is not None:
            progress(done, done)
        if not page.next:
            return
        after = page.next
