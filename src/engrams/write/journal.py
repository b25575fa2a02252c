"""The journal entry of a write: records of turns with their receipts, jobs and sessions.

``journal`` prepares it and stores nothing; ``ingest.commit`` stores it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from engrams.core import (
    UNLEARNED,
    UNSEARCHED,
    Kind,
    Receipt,
    Record,
    StageDecision,
    Status,
    Turn,
    Vector,
)
from engrams.core.records import asks_only
from engrams.core.tellers_clock import told_at
from engrams.extract.command_parser import asks_to_forget
from engrams.extract.inferred_tags import infer_tags
from engrams.extract.policy import only_gives_up_safety
from engrams.frozen_data import dataclass, replace
from engrams.ports import EMBED, JobSpec, NewRecord, RecordQuery, ScopeReach, SessionRow
from engrams.text.comparison.statement_comparison import is_of_its_day
from engrams.write.extraction_jobs import plan_extraction
from engrams.write.given_statements import annotate_given
from engrams.write.ignored_files import read_rooted_rules
from engrams.write.ingest_request import IngestDeps, IngestRequest
from engrams.write.late_messages import plan_late_comparison
from engrams.write.record_vectors import embed_records
from engrams.write.session_rows import build_session_rows
from engrams.write.turn_conversion import TurnConversionResult, TurnConverter
from engrams.write.write_deps import WriteDeps

_QUESTION = StageDecision("recall", "skip", "only asks the assistant; kept in the log")
_REFUSED_ORDER = StageDecision(
    "policy", "drop", "guard: asks to give up a safety measure; kept in the log"
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """Turns as they are to be stored, in one transaction."""

    now: datetime
    receipts: tuple[Receipt, ...]
    """One for each turn, in order, as if it were stored already."""
    puts: tuple[NewRecord, ...] = ()
    """Records of the turns that are not refused or empty."""
    jobs: tuple[JobSpec, ...] = ()
    session_rows: tuple[SessionRow, ...] = ()

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(put.record for put in self.puts)

    @property
    def has_own_job(self) -> bool:
        """True if the caller of the write runs the extraction job itself."""
        return any(spec.lease is not None for spec in self.jobs)


def journal(turns: Sequence[Turn], request: IngestRequest, deps: IngestDeps) -> JournalEntry:
    """Prepare turns to be stored: cleaned, redacted, embedded and marked.

    No model is asked, except an inline embedder. A refused turn has a receipt and no record.
    InputError: a turn is empty, too large or malformed; then none is stored.
    """
    now = deps.write.clock()
    converter = TurnConverter(
        scope=request.scope,
        kind=request.kind,
        channel=request.channel,
        now=now,
        settings=deps.write.settings,
        ignore_rules=_read_ignore_rules(turns, deps.write),
    )
    conversions = [converter.convert(turn) for turn in turns]
    records = [converted.record for converted in conversions if converted.record is not None]
    vectors: dict[str, Vector] = {}
    notes: tuple[StageDecision, ...] = ()
    if deps.write.embedder.card.inline:
        vectors, notes = embed_records(records, deps.write.embedder)
    unsearched = dict.fromkeys(_find_question_ids(records, request, deps.write), _QUESTION)
    for record in records:
        if _is_refused_order(record, deps.write):
            unsearched[record.id] = _REFUSED_ORDER
    receipts = tuple(
        _make_receipt(converted, converter, vectors, notes, unsearched) for converted in conversions
    )
    if not records:
        return JournalEntry(now, receipts)
    puts = tuple(
        _make_new_record(record, request, deps, vectors, unsearched.get(record.id))
        for record in records
    )
    session_rows: tuple[SessionRow, ...] = ()
    if request.is_live:
        prepared = [put.record for put in puts]
        session_rows = build_session_rows(
            prepared, request.scope, now, deps.write.settings, deps.early_crises
        )
    return JournalEntry(now, receipts, puts, _plan_jobs(puts, request, deps.write), session_rows)


def _read_ignore_rules(turns: Sequence[Turn], deps: WriteDeps) -> tuple[str, ...]:
    """Read a project's ignore files, if any turn comes from a file."""
    if not any({"file", "files"} & turn.meta.keys() for turn in turns):
        return ()
    return read_rooted_rules(Path(deps.settings.write.ignore_root or "."))


def _make_receipt(
    converted: TurnConversionResult,
    converter: TurnConverter,
    vectors: dict[str, Vector],
    notes: tuple[StageDecision, ...],
    unsearched: Mapping[str, StageDecision],
) -> Receipt:
    """Make the receipt of one turn.

    ``notes``: decisions about the vectors of all. ``unsearched``: why no search is to find a
    record, by its id.
    """
    record = converted.record
    if record is None:
        return Receipt(
            "", converter.scope, converted.outcome, converter.now, decisions=converted.decisions
        )
    decisions = (*converted.decisions, *notes)
    searchable: tuple[str, ...] = ("lexical", "dense") if record.id in vectors else ("lexical",)
    if record.id in unsearched:
        decisions = (*decisions, unsearched[record.id])
        searchable = ()
    return Receipt(
        id=record.id,
        scope=converter.scope,
        outcome=converted.outcome,
        recorded_at=record.recorded_at,
        searchable=searchable,
        decisions=decisions,
    )


