"""Second half of a digest: candidates are compared with stored statements, and become one batch.

Enter at ``reconcile_extraction``. It may be repeated if others changed the memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from engrams.core import (
    DerivedMemory,
    EdgeType,
    Kind,
    ModelCost,
    Receipt,
    Record,
    StageDecision,
    Status,
)
from engrams.extract.policy import StoragePolicyDecision, resolve_mode
from engrams.frozen_data import dataclass, replace
from engrams.ports import Store, WriteBatch
from engrams.text.remainders import find_remainder
from engrams.write.candidate_reconciler import CandidateReconciler
from engrams.write.change_set import DigestChangeSet
from engrams.write.correction_reconciler import CorrectionReconciler
from engrams.write.extraction import ExtractionResult
from engrams.write.given_statements import hide_given, select_given, settle_given
from engrams.write.reconcile_by_model import ModelReconciler
from engrams.write.record_vectors import embed_records
from engrams.write.write_deps import WriteDeps

_ACTOR = "digest"
_INHERITED = (EdgeType.HAS_TAG, EdgeType.RELATES_TO, EdgeType.IN_TOPIC)
"""Links that a correction takes over."""
_CORRECTED = StoragePolicyDecision("commit_now", "a correction of what was said before")


@dataclass(frozen=True, slots=True)
class DigestResult:
    """Batch of changes by which something is learned, and the decisions behind it."""

    batch: WriteBatch
    derived: tuple[DerivedMemory, ...] = ()
    decisions: tuple[StageDecision, ...] = ()
    cost: ModelCost = ModelCost()
    derived_by_source: Mapping[str, tuple[DerivedMemory, ...]] = field(default_factory=dict)
    """Derived memories by the id of the record they came from."""
    failed_lane: str = ""
    """Lane of a model's extraction to repeat; empty: none failed."""
    repeated: Mapping[str, str] = field(default_factory=dict)
    """Known statements by the id of a given one that says the same."""

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to store."""
        return not (self.batch.puts or self.batch.changes or self.batch.edges)

    def complete(self, receipt: Receipt, job_kind: str) -> Receipt:
        """Add what was learned to a receipt; a job of this kind is no longer pending.

        The receipt of a statement that was known names the one that was there.
        """
        if receipt.id in self.repeated:
            receipt = replace(receipt, id=self.repeated[receipt.id], outcome="duplicate")
        return replace(
            receipt,
            derived=self.derived,
            decisions=(*receipt.decisions, *self.decisions),
            pending=tuple(kind for kind in receipt.pending if kind != job_kind),
            cost=self.cost,
        )


def reconcile_extraction(
    extraction: ExtractionResult, deps: WriteDeps, *, is_patient: bool = False
) -> DigestResult:
    """Compare candidates with the current memory of their owner, and collect all changes.

    ``is_patient``: a model that fails for now will be asked again by a later run, so that its
    ModelError is raised.
    """
    if not extraction.by_record:
        return make_empty_result(extraction, deps)
    first = extraction.by_record[0][0]
    changes = DigestChangeSet(
        first.scope.owner,
        first.scope,
        deps.clock(),
        contradicts=bool(deps.settings.write.contradiction_cosine),
    )
    given_records = select_given(
        [record for record, _ in extraction.by_record], deps.settings.write
    )
    hide_given(given_records, changes)
    decisions = list(extraction.decisions)
    cost = extraction.cost
    reconciler = CandidateReconciler(deps, changes)
    corrections = CorrectionReconciler(
        deps, changes, [record for record, _ in extraction.by_record]
    )
    if deps.reconciles_by_model:
        extraction = _drop_fragments(extraction, corrections)
        model_reconciler = ModelReconciler(deps, changes, reconciler, is_patient=is_patient)
        derived_by_source, model_cost = model_reconciler.reconcile(extraction, decisions)
        derived_by_source = _complete_corrections(
            derived_by_source, extraction, corrections, changes
        )
        cost += model_cost
    else:
        derived_by_source = _reconcile_by_rules(extraction, reconciler, corrections, changes)
    _note_dropped(extraction, changes, deps)
    repeated = settle_given(given_records, changes, derived_by_source)
    _supersede_notes(changes, deps.store)
    _pass_on_links(changes, deps.store)
    changes.plan_caps(deps.settings.caps, deps.settings.jobs.max_attempts)
    vectors, notes = embed_records(list(changes.created.values()), deps.embedder)
    decisions.extend(notes)
    return DigestResult(
        batch=changes.to_batch(_ACTOR, "learned from what was said", vectors),
        derived=tuple(changes.derived),
        decisions=tuple(decisions),
        cost=cost,
        derived_by_source=derived_by_source,
        failed_lane=extraction.failed_lane,
        repeated=repeated,
    )


def make_empty_result(extraction: ExtractionResult, deps: WriteDeps) -> DigestResult:
    """Return the result of an extraction from which nothing is to be stored."""
    return DigestResult(
        WriteBatch(_ACTOR, "nothing to learn from", deps.clock()),
        decisions=extraction.decisions,
        cost=extraction.cost,
        failed_lane=extraction.failed_lane,
    )


def _reconcile_by_rules(
    extraction: ExtractionResult,
    reconciler: CandidateReconciler,
    corrections: CorrectionReconciler,
    changes: DigestChangeSet,
) -> dict[str, tuple[DerivedMemory, ...]]:
    """Reconcile candidate by candidate; each sees what became of those before it.

    A message that only sets a value right is understood by what its speaker said before: nothing
    else in it is a statement.
    """
    pairs = [
        (candidate, record) for record, decided in extraction.by_record for candidate, _ in decided
    ]
    # One search of the index for all of them.
    nearest = iter(reconciler.finder.find_nearest(pairs))
    derived_by_source: dict[str, tuple[DerivedMemory, ...]] = {}
    for record, decided in extraction.by_record:
        changes.scope = record.scope
        start = len(changes.derived)
        corrected = corrections.reconcile(record, [candidate for candidate, _ in decided])
        for outcome in corrected:
            changes.apply(outcome, _CORRECTED, record)
        for candidate, decision in decided:
            near_statements = next(nearest)
            if corrected:
                continue
            outcome = reconciler.reconcile(candidate, record, near_statements)
            changes.apply(outcome, decision, record)
        derived_by_source[record.id] = tuple(changes.derived[start:])
    return derived_by_source


def _drop_fragments(
    extraction: ExtractionResult, corrections: CorrectionReconciler
) -> ExtractionResult:
    """Drop what a model read in a message that only sets a value right, and that does not say of what.

    "The user meant Thursday" tells nobody anything.
    """
    by_record = tuple(
        (
            record,
            tuple(pair for pair in decided if corrections.tells_correction(record, pair[0].text)),
        )
        for record, decided in extraction.by_record
    )
    return replace(extraction, by_record=by_record)


def _complete_corrections(
    derived_by_source: Mapping[str, tuple[DerivedMemory, ...]],
    extraction: ExtractionResult,
    corrections: CorrectionReconciler,
    changes: DigestChangeSet,
) -> dict[str, tuple[DerivedMemory, ...]]:
    """Correct by rules the statements that hold a wrong value although a model saw it set right."""
    completed = dict(derived_by_source)
    for record, _ in extraction.by_record:
        changes.scope = record.scope
        start = len(changes.derived)
        for outcome in corrections.reconcile_remaining(record):
            changes.apply(outcome, _CORRECTED, record)
        completed[record.id] = (*completed[record.id], *changes.derived[start:])
    return completed


def _note_dropped(extraction: ExtractionResult, changes: DigestChangeSet, deps: WriteDeps) -> None:
    """Note on messages what a model's policy dropped; what rules drop is on the receipt alone."""
    mode = resolve_mode(deps.settings.write.policy, model=deps.chat is not None)
    if mode != "llm":
        return
    for record, _ in extraction.by_record:
        reasons = [
            decision.reason
            for decision in extraction.decisions
            if (decision.stage, decision.verdict, decision.record) == ("policy", "drop", record.id)
        ]
        if reasons:
            changes.note_dropped(record, reasons)


