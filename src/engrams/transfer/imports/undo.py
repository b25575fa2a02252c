"""Undo an import: find what it brought, and erase it with what was learned from it.

``ImportUndo`` offers the steps in the order in which they are to be taken. A crash between two of
them loses nothing: the undo can be repeated, because every step skips what is done already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar

from engrams.core import IMPORTED, Kind, Record, Scope, Status
from engrams.forget.restoring import ENDING, build_former
from engrams.ports import (
    Clock,
    Condition,
    PurgeReport,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    Where,
    WriteBatch,
)
from engrams.transfer.imports.restoring import list_restored_ids
from engrams.transfer.progress import Progress

PurgeFunction: TypeAlias = Callable[[Sequence[str], Scope, bool], PurgeReport]
"""Erases records of a scope by their ids; the flag: also from the git history."""

_PAGE = 500
"""Records handled at a time."""
_MOST_DERIVED = 10_000
"""Statements that are looked for behind one page of sources."""
_FIELDS_CHANGED_BY_OTHERS = frozenset((*ENDING, "meta"))
"""Fields of a memory that an edit of another memory changes."""
_NOT_PURGED = tuple(status for status in Status if status is not Status.PURGED)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ImportUndoPlan:
    """Memories that an undo concerns."""

    import_id: str
    imported_ids: frozenset[str]
    """Memories that the import stored."""
    derived: Mapping[str, Record]
    """Memories by id that quote imported ones alone."""
    edited_ids: frozenset[str]
    """Imported and derived memories that were edited by hand since; they stay."""
    erased_ids: Sequence[str]
    """The other imported and derived memories, sorted."""


class ImportUndo:
    """Steps of the undo of an import."""

    def __init__(self, store: Store, clock: Clock, purge: PurgeFunction) -> None:
        self._store = store
        self._clock = clock
        self._purge = purge

    def has_brought(self, owner: Scope, import_id: str) -> bool:
        """True for an import of which a memory is left, or that ended one."""
        conditions = (
            Condition(f"meta.{IMPORTED}", "eq", import_id),
            Condition("superseded_by", "eq", import_id),
        )
        return any(next(self._find(owner, item), None) is not None for item in conditions)

    def has_documents(self, owner: Scope, import_id: str) -> bool:
        """True for an import that brought documents, which are not erased yet."""
        where = Where("and", (Condition(f"meta.{IMPORTED}", "eq", import_id),))
        query = RecordQuery(
            ScopeReach.of_owner(owner), (Kind.PASSAGE,), statuses=_NOT_PURGED, where=where, limit=1
        )
        return bool(self._store.find(query).records)

    def plan(self, owner: Scope, import_id: str, began_at: str) -> ImportUndoPlan:
        """Find what an import brought, and what was learned from it.

        ``began_at``: time when the import began, ISO 8601; later edits protect a memory.
        """
        condition = Condition(f"meta.{IMPORTED}", "eq", import_id)
        imported_ids = {record.id for record in self._find(owner, condition)}
        for ids in _iter_pages(list_restored_ids(self._store, owner, import_id)):
            imported_ids |= {record.id for record in self._load_not_purged(owner, ids)}
        derived = {
            record.id: record
            for ids in _iter_pages(sorted(imported_ids))
            for record in self._find_derived(owner, ids)
            if _quotes_only(record, imported_ids)
        }
        concerned_ids = imported_ids | derived.keys()
        since = datetime.fromisoformat(began_at)
        edited_ids = {
            record_id for record_id in concerned_ids if self._is_edited(owner, record_id, since)
        }
        return ImportUndoPlan(
            import_id=import_id,
            imported_ids=frozenset(imported_ids),
            derived=derived,
            edited_ids=frozenset(edited_ids),
            erased_ids=sorted(concerned_ids - edited_ids),
        )

    def release_edited(self, owner: Scope, plan: ImportUndoPlan) -> None:
        """Remove the sources that will be erased from the evidence of edited memories."""
        erased_sources = plan.imported_ids - plan.edited_ids
        changes = tuple(
            RecordChange(
                owner,
                record_id,
                {
                    "evidence": tuple(
                        quote for quote in record.evidence if quote.source not in erased_sources
                    )
                },
                "release",
            )
            for record_id, record in plan.derived.items()
            if record_id in plan.edited_ids
        )
        if changes:
            self._store.commit(
                WriteBatch("import", "its import is undone", self._clock(), changes=changes)
            )

    def return_replaced(self, owner: Scope, plan: ImportUndoPlan) -> tuple[str, ...]:
        """Make current again what the import had replaced; return the ids."""
        erased_ids = frozenset(plan.erased_ids)
        changes: list[RecordChange] = []
        # What no memory took the place of, such as a document that is gone, ended with the import.
        for ids in _iter_pages([*plan.erased_ids, plan.import_id]):
            replaced = self._find(owner, Condition("superseded_by", "in", ids))
            changes += [
                build_former(record, self._store)
                for record in replaced
                if record.status is Status.SUPERSEDED and record.id not in erased_ids
            ]
        for page in _iter_pages(changes):
            self._store.commit(
                WriteBatch(
                    "import",
                    "the import that replaced it is undone",
                    self._clock(),
                    changes=tuple(page),
                )
            )
        return tuple(change.id for change in changes)

    def erase(
        self, owner: Scope, plan: ImportUndoPlan, progress: Progress | None, *, git: bool
    ) -> None:
        """Purge what the import brought, page by page."""
        handled = 0
        for ids in _iter_pages(plan.erased_ids):
            # The purge of an earlier page, or of an interrupted undo, may have reached them.
            remaining_ids = [record.id for record in self._load_not_purged(owner, ids)]
            if remaining_ids:
                self._purge(remaining_ids, owner, git)
            handled += len(ids)
            if progress is not None:
                progress(handled, len(plan.erased_ids))

    def _find(self, owner: Scope, condition: Condition) -> Iterator[Record]:
        """Yield the records of an owner that satisfy a condition, but for purged ones."""
        after = ""
        while True:
            query = RecordQuery(
                _reach_all(owner),
                statuses=_NOT_PURGED,
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

    def _find_derived(self, owner: Scope, source_ids: Sequence[str]) -> Sequence[Record]:
        return self._store.find(
            RecordQuery(
                _reach_all(owner),
                statuses=_NOT_PURGED,
                sources=tuple(source_ids),
                limit=_MOST_DERIVED,
            )
        ).records

    def _load_not_purged(self, owner: Scope, ids: Sequence[str]) -> list[Record]:
        return [
            record for record in self._store.get(owner, ids) if record.status is not Status.PURGED
        ]

    def _is_edited(self, owner: Scope, record_id: str, since: datetime) -> bool:
        # A file brings the history of what it holds, too: only edits after the import count.
        return any(
            entry.action == "edit"
            and entry.at >= since
            and entry.after.keys() - _FIELDS_CHANGED_BY_OTHERS
            for entry in self._store.history(owner, record_id)
        )


def _reach_all(owner: Scope) -> ScopeReach:
    """Return the reach of all scopes of an owner."""
    return ScopeReach(owner, (owner,), tree=True)


def _quotes_only(record: Record, source_ids: set[str]) -> bool:
    """Check that a memory quotes these sources alone."""
    return bool(record.evidence) and all(quote.source in source_ids for quote in record.evidence)


def _iter_pages(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    for start in range(0, len(items), _PAGE):
        yield list(items[start : start + _PAGE])
