"""Records of running summaries: found, saved, and named by a stable id.

A conversation has at most two: of its prompt messages (``window``) and of the statements learned
from it (``rolling``). Each is one record whose text is replaced; a forgotten or purged one is never
overwritten, but followed by the next generation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from engrams import prompts
from engrams.core import (
    LAYER_OF,
    RUNNING,
    Evidence,
    Kind,
    Provenance,
    Record,
    Scope,
    Status,
)
from engrams.errors import ConflictError
from engrams.ports import NewRecord, RecordChange, Store, WriteBatch
from engrams.session.summaries.dependencies import SummaryDeps
from engrams.write.source_checks import check_sources

SummaryKind: TypeAlias = Literal["window", "rolling"]

ACTOR = "summary"
"""Actor of these changes, in the history of memories."""
MAX_COVERED = 2000
"""Ids of covered messages or statements, and of sources, that a summary keeps: the latest."""

_MAX_GENERATIONS = 2000
_TRUST = 0.6
"""Trust in a text that a model made of others, 0 to 1, where all of them are trusted as much."""


@dataclass(frozen=True, slots=True)
class SummaryKey:
    """Conversation and kind of a running summary."""

    scope: Scope
    session: str
    kind: SummaryKind


@dataclass(frozen=True, slots=True)
class SummaryUpdate:
    """New state of a running summary."""

    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What it covers: ``ids``, and ``last`` of a window."""
    sources: Sequence[Record] = ()
    """Memories that it was made of now: erasing one erases the summary too."""
    lease: str = ""
    """Lease of the job that this update finishes."""


class SummaryRecords:
    """Running summaries in the store."""

    def __init__(self, deps: SummaryDeps) -> None:
        self._store = deps.store
        self._clock = deps.clock
        self._model = deps.chat.name if deps.chat else ""

    def find(self, key: SummaryKey) -> Record | None:
        """Find the active summary; None where there is none."""
        return find_summary(self._store, key.scope, key.session, key.kind)

    def list_retired_ids(self, key: SummaryKey) -> list[str]:
        """List what the latest summary covered, if none is active."""
        latest, _ = _find_latest(self._store, key)
        return [] if latest is None else list(latest.meta.get("ids", ()))

    def save(self, key: SummaryKey, current: Record | None, update: SummaryUpdate) -> Record:
        """Save a summary in the place of the current one, with the end of its job.

        ConflictError: it changed meanwhile, or one of its sources did.
        """
        now = self._clock()
        fields: dict[str, Any] = {
            "text": update.text,
            "meta": {RUNNING: key.kind, **update.meta},
            "evidence": _join_evidence(current, update.sources),
            "trust": _find_least_trust(current, update.sources),
        }
        checks = check_sources(key.scope.owner, update.sources, self._store)
        finish = (update.lease,) if update.lease else ()
        if current is None:
            record = self._build_record(key, fields, now)
            self._store.commit(
                WriteBatch(
                    ACTOR, "begun", now, puts=(NewRecord(record),), changes=checks, finish=finish
                )
            )
            return record
        change = RecordChange(
            owner=key.scope.owner,
            id=current.id,
            fields=fields,
            action="summarise",
            expect=current.version,
        )
        self._store.commit(
            WriteBatch(ACTOR, "brought up to date", now, changes=(*checks, change), finish=finish)
        )
        return self._store.get(key.scope.owner, [current.id])[0]

    def _build_record(self, key: SummaryKey, fields: dict[str, Any], now: datetime) -> Record:
        _, next_id = _find_latest(self._store, key)
        return Record(
            id=next_id,
            scope=key.scope,
            kind=Kind.SUMMARY,
            recorded_at=now,
            layer=LAYER_OF[Kind.SUMMARY],
            role="summary",
            session=key.session,
            category="conversation",
            provenance=Provenance(
                "assistant", self._model, prompts.load("summary").hash, f"{key.kind} summary"
            ),
            **fields,
        )


def _find_least_trust(current: Record | None, sources: Sequence[Record]) -> float:
    """Find the least trust in what a summary is made of, and in the summary that it goes on with."""
    before = () if current is None else (current,)
    least_trust = _TRUST
    for record in (*sources, *before):
        least_trust = min(least_trust, record.trust)
    return least_trust


def find_summary(
    store: Store, scope: Scope, session: str = "", kind: SummaryKind = "rolling"
) -> Record | None:
    """Find the active summary of a conversation; None where there is none."""
    record, _ = _find_latest(store, SummaryKey(scope, session, kind))
    return record if record is not None and record.status is Status.ACTIVE else None


def make_summary_id(scope: Scope, session: str, kind: SummaryKind, generation: int = 0) -> str:
    """Return the stable id of a conversation's summary.

    ``generation`` counts summaries that were forgotten or purged. It begins with ten zeros, as of
    the time 0: ids sort by time, and a summary belongs to no moment.
    """
    text = "\x1f".join((scope.key, session, kind, str(generation)))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return "0" * 10 + digest


def _find_latest(store: Store, key: SummaryKey) -> tuple[Record | None, str]:
    """Find the newest generation, and the id of the next one (of an active one its own).

    ConflictError: too many generations.
    """
    latest: Record | None = None
    for generation in range(_MAX_GENERATIONS):
        summary_id = make_summary_id(key.scope, key.session, key.kind, generation)
        records = store.get(key.scope.owner, [summary_id])
        if not records:
            return latest, summary_id
        latest = records[0]
        if latest.status is Status.ACTIVE:
            return latest, summary_id
    raise ConflictError(
        "This conversation's summary was erased too often.", hint="Use another session."
    )


def _join_evidence(current: Record | None, sources: Sequence[Record]) -> tuple[Evidence, ...]:
    """Return the evidence of the current summary and of new sources, each once."""
    earlier_ids = [quote.source for quote in current.evidence] if current else []
    source_ids = dict.fromkeys([*earlier_ids, *(source.id for source in sources)])
    return tuple(Evidence("", source_id) for source_id in source_ids)[-MAX_COVERED:]
