"""First half of a digest: gate, extract and decide, for records of one owner.

Enter at ``extract_candidates``. What it returns stays valid whatever else is learned meanwhile: it
is compared with stored statements only in ``reconcile``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TypeAlias

from engrams.core import Kind, ModelCost, Record, Scope, StageDecision
from engrams.errors import BudgetError, ModelError
from engrams.extract import by_model, policy
from engrams.extract.authority import check_authority
from engrams.extract.by_rules import RuleStatements, extract_by_rules
from engrams.extract.candidate import CandidateStatement, drop_tags, limit_category
from engrams.extract.gate import gate_record
from engrams.extract.inferred_tags import ASK_TAGS, tag_candidate
from engrams.extract.rules.rule_extraction import is_explicit
from engrams.frozen_data import dataclass
from engrams.settings import WriteSettings
from engrams.write.change_set import derived_id
from engrams.write.conversation_context import (
    find_context,
    find_known_statements,
    find_reply_ids,
    find_speaker_names,
    find_timer_ids,
)
from engrams.write.given_statements import select_given, to_candidate
from engrams.write.restated_sentences import read_restatement
from engrams.write.value_corrections import read_value_correction
from engrams.write.write_deps import WriteDeps

_GIVEN = policy.StoragePolicyDecision("commit_now", "given as a statement")

DecidedCandidate: TypeAlias = tuple[CandidateStatement, policy.StoragePolicyDecision]
_ByRecord: TypeAlias = dict[str, list[CandidateStatement]]
"""Candidates by the id of the record that they were said in."""


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Candidates that may be stored, with the decisions about them."""

    by_record: tuple[tuple[Record, tuple[DecidedCandidate, ...]], ...] = ()
    """Records that passed the gate, in the order of their times, each with its candidates."""
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = ModelCost()
    failed_lane: str = ""
    """Lane of a model's extraction to repeat; empty: none failed."""
    has_corrections: bool = False
    """A message may set right what its speaker said before, although it says nothing by itself."""

    @property
    def has_candidates(self) -> bool:
        """True if anything could be stored."""
        return self.has_corrections or any(decided for _, decided in self.by_record)


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Options of one run."""

    is_fresh: bool = False
    """Nothing was learned from the records before."""
    gaps: tuple[str, ...] = ()
    """Questions that memory could not answer, for a model to look for."""
    lane: str = ""
    """The one lane of a model's extraction to repeat; empty: all."""
    precomputed: RuleStatements = field(default_factory=dict)
    """Statements that rules extracted before it was their records' turn."""


DEFAULT_OPTIONS = ExtractionOptions()


def extract_candidates(
    records: Sequence[Record], deps: WriteDeps, options: ExtractionOptions = DEFAULT_OPTIONS
) -> ExtractionResult:
    """Run gate, extraction and policy over stored records of one owner.

    Raises ModelError where the chat model fails for good, so that the job is retried; the records
    are safe in the journal.
    """
    if not records:
        return ExtractionResult()
    decisions: list[StageDecision] = []
    ordered = sorted(records, key=lambda record: record.story_key)
    gated = _gate(ordered, deps, decisions)
    by_record, cost, failed_lane = _extract(gated, deps, options, decisions)
    by_record = {
        record_id: _limit(candidates, deps.settings.write)
        for record_id, candidates in by_record.items()
    }
    if not options.is_fresh:
        by_record = _drop_stored(by_record, ordered[0].scope.owner, deps, decisions)
    decided: list[tuple[Record, tuple[DecidedCandidate, ...]]] = []
    for record in gated:
        candidates, policy_cost = _decide(record, by_record.get(record.id, []), deps, decisions)
        decided.append((record, candidates))
        cost += policy_cost
    decided += [
        (record, ((to_candidate(record), _GIVEN),))
        for record in select_given(ordered, deps.settings.write)
    ]
    has_corrections = any(map(_is_correction, gated))
    return ExtractionResult(
        tuple(decided), tuple(decisions), cost, failed_lane, has_corrections=has_corrections
    )


def _gate(
    records: Sequence[Record], deps: WriteDeps, decisions: list[StageDecision]
) -> list[Record]:
    """Return the records that something may be learned from, without echoes of memory."""
    timer_ids = find_timer_ids(records, deps)
    decisions += [
        StageDecision("gate", "skip", "sent by a timer", record.text[:80], record=record.id)
        for record in records
        if record.id in timer_ids
    ]
    records = [record for record in records if record.id not in timer_ids]
    uses_model = deps.extracts_by_model
    brief_ids = frozenset(
        record.id for record in records if _is_correction(record, is_strong=uses_model)
    )
    if uses_model:
        brief_ids |= find_reply_ids(records, deps)
    gated = (gate_record(record, deps.settings.write, brief_ids, decisions) for record in records)
    return [record for record in gated if record is not None]


def _is_correction(record: Record, *, is_strong: bool = False) -> bool:
    """True for a turn that sets a value right; ``is_strong``: and that can mean nothing else."""
    if record.kind is not Kind.TURN:
        return False
    correction = read_value_correction(record.text)
    if correction is not None and (correction.is_strong or not is_strong):
        return True
    return read_restatement(record.text) is not None


