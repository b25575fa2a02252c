"""Imports of an owner, and the undo of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from engrams.core import IMPORTED, ImportOptions, Record, Scope, ScopeInput, Status
from engrams.core.ids import new_id
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.forget.restoring import ENDING, build_former
from engrams.frozen_data import dataclass
from engrams.ports import (
    IMPORTS,
    Condition,
    PurgeReport,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Where,
    WriteBatch,
)
from engrams.transfer.import_export import ImportCounts, ImportTarget, Progress, load, restored_ids

PurgeFunction: TypeAlias = Callable[[Sequence[str], Scope, bool], PurgeReport]

_KEPT = 500
_PAGE = 500
_TRIES = 10
_FOLLOWED = frozenset((*ENDING, "meta"))
"""Fields that an edit of another memory changes."""


_LIVE = tuple(status for status in Status if status is not Status.PURGED)


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import. ``state``: running (or interrupted), done or undone.

    ``at``: when it began, ISO 8601. The counts are those of LoadReport.
    """

    id: str
    name: str
    scope: str
    format: str
    at: str
    state: str = "running"
    stored: int = 0
    existing: int = 0
    refused: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class ImportUndoResult:
    """Result of an undo: memories removed, and ids that stay.

    ``kept``: edited by hand since. ``returned``: they are current again, since what replaced them
    is gone.
    """

    id: str
    removed: int
    kept: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()


