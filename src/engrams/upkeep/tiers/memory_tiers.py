"""Door of the tiers: counts, moves and the jobs of tiers, reached as ``engine.tiers``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, Protocol, TypeAlias

from engrams.core import Kind, Scope, ScopeInput, Tier
from engrams.errors import ConflictError, EngramsError
from engrams.ports import (
    CONDENSE,
    ENFORCE,
    JUDGE,
    SWEEP,
    ChatModel,
    Clock,
    Condition,
    Job,
    JobSpec,
    RecordQuery,
    ScopeReach,
    Store,
    Where,
    WriteBatch,
)
from engrams.read.paging import iter_records
from engrams.read.request import visible_scopes
from engrams.settings import Settings
from engrams.upkeep.tiers.importance_judge import condense_item, judge_importance
from engrams.upkeep.tiers.long_term_move import LongTermMover
from engrams.upkeep.tiers.memory_limits import MemoryCapEnforcer
from engrams.write.turn_eviction import evict_turn

Place: TypeAlias = ScopeInput
Given = ParamSpec("Given")
_WorkingItem: TypeAlias = tuple[str, str, str, float]
"""Id, source, text and importance of an item of the working tier."""

_STRAY_AGE = timedelta(hours=1)
"""Age from which working rows outside this process count as left behind by another one."""
_TURN_SOURCES = ("user", "agent")
"""Sources of items that are no copies of recalled memories."""
_ITEM_FIELDS = ("id", "source", "text", "importance")
_MAX_ATTEMPTS = 5
_MAX_JOBS = 10_000
_SOON = timedelta(seconds=0.1)
"""A job that met another writer is given back for a moment shorter than this; it is still in flight."""
_PAGE = 500

_log = logging.getLogger(__name__)


class WorkingTierPort(Protocol):
    """Working tier of this process, as upkeep needs it."""

    def holds(self, scope: Scope, id: str) -> bool: ...

    def release(self, scope: Scope) -> tuple[_WorkingItem, ...]: ...

    def sizes(self, scope: Scope) -> dict[str, int]: ...

    def items(self, scope: Scope) -> tuple[_WorkingItem, ...]: ...

    def hot_ids(self, scope: Scope) -> tuple[str, ...]: ...


class MemoryTiers:
    """Tier counts, moves, and the handlers of tier jobs. Thread safe."""

    kinds = (JUDGE, CONDENSE, ENFORCE, SWEEP)

    def __init__(
        self,
        store: Store,
        chat: ChatModel | None,
        clock: Clock,
        settings: Settings,
        working: WorkingTierPort,
        mover: LongTermMover,
    ) -> None:
        self._store = store
        self._chat = chat
        self._clock = clock
        self._settings = settings
        self._working = working
        self._mover = mover
        self._caps = MemoryCapEnforcer(store, clock, settings, mover)

    # ----------------------------------------------------------------------------------------------
    # looking

    def state(self, scope: Place) -> dict[str, Any]:
        """Count memories by tier, with caps and jobs in flight.

        Keys: ``working`` and ``hot`` of this process; ``recent`` and ``longterm``, active ones in
        reach of ``scope``; ``caps`` (0: none); ``on``; and ``in_flight``, the jobs that run or wait
        for a worker.
        """
        read_scope = Scope.of(scope)
        active = self._store.counts(visible_scopes(read_scope)).get("active", {})
        section = self._settings.tiers
        caps = self._settings.caps
        return {
            **self._working.sizes(read_scope),
            "recent": active.get(Tier.RECENT, 0),
            "longterm": active.get(Tier.LONGTERM, 0),
            "on": section.enabled,
            "caps": {
                "working": section.working_size,
                "hot": section.hot_size,
                "recent": section.recent_size,
                "facts": caps.facts,
                "rules": caps.rules,
            },
            "in_flight": self.in_flight(),
        }

    def working(self, scope: Place) -> tuple[dict[str, Any], ...]:
        """List the working tier of exactly this scope, oldest first.

        Keys: ``id``, ``source`` (user, agent, promoted_l1, promoted_l2), ``text``, ``importance``.
        """
        return _name_fields(self._working.items(Scope.of(scope)))

    def working_item(self, id: str, scope: Place) -> dict[str, Any] | None:
        """Return one item of the working tier of exactly this scope; None: it is not there."""
        return next((item for item in self.working(scope) if item["id"] == id), None)

    def hot(self, scope: Place) -> tuple[str, ...]:
        """List the ids of the memories in the hot buffer of exactly this scope, least used first."""
        return self._working.hot_ids(Scope.of(scope))

    def in_flight(self) -> int:
        """Count jobs that run, or are due now or within a tenth of a second."""
        return len(self._list_jobs_in_flight())

    def jobs(self) -> tuple[str, ...]:
        """Name the jobs in flight, as ``kind:key``."""
        return tuple(f"{job.kind}:{job.key}" for job in self._list_jobs_in_flight())

    def _list_jobs_in_flight(self) -> Sequence[Job]:
        soon = self._clock() + _SOON
        return [
            job
            for job in self._store.queue(("waiting", "running"), _MAX_JOBS)
            if job.state == "running" or job.due <= soon
        ]

    # ----------------------------------------------------------------------------------------------
    # moving

    def drain(self, scope: Place) -> tuple[dict[str, Any], ...]:
        """Empty the working tier of exactly this scope; return its items, oldest first.

        They leave as if newer ones had pushed them out: what is important enough becomes recent.
        """
        return _name_fields(self._working.release(Scope.of(scope)))

    def consolidate(self, scope: Place) -> dict[str, int]:
        """Move the working and recent tier to the long term now.

        Of an owner, in all scopes. ``left``: turns that left the working tier; ``moved``: items
        that went to the long term, those among them that were important enough.
        """
        counts = {"left": 0, "moved": 0}
        for member_scope in self._list_scopes(Scope.of(scope)):
            released = self._working.release(member_scope)
            counts["left"] += sum(source in _TURN_SOURCES for _, source, _, _ in released)
            counts["left"] += _repeat(self._evict_strays, member_scope, timedelta(0))
            counts["moved"] += _repeat(self._move_recent, member_scope)
        return counts

    def _move_recent(self, scope: Scope) -> int:
        """Move all recent items of a scope."""
        return self._mover.move(self._mover.list_recent(scope))

    def sweep(self, scope: Place | None = None) -> dict[str, int]:
        """Move cold items, evict stray rows, enforce caps; None: all owners."""
        counts = {"moved": 0, "settled": 0, "capped": 0}
        failure: EngramsError | None = None
        scopes = self._store.scopes(None) if scope is None else self._list_scopes(Scope.of(scope))
        for member_scope in scopes:
            try:
                if self._settings.tiers.enabled:
                    counts["settled"] += _repeat(self._evict_strays, member_scope, _STRAY_AGE)
                    counts["moved"] += _repeat(self._mover.sweep, member_scope)
                counts["capped"] += _repeat(self._enforce_caps, member_scope)
            except EngramsError as problem:
                # One scope's failure must not stop the others; the job fails in the end, visibly.
                _log.warning("sweep of %s: %s", member_scope.owner.key, problem.message)
                failure = problem
        if failure is not None:
            raise failure
        return counts

    def enforce(self, scope: Place) -> dict[str, int]:
        """Enforce the caps of exactly this scope; returns removals by cap."""
        return self._caps.enforce(Scope.of(scope))

    def _enforce_caps(self, scope: Scope) -> int:
        return sum(self._caps.enforce(scope).values())

    # ----------------------------------------------------------------------------------------------
    # jobs

    def schedule_sweep(self) -> None:
        """Enqueue the next sweep, unless one waits."""
        caps = self._settings.caps
        if self._settings.enabled and (
            self._settings.tiers.enabled or caps.facts or caps.rules or caps.entries > 0
        ):
            self._store.enqueue((self._make_sweep_job(),), self._clock())

    def run_job(self, job: Job) -> None:
        """Run a job of one of ``kinds``."""
        if job.kind == JUDGE:
            judge_importance(job, self._store, self._chat, self._clock)
        elif job.kind == CONDENSE:
            condense_item(job, self._store, self._chat, self._clock)
        elif job.kind == ENFORCE:
            self._caps.enforce(Scope.parse(job.payload["scope"]))
            self._store.finish(job.lease, self._clock())
        else:
            self._run_sweep(job)

    def _run_sweep(self, job: Job) -> None:
        # The next one first: a sweep that fails must not be the last.
        self._store.enqueue((self._make_sweep_job(),), self._clock())
        self.sweep()
        self._store.finish(job.lease, self._clock())

    def _make_sweep_job(self) -> JobSpec:
        due = self._clock() + timedelta(seconds=self._settings.tiers.sweep_seconds)
        return JobSpec(SWEEP, "", due=due, attempts=self._settings.jobs.max_attempts)

    def _list_scopes(self, scope: Scope) -> tuple[Scope, ...]:
        return self._store.scopes(scope) if scope.is_owner else (scope,)

    def _evict_strays(self, scope: Scope, min_age: timedelta) -> int:
        """Evict rows of the working tier that this process does not hold."""
        now = self._clock()
        promote = self._settings.tiers.promote_importance
        old_working = (
            Condition("tier", "eq", Tier.WORKING.value),
            Condition("recorded_at", "lte", now - min_age),
        )
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            (Kind.TURN,),
            where=Where("and", old_working),
            order="oldest",
            limit=_PAGE,
        )
        strays = [
            record
            for record in iter_records(self._store, query)
            if not self._working.holds(scope, record.id)
        ]
        changes = tuple(evict_turn(record, promote, now) for record in strays)
        if changes:
            self._store.commit(WriteBatch("engrams", "left the working tier", now, changes=changes))
        return len(changes)


def _repeat(move: Callable[Given, int], *args: Given.args, **kwargs: Given.kwargs) -> int:
    """Run a move, again where an item changed meanwhile, as by a judge or another sweep."""
    for attempts_left in reversed(range(_MAX_ATTEMPTS)):
        try:
            return move(*args, **kwargs)
        except ConflictError:
            if not attempts_left:
                raise
    raise AssertionError("unreachable")


def _name_fields(items: Iterable[_WorkingItem]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(_ITEM_FIELDS, item, strict=True)) for item in items)