def _extract(
    records: Sequence[Record],
    deps: WriteDeps,
    options: ExtractionOptions,
    decisions: list[StageDecision],
) -> tuple[_ByRecord, ModelCost, str]:
    """Extract candidates; also the cost and the failed lane.

    A model extracts where there is one; rules do where there is none, or where its budget is spent.
    """
    mode = deps.settings.write.extract
    if mode == "off" or not records:
        return {}, ModelCost(), ""
    if deps.extracts_by_model:
        try:
            return _extract_by_model(records, deps, options, decisions)
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
    speaker_names = find_speaker_names(records, deps)
    by_record: _ByRecord = {}
    for record in records:
        candidates = options.precomputed.get((record.id, record.version, speaker_names))
        if candidates is None:
            candidates = extract_by_rules(record, speaker_names)
        by_record[record.id] = candidates
    return by_record, ModelCost(), ""


def _extract_by_model(
    records: Sequence[Record],
    deps: WriteDeps,
    options: ExtractionOptions,
    decisions: list[StageDecision],
) -> tuple[_ByRecord, ModelCost, str]:
    section = deps.settings.write
    assert deps.chat is not None
    context = by_model.ExtractionContext(
        known_statements=find_known_statements(records[0], deps),
        gaps=options.gaps,
        context=find_context(records, deps),
        message_chars=section.message_chars,
        addition=_ask_categories(section) + (ASK_TAGS if section.infer_tags else ""),
    )
    if section.extraction_passes == 2 or options.lane:
        return by_model.extract_in_lanes(
            records, context, deps.chat, section.batch_turns, decisions, options.lane
        )
    by_record, cost = by_model.extract_by_model(
        records, context, deps.chat, section.batch_turns, decisions
    )
    return by_record, cost, ""


def _ask_categories(settings: WriteSettings) -> str:
    """Return the sentence of a prompt that names the allowed categories; empty: any is allowed."""
    if not settings.categories:
        return ""
    return f'\n\nUse no other "category" than these: {", ".join(settings.categories)}.'


def _limit(
    candidates: list[CandidateStatement], settings: WriteSettings
) -> list[CandidateStatement]:
    """Limit the candidates of one message, their categories and tags, as the settings ask."""
    if settings.categories:
        candidates = [limit_category(candidate, settings.categories) for candidate in candidates]
    if settings.max_facts:
        candidates = candidates[: settings.max_facts]
    return [*map(tag_candidate if settings.infer_tags else drop_tags, candidates)]


def _drop_stored(
    by_record: _ByRecord, owner: Scope, deps: WriteDeps, decisions: list[StageDecision]
) -> _ByRecord:
    """Drop the candidates that an earlier run stored: their ids follow from what they say."""
    ids = {
        id(candidate): derived_id(candidate)
        for candidates in by_record.values()
        for candidate in candidates
    }
    if not ids:
        return by_record
    stored = deps.store.get(owner, list(dict.fromkeys(ids.values())))
    stored_ids = {record.id for record in stored}
    remaining: _ByRecord = {}
    for record_id, candidates in by_record.items():
        remaining[record_id] = []
        for candidate in candidates:
            candidate_id = ids[id(candidate)]
            if candidate_id not in stored_ids:
                remaining[record_id].append(candidate)
                continue
            decisions.append(
                StageDecision(
                    stage="dedup",
                    verdict="skip",
                    reason="stored by an earlier run",
                    text=candidate.text[:200],
                    record=candidate_id,
                )
            )
    return remaining


def _decide(
    record: Record,
    candidates: Sequence[CandidateStatement],
    deps: WriteDeps,
    decisions: list[StageDecision],
) -> tuple[tuple[DecidedCandidate, ...], ModelCost]:
    """Decide which candidates are stored, now or later; those to drop are left out."""
    mode = policy.resolve_mode(deps.settings.write.policy, model=deps.chat is not None)
    verdicts = _decide_by_rules(record, candidates, deps.settings.write, mode)
    cost = ModelCost()
    if mode == "llm" and deps.chat is not None:
        # The model decides on the candidates that the rules do not drop.
        open_positions = [
            position for position, verdict in enumerate(verdicts) if verdict.action != "drop"
        ]
        model_verdicts, cost = by_model.decide_by_model(
            record,
            [candidates[position] for position in open_positions],
            deps.chat,
            deps.settings.write.min_confidence,
            deps.settings.write.hold_below,
        )
        for position, verdict in zip(open_positions, model_verdicts, strict=True):
            verdicts[position] = verdict
    verdicts = [
        check_authority(candidate, record) or verdict
        for candidate, verdict in zip(candidates, verdicts, strict=True)
    ]
    decided = tuple(zip(candidates, verdicts, strict=True))
    decisions.extend(
        StageDecision(
            stage="policy",
            verdict=verdict.action,
            reason=verdict.reason,
            text=candidate.text[:200],
            record=record.id,
        )
        for candidate, verdict in decided
    )
    return tuple(pair for pair in decided if pair[1].action != "drop"), cost


def _decide_by_rules(
    record: Record,
    candidates: Sequence[CandidateStatement],
    settings: WriteSettings,
    mode: policy.PolicyMode,
) -> list[policy.StoragePolicyDecision]:
    is_note = record.kind is Kind.NOTE
    explicit = is_note or is_explicit(record.text)
    verdicts = [
        policy.decide(
            candidate,
            mode=mode,
            explicit=explicit,
            floor=settings.min_confidence,
            hold_below=settings.hold_below,
        )
        for candidate in candidates
    ]
    if mode == "rules" and not is_note:
        return [
            policy.clamp_decision(candidate, verdict)
            for candidate, verdict in zip(candidates, verdicts, strict=True)
        ]
    return verdicts