def _find_question_ids(
    records: Sequence[Record], request: IngestRequest, deps: WriteDeps
) -> frozenset[str]:
    """Find a user's messages that only ask the assistant: no read is to find them.

    Of imported ones, those that an assistant answers. They are archived, stay neighbours of their
    answers in the index, and are extracted from.
    """
    settings = deps.settings
    if settings.write.questions == "recall" or settings.tiers.enabled:
        return frozenset()  # tiers keep a question and its answer as one exchange
    followers = (*records[1:], None)
    return frozenset(
        record.id
        for record, follower in zip(records, followers, strict=False)
        if (request.is_live or (follower is not None and follower.role == "assistant"))
        and asks_only(record)
    )


def _make_new_record(
    record: Record,
    request: IngestRequest,
    deps: IngestDeps,
    vectors: dict[str, Vector],
    unsearched: StageDecision | None,
) -> NewRecord:
    """Make the store's new record of a turn or a statement, marked for the steps that follow.

    Marks: echoes of memory, requests, questions. A statement also gets its annotations and tags.
    ``unsearched``: why no search is to find it.
    """
    vector = vectors.get(record.id)
    # A question to the assistant tells nothing: searches leave it out, the log keeps it.
    if unsearched is _QUESTION:
        record = replace(record, status=Status.ARCHIVED, retired_at=record.recorded_at)
    record = _mark_echoes(record, deps)
    if unsearched is _REFUSED_ORDER or _is_request_to_forget(record):
        record = replace(record, meta={**record.meta, UNSEARCHED: True})
    if request.kind in (Kind.TURN, Kind.EXCHANGE):
        return NewRecord(record, vector=vector)
    if deps.write.settings.write.reconcile != "off":
        record = annotate_given(record)
    # The sender's own id names one record, even if another says the same.
    is_deduplicated = (
        not record.external_id
        and record.status is Status.ACTIVE
        and not _is_said_on_another_day(record, deps.write)
    )
    if deps.write.settings.write.infer_tags:
        tags = tuple(dict.fromkeys((*record.tags, *infer_tags(record.search_text))))
        record = replace(record, tags=tags)
    return NewRecord(record, dedup=is_deduplicated, vector=vector)


def _is_said_on_another_day(record: Record, deps: WriteDeps) -> bool:
    """True for "I ran five miles today", if it was said before, but not on this day."""
    if not is_of_its_day(record.text):
        return False
    reach = ScopeReach(record.scope.owner, (record.scope,))
    query = RecordQuery(reach, (record.kind,), hashes=(record.hash,))
    days = {told_at(known).date() for known in deps.store.find(query).records}
    return bool(days) and told_at(record).date() not in days


def _mark_echoes(record: Record, deps: IngestDeps) -> Record:
    """Mark a turn that repeats memory from a prompt: extraction leaves the echo out."""
    if record.kind is Kind.NOTE:
        return record
    shared = deps.injected.find_shared(record, deps.write.store)
    return replace(record, meta={**record.meta, "echo": list(shared)}) if shared else record


def _is_request_to_forget(record: Record) -> bool:
    """True for a person's message that asks to forget something: a search would find it itself."""
    is_users_turn = record.kind is Kind.TURN and record.role == "user"
    return is_users_turn and asks_to_forget(record.text)


def _is_refused_order(record: Record, deps: WriteDeps) -> bool:
    """True for a person's order to give up a safety measure, which the policy refuses.

    It must not stand in a prompt: there it would be followed all the same. A note may be one, too,
    where the policy is strict (``write.hold_below``); elsewhere "ignore deprecation warnings" is a
    note of work.
    """
    kinds = (Kind.TURN, Kind.NOTE) if deps.settings.write.hold_below else (Kind.TURN,)
    return record.kind in kinds and record.role == "user" and only_gives_up_safety(record.text)


def _plan_jobs(
    puts: Sequence[NewRecord], request: IngestRequest, deps: WriteDeps
) -> tuple[JobSpec, ...]:
    """Plan the jobs that extract from the records, and embed those without a vector."""
    section = deps.settings.write
    jobs: list[JobSpec] = []
    records = [put.record for put in puts]
    learned_ids = [
        record.id
        for record in records
        if (record.role in section.roles or record.kind not in (Kind.TURN, Kind.EXCHANGE))
        and not record.meta.get(UNLEARNED)
    ]
    if learned_ids and section.extract != "off":
        extraction = plan_extraction(
            records, learned_ids, deps, lease=request.lease, quiet=request.quiet
        )
        jobs.append(replace(extraction, calm=True))
        if extraction.payload.get("trigger"):
            # An observe needs no rules: they load late.
            from engrams.write.follow_ups import plan_gathered_changes

            gathered = [record for record in records if record.id in learned_ids]
            jobs += plan_gathered_changes(gathered, deps)
    card = deps.embedder.card
    if card.dimension and any(put.vector is None for put in puts):
        jobs.append(JobSpec(EMBED, card.id, attempts=deps.settings.jobs.max_attempts))
    if any(turn.at for turn in request.turns):
        jobs += plan_late_comparison(records, deps)
    return tuple(jobs)
