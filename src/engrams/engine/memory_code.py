"""Memories and the code that they name: anchors made with a write, and their states on demand.

``MemoryEngine.code`` is a ``MemoryCode``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from engrams.core import Record, Scope, ScopeInput, Status, Turn
from engrams.core.code_anchors import AnchorState, CheckedMemory, read_anchors
from engrams.ports import CodeReader, RecordQuery, Store
from engrams.read.paging import iter_records
from engrams.read.request import visible_scopes

_PAGE = 500
_VERIFY_SECONDS = 20.0
"""Time that a check of all memories may take to find out where things are now."""


class MemoryCode:
    """Comparison of memories with a checkout, reached as ``engine.code``."""

    def __init__(self, store: Store, reader: CodeReader | None) -> None:
        self._store = store
        self._reader = reader

    def anchor(self, turns: Sequence[Turn], checkout: Path | None) -> tuple[Turn, ...]:
        """Return messages with anchors for the code that they name of a checkout."""
        if checkout is None or self._reader is None:
            return tuple(turns)
        anchored = []
        for turn in turns:
            meta = self._reader.anchor(turn.text, checkout).to_meta()
            anchored.append(replace(turn, meta={**turn.meta, **meta}) if meta else turn)
        return tuple(anchored)

    def verify(self, *, scope: ScopeInput, checkout: Path) -> tuple[CheckedMemory, ...]:
        """Compare every memory of a scope that names code with a checkout, oldest first."""
        return self._check(self._list_anchored(Scope.of(scope)), checkout)

    def find_broken(
        self, *, scope: ScopeInput, checkout: Path, revision: str = "HEAD"
    ) -> tuple[CheckedMemory, ...]:
        """Find the memories that a commit made untrue: they held in its parent, and do not any more."""
        if self._reader is None:
            return ()
        changed = self._reader.list_changed(checkout, revision)
        records = [
            record
            for record in self._list_anchored(Scope.of(scope))
            if changed & _list_paths(record)
        ]
        before = self._check(records, checkout, f"{revision}^")
        held_ids = {
            memory.record.id for memory in before if memory.verdict.state is AnchorState.FRESH
        }
        now = self._check(records, checkout)
        return tuple(
            memory
            for memory in now
            if memory.record.id in held_ids and memory.verdict.state is not AnchorState.FRESH
        )

    def _list_anchored(self, scope: Scope) -> list[Record]:
        query = RecordQuery(
            visible_scopes(scope), (), (Status.ACTIVE,), order="oldest", limit=_PAGE
        )
        records = iter_records(self._store, query)
        return [record for record in records if read_anchors(record) is not None]

    def _check(
        self, records: Iterable[Record], checkout: Path, revision: str = ""
    ) -> tuple[CheckedMemory, ...]:
        listed = tuple(records)
        if self._reader is None:
            return ()
        anchors = [read_anchors(record) for record in listed]
        verdicts = self._reader.check(anchors, checkout, revision=revision, seconds=_VERIFY_SECONDS)
        return tuple(
            CheckedMemory(record, verdict)
            for record, verdict in zip(listed, verdicts, strict=True)
            if verdict is not None
        )


def _list_paths(record: Record) -> frozenset[str]:
    anchors = read_anchors(record)
    return frozenset(
        path
        for anchor in (anchors.anchors if anchors else ())
        for path in (anchor.path, *anchor.more_paths)
    )
