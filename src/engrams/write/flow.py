"""Write flow: the only module here that calls stores and models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from engrams.errors import BudgetError, ModelError
from engrams.ports import Batch, Embedder, Put
from engrams.settings import WriteSettings
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.types import Cost, Decision, Derived, Kind, Receipt, Record, Scope, Status, Turn, Vector
from engrams.write import llm, policy
from engrams.write import record as journals
from engrams.write.candidate import Candidate, canonical_subject
from engrams.write.changeset import ChangeSet, derived_id
from engrams.write.deps import WriteDeps as WriteDeps
from engrams.write.echo import remove_echoes
from engrams.write.gate import gate_text
from engrams.write.llm.reconcile import NO_COST
from engrams.write.neighbours import (
    NEAR,
    OPEN,
    find_known,
    find_nearest,
    find_neighbours,
    find_rivals,
    known_speakers,
    reconcile_candidate,
    scopes_in_reach,
)
from engrams.write.neighbours import STATEMENTS as STATEMENTS
from engrams.write.reconcile import Reconciliation
from engrams.write.rules import UtteranceContext, extract_statements, is_explicit
from engrams.write.slots import canonical_predicate

_MOST_KNOWN = 40

DecidedCandidate: TypeAlias = "tuple[Candidate, policy.PolicyDecision]"


@dataclass(frozen=True, slots=True)
class JournalResult:
    """Records to store and a receipt for each turn, in order.
    ``records``: the stored ones, for ``digest_records``."""

    puts: tuple[Put, ...]
    receipts: tuple[Receipt, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class DigestResult:
    """Batch to commit and the decisions behind it.
    ``by_source``: derived memories by the record they came from. ``failed``: the lane of a model's extraction to retry."""

    batch: Batch
    derived: tuple[Derived, ...] = ()
    decisions: tuple[Decision, ...] = ()
    cost: Cost = NO_COST
    by_source: Mapping[str, tuple[Derived, ...]] = field(default_factory=dict)
    failed: str = ""

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to store."""
        return not (self.batch.puts or self.batch.changes or self.batch.edges)


@dataclass(frozen=True, slots=True)
class Extraction:
    """Extracted candidates with their policy decisions, by record in order."""

    by_record: tuple[tuple[Record, tuple[DecidedCandidate, ...]], ...] = ()
    decisions: tuple[Decision, ...] = ()
    cost: Cost = NO_COST
    failed: str = ""

    @property
    def has_candidates(self) -> bool:
        """True if any candidate could be stored."""
        return any(decided for _, decided in self.by_record)


def journal_turns(turns: Sequence[Turn], scope: Scope, deps: WriteDeps, *, kind: Kind = Kind.TURN, channel: str = "") -> JournalResult:
    """Convert turns to records, redacted, with receipts.

    No model is asked, except an inline embedder. A refused turn has a receipt and no record. InputError: a turn is empty, too large or
    malformed; then none is journaled.
    """
    now = deps.clock()
    entries = [
        journals.ingest_turn(turn, scope, now, deps.settings, deps.limits, kind=kind, channel=channel, ignore=deps.ignore) for turn in turns
    ]
    records = [entry.record for entry in entries if entry.record is not None]
    inline = deps.embedder if deps.embedder is not None and deps.embedder.card.inline else None
    vectors, notes = _embed_records(records, inline)
    receipts = tuple(_build_receipt(entry, scope, now, vectors, notes) for entry in entries)
    return JournalResult(tuple(Put(record, vector=vectors.get(record.id)) for record in records), receipts, tuple(records))


def digest_records(records: Sequence[Record], deps: WriteDeps, *, echoes: Collection[str] = (), actor: str = "digest") -> DigestResult:
    """Learn from journaled records: one batch to commit.
    Repeating it for the same records stores nothing twice."""
    return reconcile_extraction(extract_candidates(records, deps, echoes=echoes), deps, actor=actor)


def extract_candidates(records: Sequence[Record], deps: WriteDeps, *, echoes: Collection[str] = ()) -> Extraction:
    """Run gate, extract and policy over journaled records.

    The result stays valid whatever else is learned meanwhile. The records must share one owner. ``echoes``: fingerprints of what was
    injected into prompts, besides those that a turn carries. Raises ModelError where the chat model fails for good, so that the job is
    retried; the records are safe in the journal.
    """
    if not records:
        return Extraction()
    decisions: list[Decision] = []
    ordered = sorted(records, key=lambda record: (record.recorded_at, record.id))
    open_ = [own for record in ordered if (own := _gate_record(record, deps.settings, echoes, decisions)) is not None]
    found, cost, failed = _extract_by_record(open_, deps, decisions)
    done = _find_stored([candidate for candidates in found.values() for candidate in candidates], ordered[0].scope.owner, deps)
    by_record: list[tuple[Record, tuple[DecidedCandidate, ...]]] = []
    for record in open_:
        fresh = [candidate for candidate in found.get(record.id, ()) if not _is_repeated(candidate, done, decisions)]
        decided, spent = _apply_policy(record, fresh, deps, decisions)
        cost += spent
        by_record.append((record, tuple(decided)))
    return Extraction(tuple(by_record), tuple(decisions), cost, failed)


def reconcile_extraction(extraction: Extraction, deps: WriteDeps, *, actor: str = "digest") -> DigestResult:
    """Run dedup, reconcile and persist against current memory.
    May be repeated if memory changed meanwhile."""
    now = deps.clock()
    if not extraction.by_record:
        return DigestResult(Batch(actor, "nothing to learn from", now), (), extraction.decisions, extraction.cost, failed=extraction.failed)
    decisions, cost = list(extraction.decisions), extraction.cost
    by_source: dict[str, tuple[Derived, ...]] = {}
    first = extraction.by_record[0][0]
    changes = ChangeSet(first.scope.owner, first.scope, now)
    for record, decided in extraction.by_record:
        changes.scope = record.scope
        start = len(changes.derived)
        cost += _reconcile_record(record, decided, deps, changes, decisions)
        by_source[record.id] = tuple(changes.derived[start:])
    _supersede_notes(changes, deps)
    vectors, notes = _embed_records(list(changes.created.values()), deps.embedder)
    decisions.extend(notes)
    batch = changes.to_batch(actor, "learned from what was said", vectors)
    return DigestResult(batch, tuple(changes.derived), tuple(decisions), cost, by_source, extraction.failed)


# --------------------------------------------------------------------------------------------------------------- steps


def _gate_record(record: Record, settings: WriteSettings, echoes: Collection[str], decisions: list[Decision]) -> Record | None:
    """Return the record without echoes, or None if the gate refuses it."""
    # A turn is learned from even if it left the working tier meanwhile.
    away = record.kind is Kind.TURN and record.status is Status.ARCHIVED
    if (record.status is not Status.ACTIVE and not away) or record.kind not in (Kind.TURN, Kind.EXCHANGE, Kind.NOTE):
        decisions.append(Decision("gate", "skip", f"{record.status} {record.kind}", record=record.id))
        return None
    if record.kind is Kind.NOTE:
        return record
    if record.role not in settings.roles:
        decisions.append(Decision("gate", "skip", f"role {record.role or 'unknown'}", record=record.id))
        return None
    injected = record.meta.get("echo")
    known = {*echoes, *(mark for mark in injected if isinstance(mark, str))} if isinstance(injected, list | tuple) else echoes
    own = remove_echoes(record.text, known)
    refused = gate_text(own, min_words=settings.min_words) if settings.gate and own else None
    if refused is not None or not own:
        decisions.append(replace(refused or Decision("gate", "skip", "echo", record.text[:80]), record=record.id))
        return None
    return record if own == record.text else replace(record, text=own)


def _extract_by_record(records: list[Record], deps: WriteDeps, decisions: list[Decision]) -> tuple[dict[str, list[Candidate]], Cost, str]:
    """Extract candidates by record; also the cost and the failed lane."""
    mode = deps.settings.extract
    if mode == "off" or not records:
        return {}, Cost(), ""
    if deps.chat is not None and mode in ("llm", "auto"):
        briefing = llm.ExtractionBriefing(find_known(records[0], deps), deps.gaps)
        try:
            if deps.settings.extraction_passes == 2 or deps.lane:
                return llm.extract_in_lanes(records, briefing, deps.chat, deps.settings.batch_turns, decisions, deps.lane)
            return (*llm.extract_by_model(records, briefing, deps.chat, deps.settings.batch_turns, decisions), "")
        except BudgetError as problem:
            if mode == "llm":
                raise
            decisions.append(Decision("extract", "rules", f"no model: {problem.message}"))
    elif mode == "llm":
        raise ModelError(
            "Extraction is set to llm, and no chat model is configured.",
            hint="Set chat.provider, or write.extract to auto.",
            retryable=False,
        )
    names = known_speakers(records, deps)
    return {record.id: _extract_by_rules(record, names) for record in records}, Cost(), ""


def _extract_by_rules(record: Record, names: frozenset[str]) -> list[Candidate]:
    named = record.speaker.strip()
    subject = canonical_subject(named, record.scope) if named else "user"
    speech = UtteranceContext(named or "the user", subject, record.recorded_at, record.id, record.trust, names)
    found = [
        replace(candidate, subject=canonical_subject(candidate.subject, record.scope))
        for candidate in extract_statements(record.text, speech)
    ]
    if record.kind is Kind.NOTE and found and _covers_text(record.text, found[0]):
        found[0] = replace(found[0], covers_source=True)
    return found


def _apply_policy(
    record: Record, candidates: Sequence[Candidate], deps: WriteDeps, decisions: list[Decision]
) -> tuple[list[DecidedCandidate], Cost]:
    """Decide what may be stored, and whether at once."""
    settings = deps.settings
    explicit = record.kind is Kind.NOTE or is_explicit(record.text)
    verdicts = [
        policy.decide(candidate, mode=settings.policy, explicit=explicit, floor=settings.min_confidence) for candidate in candidates
    ]
    cost = Cost()
    if settings.policy == "llm" and deps.chat is not None:
        asked = [at for at, decision in enumerate(verdicts) if decision.action != "drop"]
        judged, cost = llm.decide_by_model(record, [candidates[at] for at in asked], deps.chat)
        for at, decision in zip(asked, judged, strict=True):
            verdicts[at] = decision
    if settings.policy == "rules" and record.kind is not Kind.NOTE:
        verdicts = [policy.clamp_decision(candidate, decision) for candidate, decision in zip(candidates, verdicts, strict=True)]
    pairs = list(zip(candidates, verdicts, strict=True))
    decisions.extend(Decision("policy", decision.action, decision.reason, candidate.text[:200], record.id) for candidate, decision in pairs)
    return [(candidate, decision) for candidate, decision in pairs if decision.action != "drop"], cost


def _reconcile_record(
    record: Record, decided: Sequence[DecidedCandidate], deps: WriteDeps, changes: ChangeSet, decisions: list[Decision]
) -> Cost:
    """Reconcile one record's candidates in order; each sees the earlier ones."""
    if not decided:
        return Cost()
    mode = deps.settings.reconcile
    if deps.chat is not None and mode in ("llm", "auto"):
        return _reconcile_by_model(record, decided, deps, changes, decisions)
    for candidate, decision in decided:
        outcome = (
            Reconciliation("add", candidate, reason="reconcile off")
            if mode == "off"
            else reconcile_candidate(candidate, record, deps, changes)
        )
        changes.apply(outcome, decision, record)
    return Cost()


