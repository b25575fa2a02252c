"""Write flow: the only module here that calls stores and models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import count
from typing import TypeAlias

from engrams.core import (
    DerivedMemory,
    Kind,
    ModelCost,
    Receipt,
    Record,
    Scope,
    StageDecision,
    Status,
)
from engrams.errors import BudgetError, ModelError
from engrams.extract import by_model, policy
from engrams.extract.by_rules import extract_by_rules, gate_record
from engrams.extract.candidate import CandidateStatement, close_category, drop_tags
from engrams.extract.inferred_tags import ASK_TAGS, tag_candidate
from engrams.extract.predicate_slots import canonical_predicate, find_synonyms, has_synonyms
from engrams.extract.rules import is_explicit
from engrams.frozen_data import dataclass
from engrams.ports import ChatModel, WriteBatch
from engrams.settings import WriteSettings
from engrams.write import reconcile_by_model
from engrams.write.change_set import DigestChangeSet, derived_id
from engrams.write.dependencies import WriteDeps
from engrams.write.reconcile import (
    ReconciliationResult,
    find_exact,
    object_terms,
    reconcile,
    says_the_same,
)
from engrams.write.reconcile_by_model import NO_COST
from engrams.write.related_statements import (
    NEAR,
    OPEN,
    STATEMENTS,
    find_context,
    find_ended,
    find_inner_rivals,
    find_known,
    find_latest,
    find_nearest,
    find_neighbours,
    find_past,
    find_replies,
    find_rivals,
    find_statements,
    find_twins,
    known_speakers,
)
from engrams.write.retracted_events import find_denied, retract_denied
from engrams.write.stated_facts import (
    hide_given,
    read_given,
    select_given,
    settle_given,
    with_slots,
)
from engrams.write.turn_conversion import embed_records

__all__ = ["STATEMENTS", "WriteDeps"]

_MOST_KNOWN = 60
_GIVEN = policy.StoragePolicyDecision("commit_now", "given as a statement")
_NOT_RECONCILED = policy.StoragePolicyDecision("commit_at_session_end", "not reconciled")

DecidedCandidate: TypeAlias = "tuple[CandidateStatement, policy.StoragePolicyDecision]"


@dataclass(frozen=True, slots=True)
class ExtractionBatch:
    """Batch of changes from one extraction, and the decisions behind it.

    ``by_source``: derived memories by the record they came from. ``failed``: the lane of a model's
    extraction to retry.
    """

    batch: WriteBatch
    derived: tuple[DerivedMemory, ...] = ()
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = NO_COST
    by_source: Mapping[str, tuple[DerivedMemory, ...]] = field(default_factory=dict)
    failed: str = ""

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to store."""
        return not (self.batch.puts or self.batch.changes or self.batch.edges)

    def complete(self, receipt: Receipt, job: str) -> Receipt:
        """Add what was learned to a receipt; ``job`` is no longer pending."""
        decisions = (*receipt.decisions, *self.decisions)
        pending = tuple(name for name in receipt.pending if name != job)
        return replace(
            receipt, derived=self.derived, decisions=decisions, pending=pending, cost=self.cost
        )


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Extracted candidates with their policy decisions, by record in order."""

    by_record: tuple[tuple[Record, tuple[DecidedCandidate, ...]], ...] = ()
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = NO_COST
    failed: str = ""

    @property
    def has_candidates(self) -> bool:
        """True if any candidate could be stored."""
        return any(decided for _, decided in self.by_record)


@dataclass(frozen=True, slots=True)
class HeardAhead:
    """Statements of messages that are not stored yet.

    ``learned``: what is to be stored after them (None: it takes a job of its own).
    """

    found: ExtractionResult
    learned: ExtractionBatch | None


def extract_candidates(
    records: Sequence[Record], deps: WriteDeps, *, echoes: Collection[str] = (), fresh: bool = False
) -> ExtractionResult:
    """Run gate, extract and policy over journaled records.

    The result stays valid whatever else is learned meanwhile. The records must share one owner.
    ``echoes``: fingerprints of what was injected into prompts, besides those that a turn carries.
    ``fresh``: nothing was learned from the records before. Raises ModelError where the chat model
    fails for good, so that the job is retried; the records are safe in the journal.
    """
    if not records:
        return ExtractionResult()
    decisions: list[StageDecision] = []
    ordered = sorted(records, key=lambda record: record.story_key)
    replies = (
        find_replies(ordered, deps)
        if deps.chat is not None and deps.settings.extract in ("llm", "auto")
        else frozenset()
    )
    open_ = [
        own
        for record in ordered
        if (own := gate_record(record, deps.settings, echoes, replies, decisions)) is not None
    ]
    found, cost, failed = _extract_by_record(open_, deps, decisions)
    if known := deps.settings.categories:
        found = {
            name: [close_category(one, known) for one in candidates]
            for name, candidates in found.items()
        }
    if most := deps.settings.max_facts:
        found = {name: candidates[:most] for name, candidates in found.items()}
    found = {
        name: [*map(tag_candidate if deps.settings.infer_tags else drop_tags, some)]
        for name, some in found.items()
    }
    if not fresh:
        found = _drop_stored(found, ordered[0].scope.owner, deps, decisions)
    mode = policy.resolve_mode(deps.settings.policy, model=deps.chat is not None)
    by_record = list[tuple[Record, tuple[DecidedCandidate, ...]]]()
    for record in open_:
        candidates = found.get(record.id, [])
        verdicts = _decide_by_rules(record, candidates, deps.settings, mode)
        if mode == "llm" and deps.chat is not None:
            verdicts, spent = _decide_by_model(
                record, candidates, verdicts, deps.chat, deps.settings.min_confidence
            )
            cost += spent
        decided = tuple(zip(candidates, verdicts, strict=True))
        decisions.extend(
            StageDecision(
                stage="policy",
                verdict=verdict.action,
                reason=verdict.reason,
                text=one.text[:200],
                record=record.id,
            )
            for one, verdict in decided
        )
        by_record.append(
            (record, tuple((one, verdict) for one, verdict in decided if verdict.action != "drop"))
        )
    if deps.settings.contradiction_cosine:
        by_record += [
            (record, ((read_given(record), _GIVEN),))
            for record in select_given(ordered, deps.settings)
        ]
    return ExtractionResult(tuple(by_record), tuple(decisions), cost, failed)


def reconcile_extraction(
    extraction: ExtractionResult, deps: WriteDeps, *, actor: str = "digest"
) -> ExtractionBatch:
    """Run dedup, reconcile and persist against current memory.

    May be repeated if memory changed meanwhile.
    """
    now = deps.clock()
    if not extraction.by_record:
        nothing = WriteBatch(actor, "nothing to learn from", now)
        return ExtractionBatch(
            nothing, (), extraction.decisions, extraction.cost, failed=extraction.failed
        )
    decisions = list(extraction.decisions)
    cost = extraction.cost
    deps = replace(deps, found={})
    by_source: dict[str, tuple[DerivedMemory, ...]] = {}
    first = extraction.by_record[0][0]
    changes = DigestChangeSet(
        first.scope.owner, first.scope, now, contradicts=bool(deps.settings.contradiction_cosine)
    )
    if changes.contradicts:
        hide_given(
            given := select_given([record for record, _ in extraction.by_record], deps.settings),
            changes,
        )
    if deps.chat is not None and deps.settings.reconcile in ("llm", "auto"):
        by_source, spent = _reconcile_by_model(extraction, deps.chat, deps, changes, decisions)
        cost += spent
    else:
        nearest = iter(
            find_nearest(
                [
                    (candidate, record)
                    for record, decided in extraction.by_record
                    for candidate, _ in decided
                ],
                deps,
            )
        )
        for record, decided in extraction.by_record:
            changes.scope = record.scope
            start = len(changes.derived)
            for candidate, decision in decided:  # each sees what became of those before it
                changes.apply(
                    reconcile_candidate(candidate, record, deps, changes, next(nearest)),
                    decision,
                    record,
                )
            by_source[record.id] = tuple(changes.derived[start:])
    if changes.contradicts:
        settle_given(given, changes)
    _supersede_notes(changes, deps)
    vectors, notes = embed_records(list(changes.created.values()), deps.embedder)
    decisions.extend(notes)
    batch = changes.to_batch(actor, "learned from what was said", vectors)
    return ExtractionBatch(
        batch=batch,
        derived=tuple(changes.derived),
        decisions=tuple(decisions),
        cost=cost,
        by_source=by_source,
        failed=extraction.failed,
    )


def _extract_by_record(
    records: list[Record], deps: WriteDeps, decisions: list[StageDecision]
) -> tuple[dict[str, list[CandidateStatement]], ModelCost, str]:
    """Extract candidates by record; also the cost and the failed lane."""
    mode = deps.settings.extract
    if mode == "off" or not records:
        return {}, ModelCost(), ""
    if deps.chat is not None and mode in ("llm", "auto"):
        also = ASK_TAGS if deps.settings.infer_tags else ""
        briefing = by_model.ExtractionContext(
            find_known(records[0], deps), deps.gaps, context=find_context(records, deps), also=also
        )
        try:
            if deps.settings.extraction_passes == 2 or deps.lane:
                return by_model.extract_in_lanes(
                    records, briefing, deps.chat, deps.settings.batch_turns, decisions, deps.lane
                )
            return (
                *by_model.extract_by_model(
                    records, briefing, deps.chat, deps.settings.batch_turns, decisions
                ),
                "",
            )
        except BudgetError as problem:
            if mode == "llm":
                raise
            decisions.append(StageDecision("extract", "rules", f"no model: {problem.message}"))
    elif mode == "llm":
        raise ModelError(
            "Extraction is set to llm, and no chat model is configured.",
            hint="Set chat.provider, or write.extract to auto.",
            retryable=False,
        )
    names = known_speakers(records, deps)
    known = ((record, deps.heard.get((record.id, record.version, names))) for record in records)
    return (
        {
            record.id: extract_by_rules(record, names) if some is None else some
            for record, some in known
        },
        ModelCost(),
        "",
    )


def _decide_by_rules(
    record: Record,
    candidates: Sequence[CandidateStatement],
    settings: WriteSettings,
    mode: policy.PolicyMode,
) -> list[policy.StoragePolicyDecision]:
    explicit = record.kind is Kind.NOTE or is_explicit(record.text)
    floor = settings.min_confidence
    hold = settings.hold_below
    verdicts = [
        policy.decide(one, mode=mode, explicit=explicit, floor=floor, hold_below=hold)
        for one in candidates
    ]
    if mode == "rules" and record.kind is not Kind.NOTE:
        verdicts = [
            policy.clamp_decision(one, verdict)
            for one, verdict in zip(candidates, verdicts, strict=True)
        ]
    return verdicts


def _decide_by_model(
    record: Record,
    candidates: Sequence[CandidateStatement],
    ruled: Sequence[policy.StoragePolicyDecision],
    chat: ChatModel,
    floor: float,
) -> tuple[list[policy.StoragePolicyDecision], ModelCost]:
    """Let the model decide on what the rules did not drop."""
    asked = [at for at, verdict in enumerate(ruled) if verdict.action != "drop"]
    judged, cost = by_model.decide_by_model(record, [candidates[at] for at in asked], chat, floor)
    answered = dict(zip(asked, judged, strict=True))
    return [answered.get(at, verdict) for at, verdict in enumerate(ruled)], cost


def reconcile_candidate(
    candidate: CandidateStatement,
    record: Record,
    deps: WriteDeps,
    changes: DigestChangeSet,
    nearest: Sequence[Record] | None = None,
) -> ReconciliationResult:
    """Reconcile a candidate by rules with what is known.

    ``nearest``: the stored statements nearest in words (None: look).
    """
    if deps.settings.reconcile == "off":
        return ReconciliationResult("add", candidate, reason="reconcile off")
    near = find_nearest([(candidate, record)], deps)[0] if nearest is None else nearest
    known = _known_statements(candidate, record, near, deps, changes)
    if candidate.denies_event and (
        (denied := find_denied(candidate, known)) or candidate.effect != "states"
    ):
        return retract_denied(
            candidate, denied, _find_ended(denied, record, deps, changes) if denied else ()
        )
    synonyms: tuple[Record, ...] = ()
    if deps.embedder is not None and has_synonyms(candidate, deps.embedder):
        with suppress(
            ModelError
        ):  # the lexical slots stand; the embedder's failure shows in the vectors that are missing
            synonyms = find_synonyms(
                candidate,
                _open_versions(find_statements(candidate, record, deps), changes),
                deps.embedder,
            )
    if candidate.id and deps.settings.contradiction_cosine:
        known = with_slots([*known, *_open_versions(find_rivals(candidate, record, deps), changes)])
    outcome = reconcile(candidate, [*known, *synonyms], deps.settings.dedup_jaccard, synonyms)
    if outcome.after is None:
        return (
            _find_repeated(candidate, record, deps, changes) or outcome
            if outcome.verdict == "add" and outcome.until is None
            else outcome
        )
    changes.add_stored(find_past(candidate, record, deps))
    return changes.insert_past_value(outcome, record)


def _find_ended(
    by: Sequence[Record], record: Record, deps: WriteDeps, changes: DigestChangeSet
) -> list[Record]:
    """Find what statements may have ended, and its notes."""
    changes.add_stored(find_ended(by, record, deps))
    sources = {item.source for one in changes.current.values() for item in one.evidence}
    changes.add_stored(
        one for one in deps.records.get(changes.owner, sorted(sources)) if one.kind is Kind.NOTE
    )
    return list(changes.current.values())


def _find_repeated(
    candidate: CandidateStatement, record: Record, deps: WriteDeps, changes: DigestChangeSet
) -> ReconciliationResult | None:
    """Find the statement that a candidate repeats in other words."""
    twins = _open_versions(find_twins(candidate, record, deps), changes)
    twin = next((one for one in twins if says_the_same(candidate, one)), None)
    return (
        None
        if twin is None
        else ReconciliationResult(
            "keep", candidate, (twin,), reason="says what is known in other words"
        )
    )


def _known_statements(
    candidate: CandidateStatement,
    record: Record,
    nearest: Sequence[Record],
    deps: WriteDeps,
    changes: DigestChangeSet,
) -> list[Record]:
    """Find open statements to compare with, new ones of this digest included."""
    if not candidate.is_elliptic:
        return _open_versions(
            [*find_neighbours(candidate, record, deps), *nearest, *changes.created.values()],
            changes,
        )
    _open_versions(find_latest(record, deps), changes)
    # A bare correction can only refer to what its speaker said in this session.
    every = [
        one for one in changes.current.values() if one.status in OPEN and one.kind in STATEMENTS
    ]
    own = [one for one in every if one.session == record.session and one.speaker == record.speaker]
    return [one for one in own if one.recorded_at <= record.recorded_at]


def _open_versions(records: Iterable[Record], changes: DigestChangeSet) -> list[Record]:
    """Return records as the digest left them, where still open."""
    current = changes.add_stored(records)
    return [one for one in current if one.status in OPEN and one.kind in STATEMENTS]


def _reconcile_by_model(
    extraction: ExtractionResult,
    chat: ChatModel,
    deps: WriteDeps,
    changes: DigestChangeSet,
    decisions: list[StageDecision],
) -> tuple[dict[str, tuple[DerivedMemory, ...]], ModelCost]:
    """Reconcile all candidates of a digest with one question to a model.

    Rules alone reconcile those that meet nothing known, or repeat it exactly.
    """
    every = [
        (candidate, record) for record, decided in extraction.by_record for candidate, _ in decided
    ]
    met = [_find_met(candidate, record, deps, changes) for candidate, record in every]
    asked = {
        at
        for at, (candidate, _) in enumerate(every)
        if met[at] and find_exact(candidate, met[at]) is None
    }
    asked |= (
        find_inner_rivals([candidate for candidate, _ in every], deps)
        if deps.settings.contradiction_cosine
        else set()
    )
    numbers = {at: number for number, at in enumerate(sorted(asked), 1)}
    known = list({one.id: one for at in numbers for one in met[at]}.values())[:_MOST_KNOWN]
    found = (
        reconcile_by_model.ask_verdicts(
            [every[at][0] for at in numbers], known, chat, decisions, patient=deps.patient
        )
        if asked
        else reconcile_by_model.NumberedReconcileDecisions({})
    )
    made: dict[int, str] = {}
    by_source: dict[str, tuple[DerivedMemory, ...]] = {}
    places = count()
    for record, decided in extraction.by_record:
        changes.scope = record.scope
        start = len(changes.derived)
        for candidate, decision in decided:
            number = numbers.get(next(places), 0)
            unsure = bool(number) and found.failed and deps.settings.reconcile_fallback != "rules"
            hold = unsure and deps.settings.reconcile_fallback == "hold"
            if unsure:
                outcome = ReconciliationResult("add", candidate, reason="the model failed")
            elif number:
                row = found.rows.get(number)
                names = (
                    [*(known[one - 1].id for one in row.known), *(made[one] for one in row.earlier)]
                    if row
                    else []
                )
                open_ = _open_versions([*known, *changes.created.values()], changes)
                by_rules = reconcile(candidate, open_, deps.settings.dedup_jaccard)
                targets = [one for one in changes.find_successors(names) if one.status in OPEN]
                outcome = reconcile_by_model.judge_candidate(candidate, row, targets, by_rules)
            else:
                outcome = _reconcile_unasked(candidate, record, deps, changes)
            made[number] = changes.apply(outcome, _NOT_RECONCILED if hold else decision, record)
        by_source[record.id] = tuple(changes.derived[start:])
    changes.remove(_open_versions(found.removed, changes), "a model removed it")
    return by_source, found.cost


def _find_met(
    candidate: CandidateStatement, record: Record, deps: WriteDeps, changes: DigestChangeSet
) -> list[Record]:
    """Find stored statements that a candidate may change or repeat.

    None: another subject, another slot, and no thing in common.
    """
    if deps.settings.contradiction_cosine:
        return _open_versions(find_rivals(candidate, record, deps), changes)[:NEAR]
    (nearest,) = find_nearest([(candidate, record)], deps)
    predicate = canonical_predicate(candidate.predicate)
    things = _named_things(candidate)
    close = _known_statements(candidate, record, nearest, deps, changes)
    slot = [
        one
        for one in close
        if one.subject == candidate.subject and canonical_predicate(one.predicate) == predicate
    ]
    near = [
        one
        for one in _open_versions(nearest, changes)
        if one.subject == candidate.subject or things & _named_things(one)
    ]
    return list({one.id: one for one in (*slot[:NEAR], *near)}.values())


def _named_things(statement: CandidateStatement | Record) -> set[str]:
    """Return the search terms of a statement's object and named subject."""
    subject = statement.subject if statement.subject != "user" else ""
    return {*object_terms(statement.object), *object_terms(subject)}