class ImportRunRegistry:
    """Imports of an owner: begun, listed, undone."""

    def __init__(
        self, target: ImportTarget, purge: PurgeFunction, is_silent: Callable[[Scope, str], bool]
    ) -> None:
        """Set up the imports.

        ``purge`` erases memories with what derives from them; ``is_silent`` tells where no trace
        may stay.
        """
        self._target = target
        self._purge = purge
        self._is_silent = is_silent
        self._store = target.store
        self._clock = target.clock

    def load(
        self,
        source: Path | str | Iterable[Any],
        scope: Scope,
        plan: ImportOptions,
        progress: Progress | None,
    ) -> ImportCounts:
        """Import and log it; see ``MemoryEngine.load``.

        ``plan.mark``: its id; empty: a new one, or that of an interrupted import of the same name.
        """
        name = plan.name or (Path(source).name if isinstance(source, str | Path) else "")
        if not name or self._is_silent(scope, ""):
            return load(source, scope, self._target, plan, progress)
        id = self.begin(scope, name, plan)
        try:
            report = load(source, scope, self._target, replace(plan, mark=id), progress)
        except InputError:
            self.end(scope.owner, id, ImportCounts())
            raise
        self.end(scope.owner, id, report)
        report.id = id if report.stored or report.edges else ""
        return report

    def list(self, scope: ScopeInput) -> tuple[ImportRun, ...]:
        """List an owner's imports, newest first."""
        known = {each.name for each in fields(ImportRun)}
        held = self._store.load_state(Scope.of(scope).owner, IMPORTS).data.get("imports", ())
        return tuple(
            ImportRun(**{name: value for name, value in each.items() if name in known})
            for each in held
        )

    def get(self, owner: Scope, id: str) -> ImportRun:
        """Get one import. NotFoundError: there is none with this id."""
        found = next((each for each in self.list(owner) if each.id == id), None)
        if found is None:
            raise NotFoundError(
                f"There is no import {id!r} here.",
                hint="`engrams import --list`, or GET /v1/imports, lists them.",
            )
        return found

    def begin(self, scope: Scope, name: str, plan: ImportOptions) -> str:
        """Log an import that begins, and return its id."""
        now = self._clock()
        same = (
            each.id
            for each in self.list(scope.owner)
            if each.state == "running" and (each.name, each.scope) == (name, scope.key)
        )
        entry = ImportRun(
            id=plan.mark or next(same, "") or new_id(now),
            name=name,
            scope=scope.key,
            format=plan.format,
            at=now.isoformat(),
        )
        self._save(scope.owner, entry)
        return entry.id

    def end(self, owner: Scope, id: str, report: ImportCounts) -> None:
        """Log the counts of an import; one that stored nothing goes."""
        entry = self.get(owner, id)
        counts = {
            name: getattr(entry, name) + getattr(report, name)
            for name in ("stored", "existing", "refused", "edges")
        }
        self._save(
            owner,
            replace(entry, state="done", **counts),
            drop=not (counts["stored"] or counts["edges"]),
        )

    def undo(
        self, id: str, scope: ScopeInput, progress: Progress | None = None, git: bool = False
    ) -> ImportUndoResult:
        """Erase what an import brought, and what was learned from it.

        Memories edited by hand since stay. ``git``: also from the git history of the files.
        NotFoundError: no such import. ConflictError: it is undone already.
        """
        owner = Scope.of(scope).owner
        entry = self.get(owner, id)
        if entry.state == "undone":
            raise ConflictError(
                f"The import {id} is undone already.", hint="Import the file again to have it back."
            )
        brought = {one.id for one in self._find(owner, Condition(f"meta.{IMPORTED}", "eq", id))}
        brought |= {
            one.id
            for ids in _pages(restored_ids(self._store, owner, id))
            for one in self._store.get(owner, ids)
            if _is_live(one)
        }
        derived = {
            one.id: one
            for ids in _pages(sorted(brought))
            for one in self._find_derived(owner, ids)
            if _rests_on(one, brought)
        }
        every = brought | derived.keys()
        edited = {
            name for name in every if self._is_edited(owner, name, datetime.fromisoformat(entry.at))
        }
        self._detach(owner, [derived[name] for name in edited if name in derived], brought - edited)
        gone = sorted(every - edited)
        returned = self._return_replaced(owner, frozenset(gone))
        done = 0
        for ids in _pages(gone):
            left = [one.id for one in self._store.get(owner, ids) if _is_live(one)]
            if left:
                self._purge(left, owner, git)
            done += len(ids)
            if progress is not None:
                progress(done, len(gone))
        self._save(owner, replace(entry, state="undone"))
        return ImportUndoResult(id, len(gone), tuple(sorted(edited)), returned)

    def _find(self, owner: Scope, condition: Condition) -> Iterator[Record]:
        after = ""
        while True:
            query = RecordQuery(
                _tree(owner),
                statuses=_LIVE,
                where=Where("and", (condition,)),
                order="oldest",
                after=after,
                limit=_PAGE,
            )
            page = self._store.find(query)
            yield from page.records
            if not page.next:
                return
            after = page.next

    def _find_derived(self, owner: Scope, ids: Sequence[str]) -> Sequence[Record]:
        return self._store.find(
            RecordQuery(_tree(owner), statuses=_LIVE, sources=tuple(ids), limit=10_000)
        ).records

    def _is_edited(self, owner: Scope, id: str, since: datetime) -> bool:
        # A file brings the history of what it holds, too.
        history = self._store.history(owner, id)
        return any(
            entry.action == "edit" and entry.at >= since and entry.after.keys() - _FOLLOWED
            for entry in history
        )

    def _detach(self, owner: Scope, kept: Sequence[Record], gone: set[str]) -> None:
        """Remove erased sources from the evidence of edited memories."""
        changes = tuple(
            RecordChange(
                owner,
                one.id,
                {"evidence": tuple(quote for quote in one.evidence if quote.source not in gone)},
                "release",
            )
            for one in kept
        )
        if changes:
            self._store.commit(
                WriteBatch("import", "its import is undone", self._clock(), changes=changes)
            )

    def _return_replaced(self, owner: Scope, gone: frozenset[str]) -> tuple[str, ...]:
        """Make current again what the import had replaced."""
        changes = list[RecordChange]()
        for ids in _pages(sorted(gone)):
            replaced = self._find(owner, Condition("superseded_by", "in", ids))
            changes += [
                build_former(one, self._store)
                for one in replaced
                if one.status is Status.SUPERSEDED and one.id not in gone
            ]
        for some in _pages(changes):
            self._store.commit(
                WriteBatch(
                    "import",
                    "the import that replaced it is undone",
                    self._clock(),
                    changes=tuple(some),
                )
            )
        return tuple(change.id for change in changes)

    def _save(self, owner: Scope, entry: ImportRun, *, drop: bool = False) -> None:
        for left in reversed(range(_TRIES)):
            row = self._store.load_state(owner, IMPORTS)
            held = [each for each in row.data.get("imports", ()) if each["id"] != entry.id]
            known = [*([] if drop else [asdict(entry)]), *held]
            try:
                self._store.save_state(
                    replace(row, data={"imports": sorted(known, key=_began, reverse=True)[:_KEPT]}),
                    expect=row.token,
                )
            except ConflictError:
                if not left:
                    raise
            else:
                return


def _is_live(record: Record) -> bool:
    return record.status is not Status.PURGED


def _tree(owner: Scope) -> ScopeReach:
    return ScopeReach(owner, (owner,), tree=True)


def _began(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["at"], entry["id"]


def _rests_on(record: Record, sources: set[str]) -> bool:
    """Check that a memory quotes these sources alone."""
    return bool(record.evidence) and all(quote.source in sources for quote in record.evidence)


def _pages(items: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), _PAGE):
        yield list(items[start : start + _PAGE])
