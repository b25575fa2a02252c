"""Ingest of turns: records, index entries, vectors and jobs in one transaction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from engrams.core import (
    UNSEARCHED,
    Kind,
    Receipt,
    Record,
    Scope,
    StageDecision,
    Status,
    Turn,
)
from engrams.core.records import asks_only
from engrams.errors import EngramsError, RefusedError
from engrams.extract.command_parser import asks_to_forget
from engrams.extract.inferred_tags import infer_tags
from engrams.frozen_data import dataclass
from engrams.ports import (
    EMBED,
    EXTRACT,
    Clock,
    Embedder,
    Job,
    JobLease,
    JobSpec,
    NewRecord,
    SessionRow,
    StorageUse,
    Store,
    WriteBatch,
)
from engrams.session.working_tier import OFFLINE_CHANNELS, TierWriteResult, WorkingTier
from engrams.settings import Settings
from engrams.write.dependencies import WriteDeps
from engrams.write.extraction_jobs import ExtractionJobPlanner, find_leased_job
from engrams.write.fingerprints import InjectedContextFingerprints
from engrams.write.ignored_files import read_rooted_rules
from engrams.write.privacy_modes import IncognitoSessions
from engrams.write.save_requests import NoSaveRequestLog
from engrams.write.turn_conversion import TurnIngestRecords, journal_turns

if TYPE_CHECKING:
    from engrams.write.write_pipeline import ExtractionBatch, ExtractionResult, HeardAhead

MINE = 10_000
"""Sessions begun here that end with this process; a sweep ends older ones."""
SessionKey: TypeAlias = tuple[str, str]
"""Owner's key and a session's name."""
OwnExtraction: TypeAlias = tuple[JobLease, "Callable[[Sequence[Record]], HeardAhead | None]"]
"""Lease of the job that a caller runs itself, and what extracts from messages before they are
stored.
"""


_ASKED = StageDecision("recall", "skip", "only asks the assistant; kept in the log")
_UNSAVED = StageDecision("privacy", "skip", "not saved, as the message asks")
_OFF = StageDecision("switch", "refused", "memory is off: the setting `enabled` is false")


@dataclass(frozen=True, slots=True)
class TurnIngestResult:
    """Receipts, the leased job to run at once, and its records.

    ``found``: what was extracted from them already. ``learned``: nothing of it is to be reconciled,
    so that there is no job.
    """

    receipts: tuple[Receipt, ...]
    job: Job | None = None
    records: tuple[Record, ...] = ()
    found: ExtractionResult | None = None
    learned: bool = False


class TurnIngester:
    """Writer of turns as records; no model calls except an inline embedder."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        working: WorkingTier | None = None,
        *,
        model: bool = False,
        incognito: IncognitoSessions | None = None,
        injected: InjectedContextFingerprints | None = None,
    ) -> None:
        """Set up the ingest of one engine.

        ``working``: the tier that turns pass through (None: directly into the store). ``model``: a
        chat model extracts, so that its work is debounced. ``injected``: fingerprints of memory in
        prompts.
        """
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._extraction_jobs = ExtractionJobPlanner(settings, clock, has_model=model)
        self._working = working
        self._quota = StorageUse(settings.quota.records, settings.quota.bytes)
        self._injected = injected or InjectedContextFingerprints()
        self._incognito = incognito or IncognitoSessions()
        self._unsaved = NoSaveRequestLog(store, self._injected.peers)
        self._ends_all = settings.sessions.end_on_close == "all" and not settings.is_volatile
        self._spoken: OrderedDict[SessionKey, Scope] = OrderedDict()
        self._lock = Lock()
        self._deps = WriteDeps(
            records=store,
            settings=settings.write,
            limits=settings.limits,
            clock=clock,
            search=store,
            embedder=embedder,
        )

    @property
    def spoken(self) -> dict[SessionKey, Scope]:
        """Sessions that turns began here, if they end with this process."""
        with self._lock:
            return dict(self._spoken)

    def write(
        self,
        turns: Sequence[Turn],
        scope: Scope,
        kind: Kind,
        *,
        channel: str = "",
        own: OwnExtraction | None = None,
        quiet: float | None = None,
    ) -> TurnIngestResult:
        """Store turns in order, with the jobs that follow.

        ``own``: the caller runs the extraction job itself, unless ``sessions.trigger`` gathers
        turns. ``quiet``: seconds before a model extracts (None: the setting). RefusedError: a
        single turn was refused, as by a secret.
        """
        now = self._clock()
        for turn in turns:
            turn.check_types()
        if not self._settings.enabled:
            return TurnIngestResult(
                tuple(Receipt("", scope, "refused", now, decisions=(_OFF,)) for _ in turns)
            )
        marks = self._unsaved.mark(turns, scope)
        barred = [
            self._bar_turn(turn, scope, now, unsaved=mark)
            for turn, mark in zip(turns, marks, strict=True)
        ]
        recorded = [turn for turn, receipt in zip(turns, barred, strict=True) if receipt is None]
        if channel not in OFFLINE_CHANNELS:
            self._unsaved.note_bare(
                [
                    turn
                    for turn, receipt in zip(turns, barred, strict=True)
                    if receipt and receipt.decisions
                ],
                scope,
            )
        written = (
            self._write(recorded, scope, kind, channel=channel, own=own, quiet=quiet)
            if recorded
            else TurnIngestResult(())
        )
        rest = iter(written.receipts)
        return replace(written, receipts=tuple(receipt or next(rest) for receipt in barred))

    def _write(
        self,
        turns: Sequence[Turn],
        scope: Scope,
        kind: Kind,
        *,
        channel: str,
        own: OwnExtraction | None,
        quiet: float | None,
    ) -> TurnIngestResult:
        now = self._clock()
        deps = self._deps
        if any({"file", "files"} & turn.meta.keys() for turn in turns):
            deps = replace(
                deps, ignore=read_rooted_rules(Path(self._settings.write.ignore_root or "."))
            )
        journaled = self._log_questions(
            journal_turns(turns, scope, deps, kind=kind, channel=channel), channel
        )
        if not journaled.puts:
            if len(turns) == 1 and journaled.receipts[0].outcome == "refused":
                raise _make_refusal(journaled.receipts[0])
            return TurnIngestResult(journaled.receipts)
        explicit = kind not in (Kind.TURN, Kind.EXCHANGE)
        # One with the sender's own id is what that id names, also where another says the same.
        marked = tuple(
            replace(put, record=_hide_request(self._mark_echoes(put.record)))
            for put in journaled.puts
        )
        puts = tuple(
            replace(
                put,
                dedup=explicit
                and not put.record.external_id
                and put.record.status is Status.ACTIVE,
            )
            for put in marked
        )
        if explicit and self._settings.write.infer_tags:
            puts = tuple(replace(put, record=_add_tags(put.record)) for put in puts)
        records = tuple(put.record for put in puts)
        lease, hear = own or (None, None)
        jobs = self._make_jobs(puts, scope, lease, quiet)
        ahead = hear(records) if hear and any(spec.lease for spec in jobs) else None
        session_rows = (
            () if channel in OFFLINE_CHANNELS else self._build_session_rows(records, scope, now)
        )
        batch = WriteBatch(
            channel or "user",
            "said",
            now,
            puts=puts,
            jobs=jobs,
            sessions=session_rows,
            quota=self._quota,
        )
        learned, entered = self._enter_learned(batch, ahead, scope)
        jobs = jobs if learned is None else tuple(spec for spec in jobs if not spec.lease)
        self._note_spoken(session_rows)
        made = entered.done.jobs[: len(jobs)]
        pending = tuple(
            dict.fromkeys(spec.kind for spec, name in zip(jobs, made, strict=True) if name)
        )
        receipts = tuple(
            self._complete_receipt(receipt, entered, pending) for receipt in journaled.receipts
        )
        if (
            learned is not None
            and not entered.done.crisis
            and len(entered.done.existing) < len(puts)
        ):
            return TurnIngestResult(
                tuple(learned.complete(one, EXTRACT) for one in receipts), learned=True
            )
        job = find_leased_job(jobs, made, now)
        if job is None:
            return TurnIngestResult(receipts)
        return TurnIngestResult(receipts, job, records, None if ahead is None else ahead.found)

    def _enter_learned(
        self, batch: WriteBatch, ahead: HeardAhead | None, scope: Scope
    ) -> tuple[ExtractionBatch | None, TierWriteResult]:
        """Store messages with what they say, in one transaction.

        Without: it is not known yet, or others changed meanwhile what it was compared with. Then a
        job learns from them.
        """
        learned = (
            ahead.learned
            if ahead is not None and (self._working is None or not ahead.found.has_candidates)
            else None
        )
        if learned is None:
            return None, self._enter(batch, scope)
        rest = tuple(spec for spec in batch.jobs if not spec.lease)
        if learned.is_empty:
            later = tuple(replace(spec, fresh=True, calm=True) for spec in learned.batch.jobs)
            return learned, self._enter(replace(batch, jobs=(*rest, *later)), scope)
        try:
            return learned, self._enter(replace(batch, jobs=rest, then=learned.batch), scope)
        except EngramsError:
            return None, self._enter(batch, scope)

    def _enter(self, batch: WriteBatch, scope: Scope) -> TierWriteResult:
        return (
            TierWriteResult(self._store.commit(batch))
            if self._working is None
            else self._working.commit(batch, scope)
        )

    def _log_questions(self, journaled: TurnIngestRecords, channel: str) -> TurnIngestRecords:
        """Archive a user's messages that only ask the assistant.

        No read finds them. Of imported ones those that an assistant answers. They stay neighbours
        of their answers in the index, and are extracted from.
        """
        if self._settings.write.questions == "recall" or self._settings.tiers.enabled:
            return journaled  # tiers keep a question and its answer as one exchange
        records = journaled.records
        answered = channel not in OFFLINE_CHANNELS
        asked = {
            one.id
            for one, after in zip(records, (*records[1:], None), strict=False)
            if (answered or (after is not None and after.role == "assistant")) and asks_only(one)
        }
        puts = tuple(
            replace(put, record=_archive(put.record)) if put.record.id in asked else put
            for put in journaled.puts
        )
        receipts = tuple(
            replace(receipt, searchable=(), decisions=(*receipt.decisions, _ASKED))
            if receipt.id in asked
            else receipt
            for receipt in journaled.receipts
        )
        return TurnIngestRecords(puts, receipts)

    def _bar_turn(
        self, turn: Turn, scope: Scope, now: datetime, *, unsaved: bool
    ) -> Receipt | None:
        """Return the receipt of a turn that must not be stored."""
        if self._incognito.is_silent(scope, turn.session):
            return Receipt("", scope, "incognito", now)
        return Receipt("", scope, "unsaved", now, decisions=(_UNSAVED,)) if unsaved else None

    def _mark_echoes(self, record: Record) -> Record:
        """Mark a turn that repeats injected memory; extraction skips the echo."""
        if record.kind is Kind.NOTE:
            return record
        shared = self._injected.find_shared(record, self._store)
        return replace(record, meta={**record.meta, "echo": list(shared)}) if shared else record

    def _build_session_rows(
        self, records: Sequence[Record], scope: Scope, now: datetime
    ) -> tuple[SessionRow, ...]:
        """Build rows of sessions with recent turns; old turns open no session."""
        since = now - timedelta(minutes=self._settings.sessions.idle_minutes)
        names = [
            record.session
            for record in records
            if record.session and record.kind is not Kind.NOTE and record.recorded_at > since
        ]
        data = {"mode": self._settings.sessions.mode}
        return tuple(
            SessionRow(
                id=name, scope=scope, state="active", started_at=now, last_active=now, data=data
            )
            for name in dict.fromkeys(names)
        )

    def _note_spoken(self, rows: Sequence[SessionRow]) -> None:
        if not self._ends_all or not rows:
            return
        with self._lock:
            for row in rows:
                self._spoken[row.scope.owner.key, row.id] = row.scope
            while len(self._spoken) > MINE:
                self._spoken.popitem(last=False)

    def _make_jobs(
        self, puts: Sequence[NewRecord], scope: Scope, lease: JobLease | None, quiet: float | None
    ) -> tuple[JobSpec, ...]:
        section = self._settings.write
        jobs = []
        records = [put.record for put in puts]
        learn = [
            record.id
            for record in records
            if record.role in section.roles or record.kind is Kind.NOTE
        ]
        if learn and section.extract != "off":
            jobs.append(
                replace(self._extraction_jobs.plan(records, learn, scope, lease, quiet), calm=True)
            )
        if self._embedder.card.dimension and any(put.vector is None for put in puts):
            jobs.append(
                JobSpec(EMBED, self._embedder.card.id, attempts=self._settings.jobs.max_attempts)
            )
        return tuple(jobs)

    def _complete_receipt(
        self, receipt: Receipt, entered: TierWriteResult, waiting: tuple[str, ...]
    ) -> Receipt:
        if receipt.outcome == "refused":
            return receipt
        known = entered.done.existing.get(receipt.id) or entered.twins.get(receipt.id)
        skipped = entered.skipped.get(receipt.id)
        if skipped is not None:
            receipt = replace(receipt, decisions=(*receipt.decisions, skipped), searchable=())
        if known:
            return replace(receipt, id=known, outcome="duplicate")
        return replace(
            receipt,
            outcome="incognito" if self._settings.incognito else receipt.outcome,
            pending=waiting,
        )


def _hide_request(record: Record) -> Record:
    """Keep a request to forget out of searches."""
    asked = record.kind is Kind.TURN and record.role == "user" and asks_to_forget(record.text)
    return replace(record, meta={**record.meta, UNSEARCHED: True}) if asked else record


def _make_refusal(receipt: Receipt) -> RefusedError:
    """Make the error of a single refused turn."""
    found = (
        ", ".join(dict.fromkeys(decision.reason for decision in receipt.decisions)) or "a secret"
    )
    if any(decision.stage == "ignored" for decision in receipt.decisions):
        return RefusedError(
            f"Not stored: its file is never stored ({found}).", hint="Change the ignore file."
        )
    return RefusedError(
        f"Not stored: it holds {found}.", hint="Take it out, or set `write.secrets` to redact."
    )


def _archive(record: Record) -> Record:
    return replace(record, status=Status.ARCHIVED, retired_at=record.recorded_at)


def _add_tags(record: Record) -> Record:
    return replace(
        record, tags=tuple(dict.fromkeys((*record.tags, *infer_tags(record.search_text))))
    )
