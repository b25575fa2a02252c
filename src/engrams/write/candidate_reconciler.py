"""Reconciliation of one candidate with stored statements, by rules.

``CandidateReconciler`` looks for the statements that a candidate may change, and lets the rules of
``reconcile_rules`` judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from engrams.core import STATEMENT_KINDS, Kind, Record
from engrams.core.records import is_repetition
from engrams.errors import ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.write.change_set import DigestChangeSet
from engrams.write.given_statements import fill_slots
from engrams.write.reconcile_rules import (
    ReconciliationResult,
    reconcile_by_rules,
    reconcile_wish,
    says_the_same,
)
from engrams.write.related import OPEN, RelatedStatementFinder
from engrams.write.retracted_events import find_denied, retract_denied
from engrams.write.slot_synonyms import find_synonyms, has_comparable_slot
from engrams.write.write_deps import WriteDeps


class CandidateReconciler:
    """Reconciles candidates of one owner, each with what became of those before it."""

    def __init__(self, deps: WriteDeps, changes: DigestChangeSet) -> None:
        self.finder = RelatedStatementFinder(deps)
        self._store = deps.store
        self._embedder = deps.embedder
        self._settings = deps.settings.write
        self._changes = changes

    def reconcile(
        self,
        candidate: CandidateStatement,
        record: Record,
        nearest: Sequence[Record] | None = None,
    ) -> ReconciliationResult:
        """Reconcile a candidate by rules with the stored statements near it.

        ``record``: it was said there. ``nearest``: the stored statements nearest in words (None:
        they are looked for).
        """
        if self._settings.reconcile == "off":
            return ReconciliationResult("add", candidate, reason="reconcile off")
        if nearest is None:
            (nearest,) = self.finder.find_nearest([(candidate, record)])
        statements = self.find_comparable(candidate, record, nearest)
        if candidate.denies_event:
            denied = find_denied(candidate, statements)
            if denied or candidate.effect != "states":
                superseded = self._find_superseded(denied, record) if denied else ()
                return retract_denied(candidate, denied, superseded)
        synonyms = self._find_synonyms(candidate, record)
        if candidate.id:
            rivals = (
                self.keep_open(self.finder.find_rivals(candidate, record))
                if self._settings.contradiction_cosine
                else ()
            )
            statements = fill_slots([*statements, *rivals])
        scope = record.scope.durable
        of_scope = [rule for rule in statements if rule.scope.durable == scope]
        if (wish := reconcile_wish(candidate, of_scope)) is not None:
            return wish
        outcome = reconcile_by_rules(
            candidate, [*statements, *synonyms], self._settings.dedup_jaccard, synonyms
        )
        if outcome.after is not None:
            self._changes.add_stored(self.finder.find_past_values(candidate, record))
            return self._changes.insert_past_value(outcome, record)
        if outcome.verdict == "add" and outcome.until is None:
            return self.find_repeated(candidate, record) or outcome
        return outcome

    def find_comparable(
        self, candidate: CandidateStatement, record: Record, nearest: Sequence[Record]
    ) -> list[Record]:
        """Find open statements to compare with, new ones of this digest included."""
        if not candidate.is_elliptic:
            slot = self.finder.find_slot(candidate, record)
            return self.keep_open([*slot, *nearest, *self._changes.created.values()])
        self.keep_open(self.finder.find_latest_of_session(record))
        # A bare correction can only refer to what its speaker said in this session.
        return [
            statement
            for statement in self._changes.current.values()
            if _is_open(statement)
            and statement.session == record.session
            and statement.speaker == record.speaker
            and statement.recorded_at <= record.recorded_at
        ]

    def find_repeated(
        self, candidate: CandidateStatement, record: Record
    ) -> ReconciliationResult | None:
        """Find the statement that a candidate repeats in other words; None: there is none."""
        statement = self._find_said_before(candidate, record)
        if statement is not None:
            reason = "its message repeats a recent memory"
            return ReconciliationResult("keep", candidate, (statement,), reason=reason)
        twins = self.keep_open(self.finder.find_twins(candidate, record))
        twin = next((twin for twin in twins if says_the_same(candidate, twin)), None)
        if twin is not None:
            reason = "says what is known in other words"
            return ReconciliationResult("keep", candidate, (twin,), reason=reason)
        narrower = self.keep_open(self.finder.find_narrower_twins(candidate, record))
        repeated = tuple(twin for twin in narrower if says_the_same(candidate, twin))
        if not repeated:
            return None
        # What held in one place was said for all of them: it moves up, and is not there twice.
        return ReconciliationResult("refine", candidate, repeated, reason="said for a wider scope")

    def _find_said_before(self, candidate: CandidateStatement, record: Record) -> Record | None:
        """Find what a candidate says, where its message repeats a memory as a whole."""
        if not is_repetition(record):
            return None
        statements = self.keep_open(self.finder.find_statements_of(record.superseded_by, record))
        return next(
            (
                statement
                for statement in statements
                if not differ_in_detail(statement.text, candidate.text)
            ),
            None,
        )

    def keep_open(self, records: Iterable[Record]) -> list[Record]:
        """Return the statements among records that this digest left open, as it left them."""
        return [record for record in self._changes.add_stored(records) if _is_open(record)]

    def _find_synonyms(self, candidate: CandidateStatement, record: Record) -> tuple[Record, ...]:
        """Find the statements whose slot has another name for the candidate's."""
        if not has_comparable_slot(candidate, self._embedder):
            return ()
        # Where the embedder fails, the names of slots decide; the failure shows in the vectors that
        # are missing.
        with suppress(ModelError):
            statements = self.keep_open(self.finder.find_possible_synonyms(candidate, record))
            return find_synonyms(candidate, statements, self._embedder)
        return ()

    def _find_superseded(self, events: Sequence[Record], record: Record) -> list[Record]:
        """Find all that some events may have ended: statements, and their notes."""
        self._changes.add_stored(self.finder.find_superseded(events, record))
        source_ids = {
            item.source
            for statement in self._changes.current.values()
            for item in statement.evidence
        }
        sources = self._store.get(self._changes.owner, sorted(source_ids))
        self._changes.add_stored(source for source in sources if source.kind is Kind.NOTE)
        return list(self._changes.current.values())


def _is_open(record: Record) -> bool:
    return record.status in OPEN and record.kind in STATEMENT_KINDS
