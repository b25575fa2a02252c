"""Garden cycle: plans its jobs, runs them in order, and commits each with its progress.

Each job is one transaction of its changes, its undo log and the mark that it is done. So an
interrupted cycle continues behind its last finished job, and no answer of the model is paid for
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TypeAlias

import numpy as np

from engrams.core import Record, Scope, Status
from engrams.core.code_anchors import read_anchors
from engrams.core.ids import new_id
from engrams.errors import BudgetError, ConflictError, ModelError
from engrams.ports import (
    LEARNED,
    ChatAnswer,
    ChatModel,
    Clock,
    CodeReader,
    Embedder,
    OwnerStateRow,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.read.paging import iter_records
from engrams.settings import JOBS, Settings
from engrams.settings.project_name import find_project_folder
from engrams.upkeep.garden.agent import GardenAgent, GardenVisitResult
from engrams.upkeep.garden.conflicts import StatementConflict, find_conflicts, plan_conflict_steps
from engrams.upkeep.garden.links import link_related, strengthen_links
from engrams.upkeep.garden.merge import merge_duplicates
from engrams.upkeep.garden.prune_unbelieved import prune_unbelieved_records
from engrams.upkeep.garden.schedule import (
    ANSWER_TOKENS,
    compute_allowance,
    list_scheduled,
    make_wake_job,
)
from engrams.upkeep.garden.state import (
    GardenCycleProgress,
    GardenCycleReport,
    GardenState,
    GardenStateStore,
    decode_state,
    encode_state,
)
from engrams.upkeep.garden.steps import ACTOR, STATEMENTS, GardenJobInput, PlannedGardenStep
from engrams.upkeep.garden.tags import unify_tags
from engrams.upkeep.garden.undo import load_links, make_undo_log
from engrams.upkeep.garden.verify import verify_files

Chore: TypeAlias = Callable[[Scope], int]
"""A job of another component; returns how much it did."""

RULE_JOBS: Mapping[str, Callable[[GardenJobInput], list[PlannedGardenStep]]] = {
    "verify": verify_files,
    "merge": merge_duplicates,
    "conflicts": plan_conflict_steps,
    "prune": prune_unbelieved_records,
    "links": link_related,
    "strengthen": strengthen_links,
    "tags": unify_tags,
}
"""Jobs by rules. The others are chores of other components, and ``agent``, the chat model's.

They run in the order of ``settings.JOBS``.
"""

_NEEDS_CONFIRMATION = frozenset(("merge", "prune", "conflicts", "agent"))
"""Jobs that archive or supersede."""
_COMPARES_MEANING = frozenset(("merge", "links"))
"""Jobs that need the vectors."""
_MAX_ATTEMPTS = 20
"""Attempts to commit a job whose memories others change meanwhile."""
_PAGE = 500
_CODE_SECONDS = 10.0
"""Time for finding out where the code of one project went."""
_MAX_STATEMENTS = 20_000
"""Statements compared with each other; of more, the latest."""
_MAX_QUEUE_SHOWN = 10
"""Reasons of scheduled cycles that the model sees."""
_MAX_NOTE = 240
_RECENT_SESSIONS = 20


@dataclass(frozen=True, slots=True)
class GardenDeps:
    """Dependencies of a garden."""

    store: Store
    embedder: Embedder
    chat: ChatModel | None
    clock: Clock
    settings: Settings
    chores: Mapping[str, Chore]
    """Jobs of other components, by their name in a cycle."""
    search: Callable[[Scope, str], Sequence[str]]
    """Returns the ids of hits in an owner's memory."""
    code: CodeReader | None = None
    """Compares memories with the code that they name; None: nothing does."""


@dataclass(frozen=True, slots=True)
class GardenPlan:
    """Planned steps of a cycle."""

    owner: Scope
    steps: tuple[PlannedGardenStep, ...] = ()
    conflicts: tuple[StatementConflict, ...] = ()
    """Those that no step settles."""
    notes: tuple[str, ...] = ()
    """What is left out, and why."""


@dataclass(frozen=True, slots=True)
class GardenCycleRequest:
    """Request for a cycle."""

    owner: Scope
    why: str
    job: str
    """Id of the queued job."""
    jobs: tuple[str, ...] = ()
    """Jobs of the cycle to run; empty: as configured."""
    manual: bool = False
    """A person asked: then neither presence nor a pause holds it up, and steps that need
    confirmation are done.
    """
    renew_lease: Callable[[], None] = lambda: None
    """Renews the lease of the queued job; raises where another worker has it."""


