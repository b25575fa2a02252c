"""Reviewer of facts: plans, applies and undoes a review, and runs its job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from engrams.core import DerivedMemory, Kind, Record, Scope, ScopeInput, Status
from engrams.core.ids import new_id
from engrams.ports import (
    EMBED,
    ChatModel,
    Clock,
    Embedder,
    Job,
    JobSpec,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.read.paging import iter_records
from engrams.settings import ReviewSettings
from engrams.upkeep.fact_review.model_questions import find_merges, find_outdated
from engrams.upkeep.fact_review.review_plan import (
    ACTOR,
    MARK,
    FactReviewPlan,
    FactReviewWrite,
    PlannedFactMerge,
    PlannedFactRemoval,
    build_undo,
)

_FACTS = (Kind.FACT, Kind.PREFERENCE)
_PAGE = 500


class FactReviewer:
    """Review of one owner's facts; holds no lock while a model works.

    Changes made meanwhile make ``apply`` raise.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        chat: ChatModel | None,
        clock: Clock,
        settings: ReviewSettings,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chat = chat
        self._clock = clock
        self._settings = settings

    def run_job(self, job: Job) -> None:
        """Plan and apply a review, unless plans need confirmation."""
        owner = Scope.parse(job.payload["owner"])
        plan = FactReviewPlan("", owner) if self._settings.confirm else self.plan(owner)
        if plan.is_empty:
            self._store.finish(job.lease, self._clock())
        else:
            self.apply(plan, job.lease)

    def plan(
        self, owner: ScopeInput, *, stale: bool | None = None, merge: bool | None = None
    ) -> FactReviewPlan:
        """Plan a review without changing anything; needs a chat model.

        ``stale``, ``merge``: which parts (None: as configured). ModelError, BudgetError: the model
        failed.
        """
        now = self._clock()
        owner_scope = Scope.of(owner).owner
        plan = FactReviewPlan(new_id(now), owner_scope)
        if self._chat is None:
            return replace(plan, notes=("there is no chat model",))
        facts = self._load_facts(owner_scope)
        removals: tuple[PlannedFactRemoval, ...] = ()
        if self._settings.stale if stale is None else stale:
            removals = find_outdated(self._chat, facts, self._settings, now)
        merges: list[PlannedFactMerge] = []
        notes: list[str] = []
        if self._settings.merge if merge is None else merge:
            removed_ids = {removal.record.id for removal in removals}
            merges, notes = self._plan_merges(self._chat, facts, removed_ids)
        return replace(plan, removals=removals, merges=tuple(merges), notes=tuple(notes))

    def apply(self, plan: FactReviewPlan, lease: str = "") -> tuple[DerivedMemory, ...]:
        """Apply a plan in one transaction; returns the results by fact.

        ConflictError: one of its facts changed since.
        """
        write = FactReviewWrite.from_plan(plan, self._clock())
        card = self._embedder.card
        # Merged facts are stored without a vector.
        jobs = (JobSpec(EMBED, card.id),) if write.puts and card.dimension else ()
        finish = (lease,) if lease else ()
        self._store.commit(replace(write.to_batch(), jobs=jobs, finish=finish))
        return tuple(write.results)

    def undo(self, owner: ScopeInput, id: str) -> int:
        """Undo a review; returns how many memories were restored or archived.

        ConflictError: one of them changed since.
        """
        now = self._clock()
        owner_scope = Scope.of(owner).owner
        query = RecordQuery(
            ScopeReach(owner_scope, (owner_scope,), tree=True),
            statuses=(Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED),
            order="oldest",
            limit=_PAGE,
        )
        reviewed = [
            record for record in iter_records(self._store, query) if record.meta.get(MARK) == id
        ]
        changes = build_undo(owner_scope, reviewed)
        if changes:
            self._store.commit(WriteBatch(ACTOR, "undone", now, changes=changes))
        return len(changes)

    def _plan_merges(
        self, chat: ChatModel, facts: Sequence[Record], removed_ids: Set[str]
    ) -> tuple[list[PlannedFactMerge], list[str]]:
        """Ask about each scope and category that has enough facts, until there are enough merges."""
        merges: list[PlannedFactMerge] = []
        notes: list[str] = []
        for category_facts in _group_by_category(facts).values():
            group = [fact for fact in category_facts if fact.id not in removed_ids]
            room = self._settings.max_merges - len(merges)
            if len(group) < self._settings.min_category or room <= 0:
                continue
            group_merges, group_notes = find_merges(chat, group, self._settings)
            merges += group_merges[:room]
            notes += group_notes
        return merges, notes

    def _load_facts(self, owner: Scope) -> tuple[Record, ...]:
        """Load active facts, oldest first; corrections are protected, and left out."""
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            _FACTS,
            (Status.ACTIVE,),
            order="oldest",
            limit=_PAGE,
        )
        return tuple(
            record for record in iter_records(self._store, query) if record.category != "correction"
        )


def _group_by_category(facts: Sequence[Record]) -> Mapping[tuple[Scope, str], list[Record]]:
    groups: dict[tuple[Scope, str], list[Record]] = {}
    for fact in facts:
        groups.setdefault((fact.scope, fact.category), []).append(fact)
    return groups