def _supersede_notes(changes: DigestChangeSet, store: Store) -> None:
    """Supersede notes whose only statement was superseded; turns stay.

    So does a note that says something besides the value of that statement.
    """
    ended: list[Record] = [
        record
        for record in changes.current.values()
        if record.status is Status.SUPERSEDED
        and record.meta.get("whole")
        and record.superseded_by
        and _was_changed(record, changes)
        and not any(find_remainder(item.quote, record.object) for item in record.evidence[:1])
    ]
    fact_by_note = {item.source: fact for fact in ended for item in fact.evidence[:1]}
    if not fact_by_note:
        return
    notes: Sequence[Record] = store.get(changes.owner, list(fact_by_note))
    for note in notes:
        if note.kind is Kind.NOTE and note.status is Status.ACTIVE:
            changes.add_stored([note])
            changes.supersede_note(note, fact_by_note[note.id])


def _pass_on_links(changes: DigestChangeSet, store: Store) -> None:
    """Give a correction the tags and links of the statement that it corrects."""
    heirs = {
        record.id: record.superseded_by
        for record in changes.current.values()
        if changes.actions.get(record.id, ("", ""))[0] == "retract"
        and record.superseded_by in changes.current
    }
    if not heirs:
        return
    for edge in store.edges(changes.owner, list(heirs), _INHERITED):
        source_id = heirs.get(edge.source, edge.source)
        target_id = heirs.get(edge.target, edge.target)
        if source_id != target_id:
            changes.link(source_id, target_id, edge.type, edge.weight)


def _was_changed(superseded: Record, changes: DigestChangeSet) -> bool:
    """True if it was this digest that superseded a record."""
    if superseded.id in changes.created:
        return True
    return changes.originals[superseded.id].status is not Status.SUPERSEDED
