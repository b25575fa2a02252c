"""One cycle: job after job, each with what it changed in one write; what was done is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import Any, TypeAlias

import numpy as np

from engrams.clock import new_id
from engrams.errors import BudgetError, ConflictError, ModelError
from engrams.ports import Answer, Batch, Chat, Clock, Embedder, Query, Reach, SessionRow, Store
from engrams.settings import Settings
from engrams.settings.garden import JOBS
from engrams.tend.garden import conflict, links, merge, prune, tags
from engrams.tend.garden.agent import Agent, Visit
from engrams.tend.garden.pace import allowance
from engrams.tend.garden.plan import STATEMENTS, Bed, Conflict, Plan, Step
from engrams.tend.garden.queue import waiting, wake
from engrams.tend.garden.state import Going, Report, State, States, decode, encode
from engrams.types import Edge, Record, Scope, Status
from engrams.write import watermark

ACTOR = "garden"
Chore: TypeAlias = Callable[[Scope], int]

_TRIES = 20
_PAGE = 500
_MOST = 20_000
"""Statements that are compared with each other; of more, the latest."""
_ROWS = 500
_TOLD = 10
_CONFIRMED = frozenset(("merge", "prune", "conflicts", "agent"))
"""Jobs that put something away."""
_MEANING = frozenset(("merge", "links"))


class AwayError(Exception):
    """Somebody is here: the cycle waits."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a cycle works with. ``chores``: jobs of others that it starts. ``search``: ids of what is found in an owner's memory."""

    store: Store
    embedder: Embedder
    chat: Chat | None
    clock: Clock
    settings: Settings
    chores: Mapping[str, Chore]
    search: Callable[[Scope, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for. ``job``: of the queue. ``jobs``: which (empty: as set). ``manual``: a person asked; then nobody's presence and
    no pause holds it up, and what waits for confirmation is done. ``alive``: tells the queue that the work goes on."""

    owner: Scope
    why: str
    job: str
    jobs: tuple[str, ...] = ()
    manual: bool = False
    alive: Callable[[], None] = lambda: None


class Cycles:
    """Plans and carries out. One at a time for an owner: the queue sees to that."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.states = parts, States(parts.store)
        self._section = parts.settings.garden

    # ------------------------------------------------------------------------------------------------------- planning

    def plan(self, owner: Scope, jobs: Sequence[str] = ()) -> Plan:
        """Everything that rules would do now, none of it done; a memory is in one step at most."""
        bed, notes = self.bed(owner, self._chosen(jobs))
        steps: list[Step] = []
        for job in self._chosen(jobs):
            steps += self._steps(job, bed)
        if "agent" in self._chosen(jobs) and self._models():
            notes.append("the chat model is asked when the cycle runs")
        return Plan(owner, tuple(steps), tuple(conflict.conflicts(bed)), tuple(notes))

    def bed(self, owner: Scope, jobs: Sequence[str] = ()) -> tuple[Bed, list[str]]:
        """What there is to look after, and what is left out; with vectors where one of ``jobs`` compares meanings."""
        parts, notes = self.parts, []
        every = tuple(self._every(owner))
        if len(every) > _MOST:
            notes.append(f"{len(every) - _MOST} older memories were not looked at")
        records = every[-_MOST:]
        ids = [record.id for record in records]
        card = parts.embedder.card
        compared = card.dimension and ids and _MEANING & set(jobs)
        vectors = parts.store.vectors(owner, ids, card.id) if compared else np.zeros((len(ids), 0), np.float32)
        edges: dict[tuple[str, str, str], Edge] = {}
        for start in range(0, len(ids), _ROWS):
            for edge in parts.store.edges(owner, ids[start : start + _ROWS]):
                edges[edge.source, edge.target, edge.type] = edge
        settled = frozenset(self.states.get(owner).settled)
        return Bed(owner, parts.clock(), self._section, records, vectors, tuple(edges.values()), settled), notes

    def _steps(self, job: str, bed: Bed) -> list[Step]:
        """What one of the rules' jobs would do."""
        match job:
            case "verify":
                return prune.verify(bed)
            case "merge":
                return merge.merge(bed)
            case "conflicts":
                return conflict.settled(bed, conflict.conflicts(bed)) if self._section.conflicts == "auto" else []
            case "prune":
                return prune.prune(bed)
            case "links":
                return links.links(bed, self.parts.embedder.card)
            case "strengthen":
                return links.strengthen(bed)
            case "tags":
                return tags.tags(bed)
            case _:
                return []

    # ------------------------------------------------------------------------------------------------------- running

    def run(self, order: Order) -> Report:
        """A cycle, or the rest of one that was interrupted; ``ended`` says that it is over. ModelError and BudgetError end its model's
        part only."""
        going = self._begin(order)
        try:
            for job in self._chosen(order.jobs):
                if job in going.done or (self._section.confirm and not order.manual and job in _CONFIRMED):
                    continue
                if not order.manual and self.somebody(order.owner):
                    raise AwayError
                order.alive()
                going = self._do(job, order, going)
            report = going.report
        except AwayError:
            report = replace(going.report, state="paused", notes=(*going.report.notes, "somebody was here"))
        return replace(report, ended=self.parts.clock().isoformat())

    def ended(self, owner: Scope, report: Report) -> tuple[State, SessionRow]:
        """The state once a cycle is over, and the row that a batch is to store."""
        counts = self.parts.store.counts(Reach(owner, (owner,), tree=True))
        row = self.states.row(owner, self.parts.clock())
        state = decode(row.data).ended(report, int(counts.get("status", {}).get(Status.ACTIVE, 0)))
        return state, replace(row, data=encode(state))

    def somebody(self, owner: Scope) -> bool:
        """Whether the owner paused the garden, or somebody spoke lately."""
        if self.states.get(owner).paused:
            return True
        since = self.parts.clock() - timedelta(minutes=self._section.quiet_minutes)
        rows = self.parts.store.sessions(Reach(owner, (owner,), tree=True), 20)
        return any(row.state == "active" and row.last_active > since for row in rows)

    def _begin(self, order: Order) -> Going:
        """A new cycle; or the one that was interrupted goes on behind the last job that it began, where its own job is tried again.
        Another job's is recorded as interrupted."""
        now = self.parts.clock()
        fresh = Going(Report(new_id(now), order.why, now.isoformat()), job=order.job)

        def begun(state: State) -> State:
            if state.going is not None and state.going.job != order.job:
                state = state.ended(replace(state.going.report, state="interrupted", ended=now.isoformat()), state.size)
            return replace(state, going=state.going or fresh)

        state = self.states.change(order.owner, now, begun)
        going = state.going or fresh
        if going.report.id != fresh.report.id:
            note = "it was interrupted and went on"
            going = replace(going, report=replace(going.report, notes=tuple(dict.fromkeys((*going.report.notes, note)))))
        return going

    def _do(self, job: str, order: Order, going: Going) -> Going:
        if job == "agent":
            return self._visit(order, going)
        if job in self.parts.chores:
            count = self.parts.chores[job](order.owner)
            return self._mark(order.owner, replace(_counted(going, job, count), done=(*going.done, job)))
        for left in reversed(range(_TRIES)):
            bed, notes = self.bed(order.owner, (job,))
            found = conflict.conflicts(bed) if job == "conflicts" else []
            steps = self._steps(job, bed)
            try:
                return self._carry(order.owner, job, steps, _noted(going, notes, found))
            except ConflictError:
                # Somebody learned or changed something this moment: look again.
                if not left:
                    raise
        raise AssertionError("unreachable")

    def _carry(self, owner: Scope, job: str, steps: Sequence[Step], going: Going) -> Going:
        """One write: the changes, the way back from them, and that this job is done."""
        going = replace(_counted(going, job, len(steps)), done=(*going.done, job))
        going = replace(going, report=_tallied(going.report, steps))
        self.commit(owner, steps, going.report.id, going)
        return going

    def commit(self, owner: Scope, steps: Sequence[Step], cycle: str, going: Going | None = None) -> None:
        """Carry steps out, with the way back from them. ConflictError: a memory, or what is known, has changed since."""
        now, store = self.parts.clock(), self.parts.store
        row = self.states.row(owner, now)
        state = decode(row.data) if going is None else replace(decode(row.data), going=going)
        marks = (watermark.mark(owner, store, now),) if steps else ()
        if steps:
            state = state.logged(cycle, *self._way_back(owner, steps))
        batch = Batch(
            ACTOR,
            ", ".join(dict.fromkeys(step.job for step in steps)) or "nothing to do",
            now,
            changes=tuple(change for step in steps for change in step.changes),
            edges=tuple({(e.source, e.target, e.type): e for step in steps for e in step.edges}.values()),
            unlink=tuple(edge for step in steps for edge in step.unlink),
            sessions=(replace(row, data=encode(state)), *marks),
        )
        store.commit(batch)

    def _way_back(self, owner: Scope, steps: Sequence[Step]) -> tuple[list[Any], list[Any]]:
        """(id, version after) of what changes; (source, target, type, weight before, count before) of links, None: there was none."""
        records = [[change.id, (change.expect or 0) + 1] for step in steps for change in step.changes]
        touched = {(e.source, e.target, e.type): e for step in steps for e in (*step.edges, *step.unlink)}
        nodes = list(dict.fromkeys(source for source, _, _ in touched))
        known: dict[tuple[str, str, str], Edge] = {}
        for start in range(0, len(nodes), _ROWS):
            for edge in self.parts.store.edges(owner, nodes[start : start + _ROWS]):
                known[edge.source, edge.target, edge.type] = edge
        back = []
        for key in touched:
            before = known.get(key)
            back.append([*key, before.weight if before else None, before.count if before else 0])
        return records, back

    # ------------------------------------------------------------------------------------------------------- the model

    def left(self) -> int | None:
        """Tokens that are left of today's; None: there is no limit, or no model."""
        limit = self.parts.settings.chat.daily_tokens
        if not limit or self.parts.chat is None:
            return None
        return limit - self.parts.store.spend(self.parts.clock().astimezone(UTC).date().isoformat(), 0, 0)[1]

    def _models(self) -> int:
        """Tokens there are for the model; 0: it is not asked."""
        return allowance(self.left(), self._section) if self.parts.chat is not None else 0

    def _visit(self, order: Order, going: Going) -> Going:
        """The model's turn. That it began is noted first: a visit that was interrupted is not made again."""
        owner, chat = order.owner, self.parts.chat
        tokens = self._models()
        going = replace(going, done=(*going.done, "agent"))
        if chat is None or not tokens:
            note = () if chat is None else ("no tokens are left for the model",)
            return self._mark(owner, replace(going, report=replace(going.report, notes=(*going.report.notes, *note))))
        self._mark(owner, replace(going, report=replace(going.report, state="interrupted")))
        bed, _ = self.bed(owner)
        made = Visit()
        try:
            queue = [entry.why for entry in waiting(self.parts.store, owner) if entry.why][:_TOLD]
            agent = Agent(chat, bed, lambda query: self.parts.search(owner, query), queue)
            agent.visit(made, tokens, lambda answer: self._spent(owner, answer), order.alive)
        except (ModelError, BudgetError) as problem:
            made.notes.append(f"the model failed: {problem.message}"[:240])
        report = replace(
            going.report,
            state="complete" if made.reported else "incomplete",
            summary=made.summary,
            next_minutes=made.next_minutes,
            tokens=made.tokens,
            calls=made.calls,
            notes=(*going.report.notes, *dict.fromkeys(made.notes)),
        )
        going = replace(going, done=tuple(name for name in going.done if name != "agent"), report=report)
        try:
            going = self._carry(owner, "agent", made.steps, going)
        except ConflictError:
            lost = replace(report, notes=(*report.notes, "memory changed meanwhile: what the model wanted was not done"))
            going = self._mark(owner, replace(going, done=(*going.done, "agent"), report=lost))
        now = self.parts.clock()
        wakes = [(now + timedelta(minutes=max(minutes, self._section.least_minutes)), why) for minutes, why in made.wakes]
        self.parts.store.enqueue([wake(owner, new_id(now), at, why) for at, why in wakes], now)
        return going

    def _spent(self, owner: Scope, answer: Answer) -> None:
        at = self.parts.clock()
        self.states.change(owner, at, lambda state: state.spent(at, answer.tokens, answer.calls))

    # ------------------------------------------------------------------------------------------------------- plumbing

    def _mark(self, owner: Scope, going: Going) -> Going:
        self.states.change(owner, self.parts.clock(), lambda state: replace(state, going=going))
        return going

    def _chosen(self, jobs: Sequence[str]) -> tuple[str, ...]:
        wanted = jobs or self._section.jobs
        return tuple(job for job in JOBS if job in wanted)

    def _every(self, owner: Scope) -> Iterator[Record]:
        query = Query(Reach(owner, (owner,), tree=True), STATEMENTS, (Status.ACTIVE,), order="oldest", limit=_PAGE)
        while True:
            page = self.parts.store.find(query)
            yield from page.records
            if not page.next:
                return
            query = replace(query, after=page.next)


def _counted(going: Going, job: str, count: int) -> Going:
    return replace(going, report=replace(going.report, jobs={**going.report.jobs, job: count}))


def _noted(going: Going, notes: Sequence[str], found: Sequence[Conflict]) -> Going:
    told = tuple(dict.fromkeys((*going.report.notes, *notes)))
    return replace(going, report=replace(going.report, notes=told, conflicts=going.report.conflicts or len(found)))


def _tallied(report: Report, steps: Sequence[Step]) -> Report:
    modified = {change.id for step in steps for change in step.changes}
    gone = sum(len(step.ids) - 1 for step in steps if step.verb == "merge")
    return replace(report, modified=report.modified + len(modified), compactions=report.compactions + gone)
