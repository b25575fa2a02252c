"""Imports of an owner: run, listed and undone; ``ImportRunRegistry`` is the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from engrams.core import ImportOptions, Scope, ScopeInput
from engrams.core.ids import new_id
from engrams.errors import ConflictError, InputError, NotFoundError, RefusedError
from engrams.ports import IMPORTS
from engrams.transfer.documents.stored_documents import GivenDocument
from engrams.transfer.imports.importer import (
    DocumentChanges,
    ImportCounts,
    ImportTarget,
    find_excluding_rule,
    load,
)
from engrams.transfer.imports.undo import ImportUndo, PurgeFunction
from engrams.transfer.progress import Progress

_LISTED_RUNS = 500
"""Imports that an owner's list keeps; older ones cannot be undone any more."""
_TRIES = 10
"""Attempts to save the list while others save it too."""


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import. The counts are those of ``ImportCounts``."""

    id: str
    name: str
    """Name of the file, or the one the caller gave. Empty: its documents were undone."""
    scope: str
    """Key of the scope imported into."""
    format: str
    at: str
    """Time when it began, ISO 8601."""
    state: str = "running"
    """running (or interrupted), done or undone."""
    stored: int = 0
    existing: int = 0
    refused: int = 0
    edges: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class ImportUndoResult:
    """Result of an undo."""

    id: str
    removed: int
    """Memories that were erased."""
    kept: tuple[str, ...] = ()
    """Ids of memories that stay, because they were edited by hand since."""
    returned: tuple[str, ...] = ()
    """Ids of memories that are current again, because what had replaced them is erased."""


class ImportRunRegistry:
    """Imports of an owner: begun, listed, undone."""

    def __init__(
        self, target: ImportTarget, purge: PurgeFunction, is_silent: Callable[[Scope, str], bool]
    ) -> None:
        """Set up the imports.

        ``purge`` erases memories with what derives from them; ``is_silent`` tells where no trace
        may stay.
        """
        self.target = target
        self._is_silent = is_silent
        self._store = target.store
        self._clock = target.clock
        self._undo = ImportUndo(target.store, target.clock, purge)

    def load(
        self,
        source: Path | str | GivenDocument | DocumentChanges | Iterable[Any],
        scope: Scope,
        options: ImportOptions,
        progress: Progress | None,
    ) -> ImportCounts:
        """Import and log it; see ``MemoryEngine.load``.

        ``options.mark``: its id; empty: a new one, or that of an interrupted import of the same
        name. Without a name, and where no trace may stay, nothing is logged.
        """
        name = options.name or (Path(source).name if isinstance(source, str | Path) else "")
        if not name or self._is_silent(scope, ""):
            return load(source, scope, self.target, options, progress)
        name = self.target.redact_name(name)
        is_resumed = self.is_interrupted(scope, name)
        run_id = self.begin(scope, name, options)
        try:
            counts = load(source, scope, self.target, replace(options, mark=run_id), progress)
        except (InputError, RefusedError):
            self.end(scope.owner, run_id, ImportCounts(), is_resumed=is_resumed)
            raise
        counts.id = self.end(scope.owner, run_id, counts, is_resumed=is_resumed)
        return counts

    def find_ignore_rule(self, path: Path) -> str:
        """Return the ignore rule that excludes a file, else empty."""
        return find_excluding_rule(path, self.target.ignore_root)

    def is_interrupted(self, scope: Scope, name: str) -> bool:
        """True where an import of this name began and did not end."""
        return bool(self._find_interrupted(scope, self.target.redact_name(name)))

    def _find_interrupted(self, scope: Scope, name: str) -> str:
        """Find the id of an import that began and did not end; empty: there is none."""
        interrupted_ids = (
            run.id
            for run in self.list(scope.owner)
            if run.state == "running" and (run.name, run.scope) == (name, scope.key)
        )
        return next(interrupted_ids, "")

    def list(self, scope: ScopeInput) -> tuple[ImportRun, ...]:
        """List an owner's imports, newest first."""
        field_names = {field.name for field in fields(ImportRun)}
        rows = self._store.load_state(Scope.of(scope).owner, IMPORTS).data.get("imports", ())
        return tuple(
            ImportRun(**{name: value for name, value in row.items() if name in field_names})
            for row in rows
        )

    def get(self, owner: Scope, id: str) -> ImportRun:
        """Get one import. NotFoundError: there is none with this id."""
        for run in self.list(owner):
            if run.id == id:
                return run
        raise NotFoundError(
            f"There is no import {id!r} here.",
            hint="`engrams import --list`, or GET /v1/imports, lists them.",
        )

    def begin(self, scope: Scope, name: str, options: ImportOptions) -> str:
        """Log an import that begins, and return its id."""
        now = self._clock()
        name = self.target.redact_name(name)
        run = ImportRun(
            id=options.mark or self._find_interrupted(scope, name) or new_id(now),
            name=name,
            scope=scope.key,
            format=options.format,
            at=now.isoformat(),
        )
        self._save(scope.owner, run)
        return run.id

    def end(self, owner: Scope, id: str, counts: ImportCounts, *, is_resumed: bool = False) -> str:
        """Log the counts of an import; one that brought nothing leaves the list.

        ``is_resumed``: an earlier process began it, and may have brought all of it. Returns the id;
        empty: it brought nothing.
        """
        run = self.get(owner, id)
        sums = {
            name: getattr(run, name) + getattr(counts, name)
            for name in ("stored", "existing", "refused", "edges", "removed")
        }
        has_brought = bool(sums["stored"] or sums["edges"] or sums["removed"]) or (
            is_resumed and self._undo.has_brought(owner, id)
        )
        self._save(owner, replace(run, state="done", **sums), drop=not has_brought)
        return id if has_brought else ""

    def undo(
        self, id: str, scope: ScopeInput, progress: Progress | None = None, git: bool = False
    ) -> ImportUndoResult:
        """Erase what an import brought, and what was learned from it.

        Memories edited by hand since stay. ``git``: also from the git history of the files.
        NotFoundError: no such import. ConflictError: it is undone already.
        """
        owner = Scope.of(scope).owner
        run = self.get(owner, id)
        if run.state == "undone":
            raise ConflictError(
                f"The import {id} is undone already.", hint="Import the file again to have it back."
            )
        plan = self._undo.plan(owner, id, run.at)
        self._undo.release_edited(owner, plan)
        returned_ids = self._undo.return_replaced(owner, plan)
        if self._undo.has_documents(owner, id):
            # A document's name is its words: the erasure takes it out of the rows' earlier bytes.
            run = replace(run, name="")
            self._save(owner, run)
        self._undo.erase(owner, plan, progress, git=git)
        self._save(owner, replace(run, state="undone"))
        return ImportUndoResult(
            id, len(plan.erased_ids), tuple(sorted(plan.edited_ids)), returned_ids
        )

    def _save(self, owner: Scope, run: ImportRun, *, drop: bool = False) -> None:
        """Save one import to the owner's list, or drop it; others may save theirs meanwhile."""
        for tries_left in reversed(range(_TRIES)):
            row = self._store.load_state(owner, IMPORTS)
            entries = [entry for entry in row.data.get("imports", ()) if entry["id"] != run.id]
            if not drop:
                entries.append(asdict(run))
            entries.sort(key=_sort_key, reverse=True)
            try:
                self._store.save_state(
                    replace(row, data={"imports": entries[:_LISTED_RUNS]}), expect=row.token
                )
            except ConflictError:
                if not tries_left:
                    raise
            else:
                return


def _sort_key(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["at"], entry["id"]