def _reconcile_unasked(
    candidate: CandidateStatement, record: Record, deps: WriteDeps, changes: DigestChangeSet
) -> ReconciliationResult:
    """Reconcile by rules a candidate that no model was asked about."""
    if not deps.settings.contradiction_cosine:
        return reconcile_candidate(candidate, record, deps, changes)
    twin = find_exact(candidate, _open_versions(changes.current.values(), changes))
    if twin is not None:
        return ReconciliationResult("keep", candidate, (twin,))
    return _find_repeated(candidate, record, deps, changes) or ReconciliationResult(
        "add", candidate, reason="nothing known"
    )


def _drop_stored(
    found: dict[str, list[CandidateStatement]],
    owner: Scope,
    deps: WriteDeps,
    decisions: list[StageDecision],
) -> dict[str, list[CandidateStatement]]:
    every = [candidate for candidates in found.values() for candidate in candidates]
    ids = list(dict.fromkeys(map(derived_id, every)))
    done = {record.id for record in deps.records.get(owner, ids)} if ids else set()
    decisions.extend(
        StageDecision(
            stage="dedup",
            verdict="skip",
            reason="stored by an earlier run",
            text=candidate.text[:200],
            record=id,
        )
        for candidate in every
        if (id := derived_id(candidate)) in done
    )
    return {
        name: [candidate for candidate in candidates if derived_id(candidate) not in done]
        for name, candidates in found.items()
    }


def _supersede_notes(changes: DigestChangeSet, deps: WriteDeps) -> None:
    """Supersede notes whose only statement was superseded; turns stay."""
    lost = [
        record
        for record in changes.current.values()
        if record.status is Status.SUPERSEDED and record.meta.get("whole") and record.superseded_by
    ]
    changed = [
        record
        for record in lost
        if record.id in changes.created
        or changes.originals[record.id].status is not Status.SUPERSEDED
    ]
    sources = {item.source: record for record in changed for item in record.evidence[:1]}
    for note in deps.records.get(changes.owner, list(sources)) if sources else ():
        if note.kind is Kind.NOTE and note.status is Status.ACTIVE:
            changes.add_stored([note])
            changes.supersede_note(note, sources[note.id])