def _reconcile_by_model(
    record: Record, decided: Sequence[DecidedCandidate], deps: WriteDeps, changes: ChangeSet, decisions: list[Decision]
) -> Cost:
    """Reconcile one record's candidates together, by a model."""
    if deps.chat is None:
        return Cost()
    near: dict[str, Record] = {}
    for candidate, _ in decided:
        if deps.settings.contradiction_cosine:
            near |= {one.id: one for one in find_rivals(candidate, record, deps, changes)}
            continue
        close = find_neighbours(candidate, record, deps, changes)
        mine = [
            one
            for one in close
            if one.subject == candidate.subject and canonical_predicate(one.predicate) == canonical_predicate(candidate.predicate)
        ]
        near |= {
            one.id: one
            for one in [*mine[:NEAR], *find_nearest(candidate, record, scopes_in_reach(record.scope), deps)]
            if one.id in changes.current
        }
    known = [changes.current[name] for name in near if changes.current[name].status in OPEN][:_MOST_KNOWN]
    result = llm.reconcile_by_model([candidate for candidate, _ in decided], known, deps.chat, deps.settings, decisions)
    for outcome, (_, decision) in zip(result.outcomes, decided, strict=True):
        hold = deps.settings.reconcile_fallback == "hold" and any(outcome is one for one in result.unsure)
        changes.apply(outcome, policy.PolicyDecision("commit_at_session_end", "not reconciled") if hold else decision, record)
    changes.remove(result.removed, "a model removed it")
    return result.cost


