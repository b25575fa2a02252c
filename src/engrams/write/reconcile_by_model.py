"""Reconciliation of all candidates of a digest with one question to a chat model.

``ModelReconciler.reconcile`` asks about the candidates that meet stored statements; rules alone
reconcile the others.
"""

from __future__ import annotations

from itertools import chain, count, zip_longest

from engrams.core import DerivedMemory, ModelCost, Record, StageDecision
from engrams.extract import policy
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate
from engrams.text.terms import terms
from engrams.write.candidate_reconciler import CandidateReconciler
from engrams.write.change_set import DigestChangeSet
from engrams.write.extraction import ExtractionResult
from engrams.write.judge_verdicts import ask_judge
from engrams.write.model_verdicts import (
    ModelReconcileDecision,
    NumberedReconcileDecisions,
    ask_verdicts,
    judge_candidate,
)
from engrams.write.reconcile_rules import (
    ReconciliationResult,
    find_exact,
    object_terms,
    reconcile_by_rules,
)
from engrams.write.related import NEAREST, OPEN
from engrams.write.write_deps import WriteDeps

_MAX_KNOWN = 60
"""Stored statements that a model is shown at most."""
_NOT_RECONCILED = policy.StoragePolicyDecision("commit_at_session_end", "not reconciled")


