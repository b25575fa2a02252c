"""Import and export of files, in batches and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from engrams.core import (
    IMPORTED,
    HistoryEntry,
    ImportOptions,
    Kind,
    Receipt,
    Record,
    Scope,
    Status,
    Turn,
)
from engrams.errors import InputError, RefusedError
from engrams.frozen_data import dataclass
from engrams.ports import (
    IMPORTS,
    Clock,
    NewRecord,
    OwnerStateRow,
    RecordQuery,
    ScopeReach,
    StorageUse,
    Store,
    WriteBatch,
)
from engrams.read.corrected_words import mask_corrected
from engrams.read.entities.entity_index import EntityIndex
from engrams.settings import QuotaSettings
from engrams.transfer import formats
from engrams.transfer.formats import (
    ExportedEdge,
    ExportedRecord,
    ExportFormat,
    ImportFile,
    ParsedTurn,
    UnreadablePiece,
)
from engrams.write.ignored_files import find_ignore_rule, match_ignore_rule, read_rooted_rules

Progress = Callable[[int, int], None]
_BATCH = 500
_NAMED = 10
_EXPORTED = tuple(status for status in Status if status is not Status.PURGED)
EVERYONE = "*"
_OWN_SCOPES = frozenset({"locomo", "turns", "json", "engrams"})
"""Formats with a scope per conversation; the others hold one person's chats."""


@dataclass(slots=True)
class ImportCounts:
    """Counts of an import.

    ``bad``: (line, reason) of what could not be read. ``files``: how many were read. ``rejected``:
    files of a folder or zip that were refused whole; ``unstored``: messages that memory could not
    take. ``ignored``: files that an ignore rule excludes. ``id``: undoes it; empty: it stored
    nothing.
    """

    id: str = ""
    stored: int = 0
    existing: int = 0
    refused: int = 0
    edges: int = 0
    files: int = 0
    rejected: int = 0
    unstored: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    scopes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Target of an import; ``write_turns`` stores turns in a scope.

    ``ignore_root``: folder whose ignore files count beside those of the files' own folders.
    """

    write_turns: Callable[[Sequence[Turn], Scope, Kind, str], tuple[Receipt, ...]]
    store: Store
    clock: Clock
    ignore_root: Path = Path()
    quota: QuotaSettings = field(default_factory=QuotaSettings)


def load(
    source: Path | str | Iterable[Any],
    scope: Scope,
    target: ImportTarget,
    plan: ImportOptions,
    progress: Progress | None,
) -> ImportCounts:
    """Import a file, folder, zip or parsed items; a repeated import continues.

    A broken file of several is in the report. InputError: nothing can be read, or the only file is
    broken.
    """
    report = ImportCounts()
    job = _FileImporter(scope=scope, target=target, plan=plan, report=report, progress=progress)
    if not isinstance(source, str | Path):
        job.store(source, plan.format)
        return report
    with formats.open_parts(source, plan.name) as parts:
        for part in parts:
            try:
                job.load_part(part)
            except InputError as problem:
                if len(parts) == 1:
                    raise InputError(f"{part.name}: {problem.message}", hint=problem.hint) from None
                report.bad.append((0, f"{part.name}: {problem.message}"))
                report.rejected += 1
    return report


@dataclass(slots=True)
class _FileImporter:
    """Run of one import over its files."""

    scope: Scope
    target: ImportTarget
    plan: ImportOptions
    report: ImportCounts
    progress: Progress | None
    done: int = 0
    total: int = 0
    users: set[str] = field(default_factory=set)

    def load_part(self, part: ImportFile) -> None:
        """Import one file, or refuse it whole. InputError: the reason."""
        if rule := "" if self.plan.ignored else self._find_ignore_rule(part):
            self.report.ignored.append(f"{part.name} ({rule})")
            return
        named = (
            formats.detect(part.open(), part.name)
            if self.plan.format == "auto"
            else self.plan.format
        )
        counts = _check_pieces(formats.read(part.open(), named), self.plan)
        users = self.users | counts.keys() - {""}
        _check_users(users, self.plan.user)
        self.users = users
        self.total += sum(
            number for user, number in counts.items() if _is_taken(user, self.plan.user)
        )
        self.store(select_user(formats.read(part.open(), named), self.plan.user), named)
        self.report.files += 1

    def _find_ignore_rule(self, part: ImportFile) -> str:
        """Find the rule that excludes a file, or an upload's name."""
        own = part.path if not self.plan.name else None
        named = own.resolve().as_posix() if own is not None else part.name
        rule = match_ignore_rule(named, read_rooted_rules(self.target.ignore_root))
        return rule or (find_ignore_rule(own) if own is not None else "")

    def store(self, items: Iterable[Any], format: str) -> None:
        """Store pieces, in batches."""
        alone = format in _OWN_SCOPES
        for batch in _batches(items, _BATCH):
            for (place, kind), parsed in _group_items(batch, self.scope, alone):
                _write_turns(
                    [_mark(item, self.plan.mark) for item in parsed],
                    place,
                    kind,
                    self.target,
                    self.report,
                )
            restored = [item for item in batch if isinstance(item, ExportedRecord | ExportedEdge)]
            _restore(restored, self.scope, self.target, self.report, self.plan.mark)
            self.report.bad.extend(
                (item.line, item.message) for item in batch if isinstance(item, UnreadablePiece)
            )
            self.done += len(batch)
            if self.progress is not None:
                self.progress(self.done, max(self.total, self.done))