def _find_stored(candidates: Sequence[Candidate], owner: Scope, deps: WriteDeps) -> frozenset[str]:
    ids = list(dict.fromkeys(derived_id(candidate) for candidate in candidates))
    return frozenset(record.id for record in deps.records.get(owner, ids)) if ids else frozenset()


def _is_repeated(candidate: Candidate, done: frozenset[str], decisions: list[Decision]) -> bool:
    if derived_id(candidate) not in done:
        return False
    decisions.append(Decision("dedup", "skip", "stored by an earlier run", candidate.text[:200], derived_id(candidate)))
    return True


def _supersede_notes(changes: ChangeSet, deps: WriteDeps) -> None:
    """Supersede notes whose only statement was superseded; turns stay."""
    lost = [
        record
        for record in changes.current.values()
        if record.status is Status.SUPERSEDED and record.meta.get("whole") and record.superseded_by
    ]
    changed = [record for record in lost if record.id in changes.created or changes.originals[record.id].status is not Status.SUPERSEDED]
    sources = {item.source: record for record in changed for item in record.evidence[:1]}
    for note in deps.records.get(changes.owner, list(sources)) if sources else ():
        if note.kind is Kind.NOTE and note.status is Status.ACTIVE:
            changes.add_stored([note])
            changes.supersede_note(note, sources[note.id])


