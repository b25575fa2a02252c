"""Stored statements that a candidate is compared with.

``RelatedStatementFinder`` looks for them by slot, by session, by words and by meaning. Make one for
each reconciliation: it asks the store for each page once. ``scopes_in_reach`` says which scopes
belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from engrams.core import ENDING, STATEMENT_KINDS, Record, Scope, Status
from engrams.core.clock import CLOCK_SLACK
from engrams.errors import ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate, closed_slots, is_single
from engrams.frozen_data import replace
from engrams.ports import CandidateSearchQuery, Condition, RecordQuery, ScopeReach, Where
from engrams.text.terms import terms
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

OPEN = (Status.ACTIVE, Status.CANDIDATE)
"""Statuses of a statement that holds, or waits to."""
NEAREST = 5
"""Statements nearest in words that a candidate is compared with."""
_SLOT_LIMIT = 200
"""Statements of one slot that are looked at."""
_MULTI_SLOT_LIMIT = 20
"""The same for a slot of many values, whose relevant ones share words with the candidate."""
_SESSION_LIMIT = 10
_SYNONYM_LIMIT = 50
_ROUNDING = 1e-6
"""Added to a cosine, so that one equal to the floor is not lost by rounding."""


class RelatedStatementFinder:
    """Finder of stored statements that candidates of one owner may change or repeat."""

    def __init__(self, deps: WriteDeps) -> None:
        self._store = deps.store
        self._embedder = deps.embedder
        self._clock = deps.clock
        self._settings = deps.settings.write
        self._pages: dict[RecordQuery, tuple[Record, ...]] = {}

    # ----------------------------------------------------------------------------------------------
    # by slot and session

    def find_slot(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find the open statements of the slots that a candidate fills or closes."""
        closed = [predicate for predicate, _ in closed_slots(candidate.predicate, candidate.object)]
        predicates = tuple(
            dict.fromkeys((candidate.predicate, canonical_predicate(candidate.predicate), *closed))
        )
        # In a slot of many values, the relevant ones share words with the candidate:
        # ``find_nearest`` finds them.
        is_whole_slot = (
            is_single(candidate.predicate, candidate.subject) or candidate.effect != "states"
        )
        limit = _SLOT_LIMIT if is_whole_slot else _MULTI_SLOT_LIMIT * len(predicates)
        of_subject = RecordQuery(
            self._reach(record), STATEMENT_KINDS, OPEN, subject=candidate.subject, limit=_SLOT_LIMIT
        )
        statements = self._find(replace(of_subject, predicates=predicates, limit=limit))
        if candidate.effect == "corrects":
            statements += self._find(of_subject)
        return self._within_scope(statements, record)

    def find_past_values(self, candidate: CandidateStatement, record: Record) -> tuple[Record, ...]:
        """Find the superseded values of the candidate's slot."""
        return self._find(
            RecordQuery(
                self._reach(record),
                STATEMENT_KINDS,
                (Status.SUPERSEDED,),
                subject=candidate.subject,
                predicates=(canonical_predicate(candidate.predicate),),
                limit=_SLOT_LIMIT,
            )
        )

    def find_superseded(self, events: Sequence[Record], record: Record) -> list[Record]:
        """Find superseded statements of the slots that some events fill or close."""
        subject_of = {
            (
                event.predicate,
                *(predicate for predicate, _ in closed_slots(event.predicate, event.object)),
            ): event.subject
            for event in events
        }
        return [
            statement
            for predicates, subject in subject_of.items()
            for statement in self._find(
                RecordQuery(
                    self._reach(record),
                    STATEMENT_KINDS,
                    (Status.SUPERSEDED,),
                    subject=subject,
                    predicates=predicates,
                    limit=_SLOT_LIMIT,
                )
            )
        ]

    def find_latest_of_session(self, record: Record) -> list[Record]:
        """Find the latest open statements of the record's session."""
        query = RecordQuery(
            self._reach(record),
            STATEMENT_KINDS,
            OPEN,
            session=record.session,
            limit=_SESSION_LIMIT,
        )
        return [statement for statement in self._find(query) if statement.scope == record.scope]

    def find_possible_synonyms(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find the latest statements whose slots may be synonyms of the candidate's."""
        query = RecordQuery(self._reach(record), STATEMENT_KINDS, OPEN, limit=_SYNONYM_LIMIT)
        if candidate.predicate == "is":
            query = replace(query, predicates=("is",))
        else:
            query = replace(query, subject=candidate.subject)
        return self._within_scope(self._find(query), record)

    # ----------------------------------------------------------------------------------------------
    # by words and meaning

    def find_nearest(
        self, candidates: Sequence[tuple[CandidateStatement, Record]]
    ) -> list[list[Record]]:
        """Find the open statements nearest in words to each candidate of one owner.

        The second of each pair is the record that it was said in. A bare correction has no words of
        its own, and nothing near it.
        """
        if not candidates or self._settings.reconcile == "off":
            return [[] for _ in candidates]
        worded = {
            position: pair for position, pair in enumerate(candidates) if not pair[0].is_elliptic
        }
        queries = [
            CandidateSearchQuery(
                self._reach(record),
                record.recorded_at,
                tuple((word, 1.0) for word in dict.fromkeys(terms(candidate.text))),
                model=self._embedder.card.id,
                width=NEAREST * 4,
                kinds=STATEMENT_KINDS,
                alone=True,
            )
            for candidate, record in worded.values()
        ]
        pools = self._store.seek_all(queries)
        id_lists = [pool.ids.at(find_highest(pool.bm, NEAREST)) for pool in pools]
        owner = candidates[0][1].scope.owner
        all_ids = [*dict.fromkeys(record_id for ids in id_lists for record_id in ids)]
        by_id = (
            {statement.id: statement for statement in self._store.get(owner, all_ids)}
            if all_ids
            else {}
        )
        nearest: list[list[Record]] = [[] for _ in candidates]
        for position, ids in zip(worded, id_lists, strict=True):
            statements = [by_id[record_id] for record_id in ids if record_id in by_id]
            nearest[position] = self._within_scope(statements, candidates[position][1])
        return nearest

    def find_rivals(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find open statements that a candidate may contradict, nearest first.

        Those of its category or of none, with a cosine of ``write.contradiction_cosine`` or more;
        of any category, if the candidate is a stored statement itself.
        """
        where = (
            None
            if candidate.id
            else Where("and", (Condition("category", "in", (candidate.category, "")),))
        )
        return self._find_alike(candidate, record, self._settings.contradiction_cosine, where)

    def find_twins(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find open statements that may say the same, nearest first."""
        floor = self._settings.dedup_cosine
        return self._find_alike(candidate, record, floor) if floor else []

    def find_narrower_twins(self, candidate: CandidateStatement, record: Record) -> list[Record]:
        """Find open statements of scopes below that may say the same, nearest first."""
        floor = self._settings.dedup_cosine
        if not floor or self._settings.reach == "conversation":
            return []
        own_scope = record.scope.durable
        return [
            statement
            for statement in self._load_alike(candidate, record, floor)
            if own_scope in (scope := statement.scope.durable).chain() and scope != own_scope
        ]

    def find_statements_of(self, memory_id: str, record: Record) -> list[Record]:
        """Find the open statements of a memory that a message repeats: itself, or learned from it.

        None where something later ended that memory, or may have ended it: then it is said anew.
        """
        owner = record.scope.owner
        endings = self._store.edges(owner, [memory_id], ENDING)
        if any(edge.target == memory_id for edge in endings):
            return []
        learned = RecordQuery(
            ScopeReach.of_owner(owner), STATEMENT_KINDS, OPEN, sources=(memory_id,), limit=NEAREST
        )
        return [*self._store.get(owner, [memory_id]), *self._find(learned)]

    def find_inner_rivals(self, candidates: Sequence[CandidateStatement]) -> set[int]:
        """Find the positions of candidates that may contradict each other."""
        if not self._embedder.card.dimension or len(candidates) < 2:
            return set()
        try:
            rows = self._embedder.embed([candidate.text for candidate in candidates])
        except ModelError:
            return set()
        is_near = rows @ rows.T >= self._settings.contradiction_cosine - _ROUNDING
        return {
            position
            for pair in combinations(range(len(candidates)), 2)
            if is_near[pair] and candidates[pair[0]].category == candidates[pair[1]].category
            for position in pair
        }

    def _find_alike(
        self,
        candidate: CandidateStatement,
        record: Record,
        floor: float,
        where: Where | None = None,
    ) -> list[Record]:
        """Find statements of the record's scopes with a cosine of ``floor`` or more, nearest first."""
        return self._within_scope(self._load_alike(candidate, record, floor, where), record)

    def _load_alike(
        self,
        candidate: CandidateStatement,
        record: Record,
        floor: float,
        where: Where | None = None,
    ) -> list[Record]:
        card = self._embedder.card
        if not card.dimension:
            return []
        try:
            (vector,) = self._embedder.embed([candidate.text])
        except ModelError:
            return []
        query = CandidateSearchQuery(
            reach=self._reach(record),
            now=record.recorded_at,
            terms=(),
            vector=vector,
            model=card.id,
            width=NEAREST * 4,
            kinds=STATEMENT_KINDS,
            where=where,
            alone=True,
        )
        pool = self._store.seek(query)
        cosines = {
            record_id: float(cosine)
            for record_id, cosine, is_embedded in zip(
                pool.ids, pool.cos, pool.embedded, strict=True
            )
            if is_embedded and cosine >= floor - _ROUNDING
        }
        return sorted(
            self._store.get(record.scope.owner, list(cosines)),
            key=lambda statement: (-cosines[statement.id], statement.id),
        )

    # ----------------------------------------------------------------------------------------------
    # steps

    def _find(self, query: RecordQuery) -> tuple[Record, ...]:
        if query not in self._pages:
            self._pages[query] = self._store.find(query).records
        return self._pages[query]

    def _reach(self, record: Record) -> ScopeReach:
        return scopes_in_reach(record.scope, self._settings.reach)

    def _within_scope(self, statements: Sequence[Record], record: Record) -> list[Record]:
        """Keep the statements of scopes that this record's statements belong to."""
        now = self._clock()
        statements = [_date_by_clock(statement, now) for statement in statements]
        if self._settings.reach == "conversation":
            return [statement for statement in statements if statement.scope == record.scope]
        above: tuple[Scope, ...] = record.scope.durable.chain()
        return [statement for statement in statements if statement.scope.durable in above]


def _date_by_clock(statement: Record, now: datetime) -> Record:
    """Date a statement back that was stored while the clock was ahead.

    It was told before now, whatever its times say: what is told now is newer.
    """
    if statement.recorded_at - now <= CLOCK_SLACK:
        return statement
    told_at = now - CLOCK_SLACK
    valid_from = statement.valid_from and min(statement.valid_from, told_at)
    return replace(statement, recorded_at=told_at, valid_from=valid_from)


def find_highest(scores: Floats, count: int) -> list[int]:
    """Find the positions of the highest scores, the first of equals first."""
    import numpy as np

    if len(scores) <= count:
        return [int(position) for position in (-scores).argsort(kind="stable")]
    # Only what reaches the lowest of the highest is sorted: a pool has thousands of scores.
    lowest = np.partition(scores, len(scores) - count)[len(scores) - count]
    high = np.flatnonzero(scores >= lowest)
    return [int(position) for position in high[(-scores[high]).argsort(kind="stable")[:count]]]


def scopes_in_reach(scope: Scope, reach: Literal["owner", "conversation"] = "owner") -> ScopeReach:
    """Return the scopes whose statements one of this scope may change."""
    if reach == "conversation":
        return ScopeReach(scope.owner, (scope,))
    return ScopeReach(scope.owner, scope.durable.chain(), tree=True)