def _check_pieces(pieces: Iterable[Any], plan: ImportOptions) -> Counter[str]:
    """Read a file once to check it; count its pieces by user."""
    first = None
    good = False
    counts = Counter[str]()
    for piece in pieces:
        counts[getattr(piece, "user", "")] += 1
        if not isinstance(piece, UnreadablePiece):
            good = True
        elif piece.broken and not plan.skip_bad:
            raise InputError(
                _say(piece),
                hint=(
                    "Mend the file, or give skip_bad (--skip-bad) to import what can be read of it."
                ),
            )
        else:
            first = first or piece
    if first is not None and not good:
        raise InputError(
            f"Nothing in it can be imported. {_say(first)}",
            hint="If its format was detected wrongly, name it (--format).",
        )
    return counts


def _check_users(users: set[str], user: str) -> None:
    """Check for the memories of one user, or of the named one."""
    named = sorted(users)
    if (len(named) > 1 and not user) or (
        user not in ("", EVERYONE) and named and user not in named
    ):
        shown = ", ".join(named[:_NAMED]) + (" …" if len(named) > _NAMED else "")
        lead = (
            f"It holds the memories of {len(named)} users"
            if len(named) > 1
            else f"It holds nothing of {user!r}, but of"
        )
        raise InputError(
            f"{lead}: {shown}.",
            hint=(
                "Name one (--from-user NAME), or take all into this memory (--from-user"
                f" '{EVERYONE}')."
            ),
        )


def select_user(pieces: Iterable[Any], user: str) -> Iterator[Any]:
    """Yield the pieces of one user, with those that name none."""
    return (piece for piece in pieces if _is_taken(getattr(piece, "user", ""), user))


def _is_taken(named: str, user: str) -> bool:
    """Check that a piece of the named user is asked for."""
    return user in ("", EVERYONE) or named in ("", user)


def _say(piece: UnreadablePiece) -> str:
    return f"Line {piece.line}: {piece.message}" if piece.line else piece.message


def _mark(item: ParsedTurn, mark: str) -> ParsedTurn:
    """Tag a turn with its import, for the import's undo."""
    return (
        replace(item, turn=replace(item.turn, meta={**item.turn.meta, IMPORTED: mark}))
        if mark
        else item
    )


def dump(
    path: Path, reach: ScopeReach, store: Store, format: ExportFormat, progress: Progress | None
) -> int:
    """Export everything in reach, oldest first; returns the number of records.

    JSONL holds edges and changes too; tables and vaults hold history; other formats what is
    current.
    """
    net = EntityIndex(store).find(reach) if format == "obsidian" else None
    past = (Status.ACTIVE, Status.SUPERSEDED) if format in ("csv", "obsidian") else (Status.ACTIVE,)
    found = _iter_records(
        reach, store, _EXPORTED if format == "jsonl" else past, progress, full=format == "jsonl"
    )
    return formats.write(path, found, format, header={"scope": reach.owner.key}, net=net)


def _group_items(
    batch: Sequence[Any], scope: Scope, alone: bool
) -> Iterator[tuple[tuple[Scope, Kind], list[ParsedTurn]]]:
    group: list[ParsedTurn] = []
    key: tuple[Scope, Kind] | None = None
    for item in batch:
        if not isinstance(item, ParsedTurn):
            continue
        own = ("conversation", item.conversation) if alone and item.conversation else ()
        place = (_find_place(scope, (*item.place, *own)), item.kind)
        if place != key and group and key is not None:
            yield key, group
            group = []
        key = place
        group.append(item)
    if group and key is not None:
        yield key, group


def _find_place(scope: Scope, labels: Sequence[str]) -> Scope:
    """Return the scope of an item: below the import's, once each."""
    for part, name in zip(labels[::2], labels[1::2], strict=True):
        if name not in scope.labels:
            scope = scope.within(part, name)
    return scope