def _covers_text(text: str, candidate: Candidate) -> bool:
    """True if the candidate's quote is all the text says."""
    quoted = set(terms(candidate.evidence[0].quote)) if candidate.evidence else set()
    return not any(word not in quoted and word not in STOP for word in terms(text))


# ------------------------------------------------------------------------------------------------------------- models


def _embed_records(records: Sequence[Record], embedder: Embedder | None) -> tuple[dict[str, Vector], tuple[Decision, ...]]:
    """Embed records by id; a failure leaves them findable by words."""
    if embedder is None or not records:
        return {}, ()
    try:
        matrix = embedder.embed([record.search_text for record in records], "document")
    except ModelError as problem:
        return {}, (Decision("embed", "later", problem.message),)
    card = embedder.card
    rows = {record.id: row for record, row in zip(records, matrix, strict=True) if row.any()}
    return {name: Vector(name, card.id, card.dimension, row.astype("<f4").tobytes()) for name, row in rows.items()}, ()


def _build_receipt(
    entry: journals.IngestedTurn, scope: Scope, now: datetime, vectors: Mapping[str, Vector], notes: tuple[Decision, ...]
) -> Receipt:
    record = entry.record
    if record is None:
        return Receipt("", scope, "refused", now, decisions=entry.decisions)
    searchable = ("lexical", "dense") if record.id in vectors else ("lexical",)
    return Receipt(
        record.id,
        scope,
        "redacted" if entry.outcome == "redacted" else "stored",
        record.recorded_at,
        searchable,
        decisions=(*entry.decisions, *notes),
    )
