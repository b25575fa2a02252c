"""Garden cycle: runs jobs in order, each committed once with its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any, TypeAlias

import numpy as np

from engrams.core import Edge, Record, Scope, Status
from engrams.core.ids import new_id
from engrams.errors import BudgetError, ConflictError, ModelError
from engrams.frozen_data import dataclass
from engrams.ports import (
    LEARNED,
    ChatAnswer,
    ChatModel,
    Clock,
    Embedder,
    OwnerStateRow,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.settings import JOBS, Settings
from engrams.upkeep.garden.agent import GardenAgent, GardenVisitResult
from engrams.upkeep.garden.merge_and_link import (
    link_related,
    merge_duplicates,
    strengthen_links,
    unify_tags,
)
from engrams.upkeep.garden.rule_jobs import (
    STATEMENTS,
    GardenJobInput,
    GardenPlan,
    PlannedGardenStep,
    StatementConflict,
    find_conflicts,
    prune_weak,
    settle_conflicts,
    verify_files,
)
from engrams.upkeep.garden.state import (
    GardenCycleProgress,
    GardenCycleReport,
    GardenState,
    GardenStateStore,
    compute_allowance,
    decode,
    encode,
    list_entries,
    make_wake_job,
)

ACTOR = "garden"
Chore: TypeAlias = Callable[[Scope], int]

_TRIES = 20
_PAGE = 500
_MOST = 20_000
"""Statements compared with each other; of more, the latest."""
_ROWS = 500
_TOLD = 10
_CONFIRMED = frozenset(("merge", "prune", "conflicts", "agent"))
"""Jobs that archive or supersede, and so need confirmation."""
_MEANING = frozenset(("merge", "links"))


class OwnerPresentError(Exception):
    """Raised where the owner is active: the cycle pauses."""


@dataclass(frozen=True, slots=True)
class GardenDeps:
    """Dependencies of a cycle.

    ``chores``: jobs of other components that it starts. ``search``: ids of hits in an owner's
    memory.
    """

    store: Store
    embedder: Embedder
    chat: ChatModel | None
    clock: Clock
    settings: Settings
    chores: Mapping[str, Chore]
    search: Callable[[Scope, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class GardenCycleRequest:
    """Request for a cycle.

    ``job``: id of the queued job. ``jobs``: names of the jobs to run (empty: as configured).
    ``manual``: a person asked; then neither presence nor a pause holds it up, and steps that need
    confirmation are done. ``alive``: renews the job's lease.
    """

    owner: Scope
    why: str
    job: str
    jobs: tuple[str, ...] = ()
    manual: bool = False
    alive: Callable[[], None] = lambda: None


class GardenCycleRunner:
    """Plans and runs cycles; the queue runs one per owner."""

    def __init__(self, deps: GardenDeps) -> None:
        self.deps = deps
        self.states = GardenStateStore(deps.store)
        self._section = deps.settings.garden

    # ----------------------------------------------------------------------------------------------
    # planning

    def plan(self, owner: Scope, jobs: Sequence[str] = ()) -> GardenPlan:
        """Plan the rule-based steps of all jobs; changes nothing.

        A memory is in one step at most.
        """
        garden, notes = self.load_scope(owner, self._select_jobs(jobs))
        steps: list[PlannedGardenStep] = []
        for job in self._select_jobs(jobs):
            steps += self._plan_job(job, garden)
        if "agent" in self._select_jobs(jobs) and self._model_tokens():
            notes.append("the chat model is asked when the cycle runs")
        return GardenPlan(owner, tuple(steps), tuple(find_conflicts(garden)), tuple(notes))

    def load_scope(
        self, owner: Scope, jobs: Sequence[str] = ()
    ) -> tuple[GardenJobInput, list[str]]:
        """Load an owner's statements (vectors where ``jobs`` compare), with notes."""
        deps = self.deps
        notes = []
        every = tuple(self._load_statements(owner))
        if len(every) > _MOST:
            notes.append(f"{len(every) - _MOST} older memories were not looked at")
        records = every[-_MOST:]
        ids = [record.id for record in records]
        card = deps.embedder.card
        compared = card.dimension and ids and _MEANING & set(jobs)
        vectors = (
            deps.store.vectors(owner, ids, card.id)
            if compared
            else np.zeros((len(ids), 0), np.float32)
        )
        edges: dict[tuple[str, str, str], Edge] = {}
        for start in range(0, len(ids), _ROWS):
            for edge in deps.store.edges(owner, ids[start : start + _ROWS]):
                edges[edge.source, edge.target, edge.type] = edge
        settled = frozenset(self.states.get(owner).settled)
        return (
            GardenJobInput(
                owner=owner,
                now=deps.clock(),
                settings=self._section,
                records=records,
                vectors=vectors,
                links=tuple(edges.values()),
                settled=settled,
            ),
            notes,
        )

    def _plan_job(self, job: str, garden: GardenJobInput) -> list[PlannedGardenStep]:
        match job:
            case "verify":
                return verify_files(garden)
            case "merge":
                return merge_duplicates(garden)
            case "conflicts":
                return (
                    settle_conflicts(garden, find_conflicts(garden))
                    if self._section.conflicts == "auto"
                    else []
                )
            case "prune":
                return prune_weak(garden)
            case "links":
                return link_related(garden, self.deps.embedder.card)
            case "strengthen":
                return strengthen_links(garden)
            case "tags":
                return unify_tags(garden)
            case _:
                return []

    # ----------------------------------------------------------------------------------------------
    # running

    def run(self, request: GardenCycleRequest) -> GardenCycleReport:
        """Run a cycle, or the rest of an interrupted one.

        ``ended`` of the report says that it is over. ModelError and BudgetError end its model's
        part only.
        """
        progress = self._begin_cycle(request)
        try:
            for job in self._select_jobs(request.jobs):
                if job in progress.done or (
                    self._section.confirm and not request.manual and job in _CONFIRMED
                ):
                    continue
                if not request.manual and self.is_blocked(request.owner):
                    raise OwnerPresentError
                request.alive()
                progress = self._run_job(job, request, progress)
            report = progress.report
        except OwnerPresentError:
            report = replace(
                progress.report, state="paused", notes=(*progress.report.notes, "somebody was here")
            )
        return replace(report, ended=self.deps.clock().isoformat())

    def close_cycle(
        self, owner: Scope, report: GardenCycleReport
    ) -> tuple[GardenState, OwnerStateRow]:
        """Build the state after a cycle, and the row to commit."""
        counts = self.deps.store.counts(ScopeReach(owner, (owner,), tree=True))
        row = self.states.load_row(owner)
        state = decode(row.data).with_report(
            report, int(counts.get("status", {}).get(Status.ACTIVE, 0))
        )
        return state, replace(row, data=encode(state))

    def is_blocked(self, owner: Scope) -> bool:
        """True where the owner paused upkeep, or was active lately."""
        if self.states.get(owner).paused:
            return True
        since = self.deps.clock() - timedelta(minutes=self._section.quiet_minutes)
        rows = self.deps.store.sessions(ScopeReach(owner, (owner,), tree=True), 20)
        return any(row.state == "active" and row.last_active > since for row in rows)

    def _begin_cycle(self, request: GardenCycleRequest) -> GardenCycleProgress:
        """Begin a cycle, or continue this job's interrupted one.

        A cycle of another job is recorded as interrupted.
        """
        now = self.deps.clock()
        fresh = GardenCycleProgress(
            GardenCycleReport(new_id(now), request.why, now.isoformat()), job=request.job
        )

        def begun(state: GardenState) -> GardenState:
            if state.going is not None and state.going.job != request.job:
                state = state.with_report(
                    replace(state.going.report, state="interrupted", ended=now.isoformat()),
                    state.size,
                )
            return replace(state, going=state.going or fresh)

        state = self.states.change(request.owner, begun)
        progress = state.going or fresh
        if progress.report.id != fresh.report.id:
            note = "it was interrupted and went on"
            progress = replace(
                progress,
                report=replace(
                    progress.report, notes=tuple(dict.fromkeys((*progress.report.notes, note)))
                ),
            )
        return progress

    def _run_job(
        self, job: str, request: GardenCycleRequest, progress: GardenCycleProgress
    ) -> GardenCycleProgress:
        if job == "agent":
            return self._run_agent(request, progress)
        if job in self.deps.chores:
            count = self.deps.chores[job](request.owner)
            return self._save_progress(
                request.owner, replace(_add_count(progress, job, count), done=(*progress.done, job))
            )
        for left in reversed(range(_TRIES)):
            garden, notes = self.load_scope(request.owner, (job,))
            found = find_conflicts(garden) if job == "conflicts" else []
            steps = self._plan_job(job, garden)
            try:
                return self._commit_job(
                    request.owner, job, steps, _add_notes(progress, notes, found)
                )
            except ConflictError:
                # Memory changed meanwhile: plan again.
                if not left:
                    raise
        raise AssertionError("unreachable")

    def _commit_job(
        self,
        owner: Scope,
        job: str,
        steps: Sequence[PlannedGardenStep],
        progress: GardenCycleProgress,
    ) -> GardenCycleProgress:
        progress = replace(_add_count(progress, job, len(steps)), done=(*progress.done, job))
        progress = replace(progress, report=_add_totals(progress.report, steps))
        self.commit_steps(owner, steps, progress.report.id, progress)
        return progress

    def commit_steps(
        self,
        owner: Scope,
        steps: Sequence[PlannedGardenStep],
        cycle: str,
        progress: GardenCycleProgress | None = None,
    ) -> None:
        """Commit steps with their undo log. ConflictError: something changed meanwhile."""
        now = self.deps.clock()
        store = self.deps.store
        row = self.states.load_row(owner)
        state = decode(row.data) if progress is None else replace(decode(row.data), going=progress)
        marks = (store.load_state(owner, LEARNED),) if steps else ()
        if steps:
            state = state.with_undo(cycle, *self._make_undo_log(owner, steps))
        batch = WriteBatch(
            ACTOR,
            ", ".join(dict.fromkeys(step.job for step in steps)) or "nothing to do",
            now,
            changes=tuple(change for step in steps for change in step.changes),
            edges=tuple(
                {(e.source, e.target, e.type): e for step in steps for e in step.edges}.values()
            ),
            unlink=tuple(edge for step in steps for edge in step.unlink),
            states=(replace(row, data=encode(state)), *marks),
        )
        store.commit(batch)

    def _make_undo_log(
        self, owner: Scope, steps: Sequence[PlannedGardenStep]
    ) -> tuple[list[Any], list[Any]]:
        """Build the undo log of steps: changed records and links.

        Records: [id, version after]. Links: [source, target, type, weight before (None: no link),
        count before].
        """
        records = [
            [change.id, (change.expect or 0) + 1] for step in steps for change in step.changes
        ]
        touched = {
            (e.source, e.target, e.type): e for step in steps for e in (*step.edges, *step.unlink)
        }
        nodes = list(dict.fromkeys(source for source, _, _ in touched))
        known: dict[tuple[str, str, str], Edge] = {}
        for start in range(0, len(nodes), _ROWS):
            for edge in self.deps.store.edges(owner, nodes[start : start + _ROWS]):
                known[edge.source, edge.target, edge.type] = edge
        back = []
        for key in touched:
            before = known.get(key)
            back.append([*key, before.weight if before else None, before.count if before else 0])
        return records, back

    # ----------------------------------------------------------------------------------------------
    # the model

    def tokens_left(self) -> int | None:
        """Return the tokens left today; None: no limit, or no model."""
        limit = self.deps.settings.chat.daily_tokens
        if not limit or self.deps.chat is None:
            return None
        return (
            limit
            - self.deps.store.spend(self.deps.clock().astimezone(UTC).date().isoformat(), 0, 0)[1]
        )

    def _model_tokens(self) -> int:
        """Return the model's token budget; 0: it is not asked."""
        return (
            compute_allowance(self.tokens_left(), self._section)
            if self.deps.chat is not None
            else 0
        )

    def _run_agent(
        self, request: GardenCycleRequest, progress: GardenCycleProgress
    ) -> GardenCycleProgress:
        """Let the chat model review memory and propose steps; commit them."""
        owner = request.owner
        chat = self.deps.chat
        tokens = self._model_tokens()
        progress = replace(progress, done=(*progress.done, "agent"))
        if chat is None or not tokens:
            note = () if chat is None else ("no tokens are left for the model",)
            return self._save_progress(
                owner,
                replace(
                    progress, report=replace(progress.report, notes=(*progress.report.notes, *note))
                ),
            )
        self._save_progress(
            owner, replace(progress, report=replace(progress.report, state="interrupted"))
        )
        garden, _ = self.load_scope(owner)
        made = GardenVisitResult()
        try:
            queue = [entry.why for entry in list_entries(self.deps.store, owner) if entry.why][
                :_TOLD
            ]
            agent = GardenAgent(chat, garden, lambda query: self.deps.search(owner, query), queue)
            agent.visit(
                made, tokens, lambda answer: self._record_usage(owner, answer), request.alive
            )
        except (ModelError, BudgetError) as problem:
            made.notes.append(f"the model failed: {problem.message}"[:240])
        report = replace(
            progress.report,
            state="complete" if made.reported else "incomplete",
            summary=made.summary,
            next_minutes=made.next_minutes,
            tokens=made.tokens,
            calls=made.calls,
            notes=(*progress.report.notes, *dict.fromkeys(made.notes)),
        )
        progress = replace(
            progress, done=tuple(name for name in progress.done if name != "agent"), report=report
        )
        try:
            progress = self._commit_job(owner, "agent", made.steps, progress)
        except ConflictError:
            lost = replace(
                report,
                notes=(
                    *report.notes,
                    "memory changed meanwhile: what the model wanted was not done",
                ),
            )
            progress = self._save_progress(
                owner, replace(progress, done=(*progress.done, "agent"), report=lost)
            )
        now = self.deps.clock()
        wakes = [
            (now + timedelta(minutes=max(minutes, self._section.min_pause_minutes)), why)
            for minutes, why in made.wakes
        ]
        self.deps.store.enqueue(
            [make_wake_job(owner, new_id(now), at, why) for at, why in wakes], now
        )
        return progress

    def _record_usage(self, owner: Scope, answer: ChatAnswer) -> None:
        at = self.deps.clock()
        self.states.change(owner, lambda state: state.with_usage(at, answer.tokens, answer.calls))

    # ----------------------------------------------------------------------------------------------
    # plumbing

    def _save_progress(self, owner: Scope, progress: GardenCycleProgress) -> GardenCycleProgress:
        self.states.change(owner, lambda state: replace(state, going=progress))
        return progress

    def _select_jobs(self, jobs: Sequence[str]) -> tuple[str, ...]:
        wanted = jobs or self._section.jobs
        return tuple(job for job in JOBS if job in wanted)

    def _load_statements(self, owner: Scope) -> Iterator[Record]:
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            STATEMENTS,
            (Status.ACTIVE,),
            order="oldest",
            limit=_PAGE,
        )
        while True:
            page = self.deps.store.find(query)
            yield from page.records
            if not page.next:
                return
            query = replace(query, after=page.next)


def _add_count(progress: GardenCycleProgress, job: str, count: int) -> GardenCycleProgress:
    return replace(
        progress, report=replace(progress.report, jobs={**progress.report.jobs, job: count})
    )


def _add_notes(
    progress: GardenCycleProgress, notes: Sequence[str], found: Sequence[StatementConflict]
) -> GardenCycleProgress:
    merged_notes = tuple(dict.fromkeys((*progress.report.notes, *notes)))
    return replace(
        progress,
        report=replace(
            progress.report, notes=merged_notes, conflicts=progress.report.conflicts or len(found)
        ),
    )


def _add_totals(report: GardenCycleReport, steps: Sequence[PlannedGardenStep]) -> GardenCycleReport:
    modified = {change.id for step in steps for change in step.changes}
    gone = sum(len(step.ids) - 1 for step in steps if step.verb == "merge")
    return replace(
        report, modified=report.modified + len(modified), compactions=report.compactions + gone
    )