def _write_turns(
    parsed: Sequence[ParsedTurn],
    scope: Scope,
    kind: Kind,
    target: ImportTarget,
    report: ImportCounts,
) -> None:
    turns = []
    for item in parsed:
        turn = item.turn
        if not turn.session and item.conversation:
            turn = replace(turn, session=item.conversation)
        turns.append(turn)
    try:
        receipts = target.write_turns(turns, scope, kind, "import")
    except (InputError, RefusedError):
        # One refused turn must not cost its neighbours: write them one by one and report it.
        receipts = tuple(
            receipt
            for turn, item in zip(turns, parsed, strict=True)
            for receipt in _write_one(turn, item.line, scope, kind, target, report)
        )
    for receipt in receipts:
        report.scopes[scope.key] = report.scopes.get(scope.key, 0) + 1
        report.stored += receipt.outcome in ("stored", "redacted", "incognito")
        report.existing += receipt.outcome == "duplicate"
        report.refused += receipt.outcome in ("refused", "unsaved")


def _write_one(
    turn: Turn, line: int, scope: Scope, kind: Kind, target: ImportTarget, report: ImportCounts
) -> tuple[Receipt, ...]:
    try:
        return target.write_turns([turn], scope, kind, "import")
    except (InputError, RefusedError) as problem:
        report.unstored += 1
        report.bad.append((line, f"{turn.external_id}: {problem.message}"))
        return ()


def _restore(
    items: Sequence[ExportedRecord | ExportedEdge],
    scope: Scope,
    target: ImportTarget,
    report: ImportCounts,
    mark: str,
) -> None:
    """Restore records of an earlier export under this owner, unchanged.

    What tells them apart from others, their ids, is kept beside them.
    """
    if not items:
        return
    told = {item.record.id: item.history for item in items if isinstance(item, ExportedRecord)}
    moved = [
        replace(item.record, scope=_move_under(item.record.scope, scope))
        for item in items
        if isinstance(item, ExportedRecord)
    ]
    store = target.store
    now = target.clock()
    quota = StorageUse(target.quota.records, target.quota.bytes)
    known = {record.id for record in store.get(scope.owner, [record.id for record in moved])}
    edges = [
        edge
        for item in items
        for edge in (item.edges if isinstance(item, ExportedRecord) else (item.edge,))
    ]
    fresh = [record for record in moved if record.id not in known]
    links = tuple(replace(edge, owner=scope.owner) for edge in edges)
    puts = tuple(
        NewRecord(record, history=_clean_history(told[record.id], record)) for record in fresh
    )
    states = (
        (
            replace(
                _restored_rows(store, scope.owner, mark)[-1],
                data={"ids": [record.id for record in fresh]},
            ),
        )
        if mark and fresh
        else ()
    )
    store.commit(
        WriteBatch(
            "import",
            "restored from an export",
            now,
            puts=puts,
            edges=links,
            states=states,
            quota=quota,
        )
    )
    report.stored += len(fresh)
    report.existing += len(moved) - len(fresh)
    report.edges += len(edges)
    for record in moved:
        report.scopes[record.scope.key] = report.scopes.get(record.scope.key, 0) + 1


def restored_ids(store: Store, owner: Scope, mark: str) -> list[str]:
    """List the ids of records that an import restored."""
    return [id for row in _restored_rows(store, owner, mark) for id in row.data.get("ids", ())]


def _restored_rows(store: Store, owner: Scope, mark: str) -> list[OwnerStateRow]:
    """List the rows of ids of an import; the last is new."""
    rows = [store.load_state(owner, f"{IMPORTS}:{mark}:0")]
    while rows[-1].token:
        rows.append(store.load_state(owner, f"{IMPORTS}:{mark}:{len(rows)}"))
    return rows


def _clean_history(entries: Sequence[HistoryEntry], record: Record) -> tuple[HistoryEntry, ...]:
    """Sort history by version, one entry each, up to the record's version."""
    kept = {entry.version: entry for entry in entries if 1 <= entry.version <= record.version}
    return tuple(kept[version] for version in sorted(kept))


def _move_under(theirs: Scope, ours: Scope) -> Scope:
    return (
        Scope((*ours.labels, *theirs.labels[len(theirs.owner.labels) :])) if ours.is_owner else ours
    )


def _batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def _iter_records(
    reach: ScopeReach,
    store: Store,
    statuses: tuple[Status, ...],
    progress: Progress | None,
    *,
    full: bool,
) -> Iterator[ExportedRecord | Record]:
    after = ""
    done = 0
    while True:
        page = store.find(
            RecordQuery(reach, statuses=statuses, order="oldest", after=after, limit=_BATCH)
        )
        edges = (
            store.edges(reach.owner, [record.id for record in page.records])
            if full and page.records
            else ()
        )
        for record in page.records:
            if full:
                own = tuple(edge for edge in edges if edge.source == record.id)
                yield ExportedRecord(record, own, store.history(reach.owner, record.id))
            else:
                yield mask_corrected(record)
        done += len(page.records)
        if progress is not None:
            progress(done, done)
        if not page.next:
            return
        after = page.next