class GardenCycleRunner:
    """Plans and runs cycles; the queue runs one at a time."""

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
        chosen = self._select_jobs(jobs)
        garden, notes = self.load_input(owner, chosen)
        steps: list[PlannedGardenStep] = []
        for job in chosen:
            steps += self._plan_job(job, garden)
        if "agent" in chosen and self._compute_model_tokens():
            notes.append("the chat model is asked when the cycle runs")
        return GardenPlan(owner, tuple(steps), tuple(find_conflicts(garden)), tuple(notes))

    def load_input(
        self, owner: Scope, jobs: Sequence[str] = ()
    ) -> tuple[GardenJobInput, list[str]]:
        """Load an owner's statements (vectors where ``jobs`` compare), with notes."""
        deps = self.deps
        notes = []
        statements = self._load_statements(owner)
        if len(statements) > _MAX_STATEMENTS:
            notes.append(f"{len(statements) - _MAX_STATEMENTS} older memories were not checked")
        records = statements[-_MAX_STATEMENTS:]
        ids = [record.id for record in records]
        card = deps.embedder.card
        vectors = np.zeros((len(ids), 0), np.float32)
        if card.dimension and ids and _COMPARES_MEANING & set(jobs):
            vectors = deps.store.vectors(owner, ids, card.id)
        garden = GardenJobInput(
            owner=owner,
            now=deps.clock(),
            settings=self._section,
            card=card,
            records=records,
            vectors=vectors,
            code_notes=self._find_code_notes(owner, records) if "verify" in jobs else {},
            links=tuple(load_links(deps.store, owner, ids).values()),
            settled=frozenset(self.states.get(owner).settled),
        )
        return garden, notes

    def _find_code_notes(self, owner: Scope, records: Sequence[Record]) -> dict[str, str]:
        """Find memories that the code of their project contradicts: id -> reason.

        Only of the home's own user: the checkouts of this machine are nobody else's.
        """
        settings = self.deps.settings
        if self.deps.code is None or owner.labels != ("user", settings.known_owner):
            return {}
        by_project: dict[str, list[Record]] = {}
        for record in records:
            project = _find_project(record.scope)
            if project and read_anchors(record) is not None:
                by_project.setdefault(project, []).append(record)
        notes: dict[str, str] = {}
        for project, project_records in by_project.items():
            folder = find_project_folder(project, settings.home)
            if folder is None:
                continue
            verdicts = self.deps.code.check(
                [read_anchors(record) for record in project_records], folder, seconds=_CODE_SECONDS
            )
            for record, verdict in zip(project_records, verdicts, strict=True):
                if verdict is not None and verdict.keeps_out(record.kind):
                    notes[record.id] = verdict.note
        return notes

    def _plan_job(self, job: str, garden: GardenJobInput) -> list[PlannedGardenStep]:
        return RULE_JOBS[job](garden) if job in RULE_JOBS else []

    def _select_jobs(self, jobs: Sequence[str]) -> tuple[str, ...]:
        """Return these jobs (none: as configured) in the order of a cycle."""
        wanted = jobs or self._section.jobs
        return tuple(job for job in JOBS if job in wanted)

    def _load_statements(self, owner: Scope) -> tuple[Record, ...]:
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            STATEMENTS,
            (Status.ACTIVE,),
            order="oldest",
            limit=_PAGE,
        )
        return tuple(iter_records(self.deps.store, query))

    # ----------------------------------------------------------------------------------------------
    # running

    def run(self, request: GardenCycleRequest) -> GardenCycleReport:
        """Run a cycle, or the rest of an interrupted one.

        ModelError and BudgetError end its model's part only.
        """
        progress = self._begin_cycle(request)
        for job in self._select_jobs(request.jobs):
            if job in progress.done or self._lacks_confirmation(job, request):
                continue
            if not request.manual and self.is_blocked(request.owner):
                progress = progress.with_report(state="paused").with_notes("somebody was here")
                break
            request.renew_lease()
            progress = self._run_job(job, request, progress)
        return replace(progress.report, ended=self.deps.clock().isoformat())

    def close_cycle(
        self, owner: Scope, report: GardenCycleReport
    ) -> tuple[GardenState, OwnerStateRow]:
        """Build the state after a cycle, and the row to commit."""
        counts = self.deps.store.counts(ScopeReach(owner, (owner,), tree=True))
        size = int(counts.get("status", {}).get(Status.ACTIVE, 0))
        row = self.states.load_row(owner)
        state = decode_state(row.data).with_ended_cycle(report, size)
        return state, replace(row, data=encode_state(state))

    def is_blocked(self, owner: Scope) -> bool:
        """Test whether the owner paused upkeep, or was active lately."""
        if self.states.get(owner).paused:
            return True
        since = self.deps.clock() - timedelta(minutes=self._section.quiet_minutes)
        rows = self.deps.store.sessions(ScopeReach(owner, (owner,), tree=True), _RECENT_SESSIONS)
        return any(row.state == "active" and row.last_active > since for row in rows)

    def _lacks_confirmation(self, job: str, request: GardenCycleRequest) -> bool:
        return self._section.confirm and not request.manual and job in _NEEDS_CONFIRMATION

    def _begin_cycle(self, request: GardenCycleRequest) -> GardenCycleProgress:
        """Begin a cycle, or continue this job's interrupted one.

        A cycle of another job is recorded as interrupted.
        """
        now = self.deps.clock()
        fresh = GardenCycleProgress(
            GardenCycleReport(new_id(now), request.why, now.isoformat()), job=request.job
        )

        def begin(state: GardenState) -> GardenState:
            if state.going is not None and state.going.job != request.job:
                abandoned = replace(state.going.report, state="interrupted", ended=now.isoformat())
                state = state.with_ended_cycle(abandoned, state.size)
            return replace(state, going=state.going or fresh)

        progress = self.states.change(request.owner, begin).going or fresh
        if progress.report.id != fresh.report.id:
            progress = progress.with_notes("it was interrupted and went on")
        return progress

    def _run_job(
        self, job: str, request: GardenCycleRequest, progress: GardenCycleProgress
    ) -> GardenCycleProgress:
        """Run one job and commit it; returns the progress that was committed."""
        owner = request.owner
        if job == "agent":
            return self._run_agent(request, progress)
        if job in self.deps.chores:
            count = self.deps.chores[job](owner)
            return self._save_progress(owner, progress.with_count(job, count).with_done(job))
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            garden, notes = self.load_input(owner, (job,))
            noted = progress.with_notes(*notes)
            if job == "conflicts" and not noted.report.conflicts:
                noted = noted.with_report(conflicts=len(find_conflicts(garden)))
            steps = self._plan_job(job, garden)
            try:
                return self._commit_job(owner, job, steps, noted)
            except ConflictError:
                # Memory changed meanwhile: plan again.
                if not attempts_left:
                    raise
        raise AssertionError("unreachable")

    def _commit_job(
        self,
        owner: Scope,
        job: str,
        steps: Sequence[PlannedGardenStep],
        progress: GardenCycleProgress,
    ) -> GardenCycleProgress:
        progress = _add_totals(progress.with_count(job, len(steps)).with_done(job), steps)
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
        state = decode_state(row.data)
        if progress is not None:
            state = replace(state, going=progress)
        state_rows: tuple[OwnerStateRow, ...] = ()
        if steps:
            state = state.with_undo(cycle, *make_undo_log(store, owner, steps))
            # Written back unchanged, so that an extraction that compared its statements with memory
            # as it was before these steps conflicts, and compares again.
            state_rows = (store.load_state(owner, LEARNED),)
        links = {
            (edge.source, edge.target, edge.type): edge for step in steps for edge in step.edges
        }
        store.commit(
            WriteBatch(
                ACTOR,
                ", ".join(dict.fromkeys(step.job for step in steps)) or "nothing to do",
                now,
                changes=tuple(change for step in steps for change in step.changes),
                edges=tuple(links.values()),
                unlink=tuple(edge for step in steps for edge in step.unlink),
                states=(replace(row, data=encode_state(state)), *state_rows),
            )
        )

    def _save_progress(self, owner: Scope, progress: GardenCycleProgress) -> GardenCycleProgress:
        self.states.change(owner, lambda state: replace(state, going=progress))
        return progress

    # ----------------------------------------------------------------------------------------------
    # the model

    def count_tokens_left(self) -> int | None:
        """Return the tokens left today; None: no limit, or no model."""
        limit = self.deps.settings.chat.daily_tokens
        if not limit or self.deps.chat is None:
            return None
        today = self.deps.clock().astimezone(UTC).date().isoformat()
        _, spent_tokens = self.deps.store.spend(today, 0, 0)
        return limit - spent_tokens

    def _compute_model_tokens(self) -> int:
        """Return the model's token budget; 0: it is not asked."""
        if self.deps.chat is None:
            return 0
        return compute_allowance(self.count_tokens_left(), self._section)

    def _run_agent(
        self, request: GardenCycleRequest, progress: GardenCycleProgress
    ) -> GardenCycleProgress:
        """Let the chat model review memory and propose steps; commit them."""
        owner = request.owner
        chat = self.deps.chat
        tokens = self._compute_model_tokens()
        if chat is None or tokens < ANSWER_TOKENS:
            if chat is not None:
                progress = progress.with_notes("no tokens are left for the model")
            return self._save_progress(owner, progress.with_done("agent"))
        # Saved as done before the model is asked: a cycle that is interrupted here continues
        # behind it, and pays for no answer twice.
        self._save_progress(owner, progress.with_done("agent").with_report(state="interrupted"))
        result = self._visit_memory(chat, tokens, request)
        progress = progress.with_notes(*result.notes).with_report(
            state="complete" if result.reported else "incomplete",
            summary=result.summary,
            next_minutes=result.next_minutes,
            tokens=result.tokens,
            calls=result.calls,
        )
        try:
            progress = self._commit_job(owner, "agent", result.steps, progress)
        except ConflictError:
            # Asking again would cost again.
            progress = progress.with_notes(
                "memory changed meanwhile, so the model's changes were not made"
            )
            progress = self._save_progress(owner, progress.with_done("agent"))
        self._schedule_visits(owner, result)
        return progress

    def _visit_memory(
        self, chat: ChatModel, tokens: int, request: GardenCycleRequest
    ) -> GardenVisitResult:
        """Ask the model; where it fails, the result is what it did so far."""
        owner = request.owner
        garden, _ = self.load_input(owner)
        reasons = [cycle.why for cycle in list_scheduled(self.deps.store, owner) if cycle.why]
        agent = GardenAgent(
            chat,
            garden,
            search=lambda query: self.deps.search(owner, query),
            queue=reasons[:_MAX_QUEUE_SHOWN],
        )
        result = GardenVisitResult()
        try:
            agent.visit(
                result,
                tokens,
                record_usage=lambda answer: self._record_usage(owner, answer),
                renew_lease=request.renew_lease,
            )
        except (ModelError, BudgetError) as problem:
            result.notes.append(f"the model failed: {problem.message}"[:_MAX_NOTE])
        return result

    def _schedule_visits(self, owner: Scope, result: GardenVisitResult) -> None:
        """Schedule the cycles that the model asked for."""
        now = self.deps.clock()
        jobs = [
            make_wake_job(
                owner,
                new_id(now),
                now + timedelta(minutes=max(minutes, self._section.min_pause_minutes)),
                why,
            )
            for minutes, why in result.wakes
        ]
        self.deps.store.enqueue(jobs, now)

    def _record_usage(self, owner: Scope, answer: ChatAnswer) -> None:
        at = self.deps.clock()
        self.states.change(owner, lambda state: state.with_usage(at, answer.tokens, answer.calls))


def _add_totals(
    progress: GardenCycleProgress, steps: Sequence[PlannedGardenStep]
) -> GardenCycleProgress:
    """Add to the numbers of changed and of merged memories."""
    report = progress.report
    modified = {change.id for step in steps for change in step.changes}
    merged = sum(len(step.ids) - 1 for step in steps if step.verb == "merge")
    return progress.with_report(
        modified=report.modified + len(modified), compactions=report.compactions + merged
    )


def _find_project(scope: Scope) -> str:
    """Return the project of a scope; empty: it is in none."""
    labels = dict(zip(scope.labels[::2], scope.labels[1::2], strict=True))
    return labels.get("project", "")