class ModelReconciler:
    """Reconciles the candidates of one digest with the help of a chat model."""

    def __init__(
        self,
        deps: WriteDeps,
        changes: DigestChangeSet,
        rules: CandidateReconciler,
        *,
        is_patient: bool,
    ) -> None:
        """Set up the reconciliation of one digest.

        ``rules``: reconcile what the model is not asked about. ``is_patient``: a failure of the
        model that may pass raises its ModelError.
        """
        self._judge_model = deps.judge
        self._judge_settings = deps.settings.judge
        self._chat = deps.chat
        self._settings = deps.settings.write
        self._changes = changes
        self._rules = rules
        self._is_patient = is_patient

    def reconcile(
        self, extraction: ExtractionResult, decisions: list[StageDecision]
    ) -> tuple[dict[str, tuple[DerivedMemory, ...]], ModelCost]:
        """Reconcile all candidates; return what was derived by source id, and the cost."""
        pairs = [
            (candidate, record)
            for record, decided in extraction.by_record
            for candidate, _ in decided
        ]
        affected = [self._find_affected(candidate, record) for candidate, record in pairs]
        numbers = self._number_questions([candidate for candidate, _ in pairs], affected)
        known_statements = list(
            {record.id: record for position in numbers for record in affected[position]}.values()
        )[:_MAX_KNOWN]
        answer = NumberedReconcileDecisions({})
        if numbers:
            questions = [pairs[position][0] for position in numbers]
            answer = self._ask(questions, known_statements, decisions)
        fallback = self._settings.reconcile_fallback
        is_unsure = answer.failed and fallback != "rules"
        ids_by_number: dict[int, str] = {}
        derived_by_source: dict[str, tuple[DerivedMemory, ...]] = {}
        positions = count()
        for record, decided in extraction.by_record:
            self._changes.scope = record.scope
            start = len(self._changes.derived)
            for candidate, decision in decided:
                number = numbers.get(next(positions), 0)
                if not number:
                    outcome = self._reconcile_unasked(candidate, record)
                elif is_unsure:
                    outcome = ReconciliationResult("add", candidate, reason="the model failed")
                else:
                    outcome = self._judge(
                        candidate, number, answer, known_statements, ids_by_number
                    )
                is_held = bool(number) and is_unsure and fallback == "hold"
                ids_by_number[number] = self._changes.apply(
                    outcome, _NOT_RECONCILED if is_held else decision, record
                )
            derived_by_source[record.id] = tuple(self._changes.derived[start:])
        removed = self._rules.keep_open(answer.removed)
        self._changes.remove(removed, "a model removed it")
        return derived_by_source, answer.cost

    def _ask(
        self,
        candidates: list[CandidateStatement],
        known_statements: list[Record],
        decisions: list[StageDecision],
    ) -> NumberedReconcileDecisions:
        """Ask the judge, and the chat model where the judge is not sure of all.

        Without a chat model rules decide about the rest.
        """
        sure_rows: dict[int, ModelReconcileDecision] = {}
        if self._judge_model is not None:
            sure_rows = ask_judge(
                candidates, known_statements, self._judge_model, self._judge_settings, decisions
            )
        if self._chat is None or len(sure_rows) == len(candidates):
            return NumberedReconcileDecisions(sure_rows)
        return ask_verdicts(
            candidates, known_statements, self._chat, decisions, is_patient=self._is_patient
        )

    def _number_questions(
        self, candidates: list[CandidateStatement], affected: list[list[Record]]
    ) -> dict[int, int]:
        """Number the candidates that the model is asked about, from 1, by their position.

        A candidate that meets no stated statement, or repeats one exactly, is left to the rules.
        """
        question_positions = {
            position
            for position, candidate in enumerate(candidates)
            if affected[position]
            and not candidate.lifts_ban
            and find_exact(candidate, affected[position]) is None
        }
        if self._settings.contradiction_cosine:
            question_positions |= self._rules.finder.find_inner_rivals(candidates)
        return {position: number for number, position in enumerate(sorted(question_positions), 1)}

    def _judge(
        self,
        candidate: CandidateStatement,
        number: int,
        answer: NumberedReconcileDecisions,
        known_statements: list[Record],
        ids_by_number: dict[int, str],
    ) -> ReconciliationResult:
        """Reconcile a candidate as the model answered, limited by the rules.

        ``ids_by_number``: records that earlier candidates became.
        """
        row = answer.rows.get(number)
        target_ids: list[str] = []
        if row is not None:
            target_ids += [known_statements[known_number - 1].id for known_number in row.known]
            target_ids += [ids_by_number[earlier_number] for earlier_number in row.earlier]
        open_statements = self._rules.keep_open(
            [*known_statements, *self._changes.created.values()]
        )
        by_rules = reconcile_by_rules(candidate, open_statements, self._settings.dedup_jaccard)
        targets = [
            record for record in self._changes.find_successors(target_ids) if record.status in OPEN
        ]
        return judge_candidate(candidate, row, targets, by_rules)

    def _find_affected(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find stored statements that a candidate may change or repeat.

        Not those of another subject and another slot that have no named thing in common with it.
        """
        if self._settings.contradiction_cosine:
            rivals = self._rules.finder.find_rivals(candidate, record)
            return self._rules.keep_open(rivals)[:NEAREST]
        (nearest,) = self._rules.finder.find_nearest([(candidate, record)])
        predicate = canonical_predicate(candidate.predicate)
        named_things = _named_things(candidate)
        of_slot = [
            statement
            for statement in self._rules.find_comparable(candidate, record, nearest)
            if statement.subject == candidate.subject
            and canonical_predicate(statement.predicate) == predicate
        ]
        of_thing = [
            statement
            for statement in self._rules.keep_open(nearest)
            if not candidate.predicate
            or statement.subject == candidate.subject
            or named_things & _named_things(statement)
        ]
        # Both in turn, so that neither takes all places.
        in_turn = chain.from_iterable(zip_longest(of_slot, of_thing))
        related = {statement.id: statement for statement in in_turn if statement is not None}
        return list(related.values())[:NEAREST]

    def _reconcile_unasked(
        self, candidate: CandidateStatement, record: Record
    ) -> ReconciliationResult:
        """Reconcile by rules a candidate that the model was not asked about."""
        if not self._settings.contradiction_cosine:
            return self._rules.reconcile(candidate, record)
        twin = find_exact(candidate, self._rules.keep_open(self._changes.current.values()))
        if twin is not None:
            return ReconciliationResult("keep", candidate, (twin,))
        return self._rules.find_repeated(candidate, record) or ReconciliationResult(
            "add", candidate, reason="nothing known"
        )


def _named_things(statement: CandidateStatement | Record) -> set[str]:
    """Return the search terms of a statement's object and named subject; else of its text."""
    if not statement.predicate:
        return {*terms(statement.text)}
    subject = statement.subject if statement.subject != "user" else ""
    return {*object_terms(statement.object), *object_terms(subject)}
