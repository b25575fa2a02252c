"""Tier interface: counts, and everything that moves memories between tiers."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from engrams.core import Kind, Scope, ScopeInput, Tier
from engrams.errors import EngramsError
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
from engrams.read.request import visible_scopes as reach_of
from engrams.settings import Settings
from engrams.upkeep.tiers.importance_judge import condense_item, judge_importance
from engrams.upkeep.tiers.long_term_move import LongTermMover
from engrams.upkeep.tiers.memory_limits import MemoryCapEnforcer
from engrams.write.manual_edits import evict_turn

Place: TypeAlias = ScopeInput

_STRAY_AGE = timedelta(hours=1)
"""Age from which working rows outside this process count as left behind."""

_log = logging.getLogger(__name__)


class WorkingTierPort(Protocol):
    """Working tier of this process, as tending needs it."""

    def holds(self, scope: Scope, id: str) -> bool: ...

    def release(self, scope: Scope) -> int: ...

    def sizes(self, scope: Scope) -> dict[str, int]: ...

    def items(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]: ...


class MemoryTiers:
    """Tier counts, moves, and the handlers of tier jobs. Thread safe."""

    kinds = (JUDGE, CONDENSE, ENFORCE, SWEEP)

    def __init__(
        self,
        store: Store,
        chat: ChatModel | None,
        clock: Clock,
        settings: Settings,
        live: WorkingTierPort,
        moves: LongTermMover,
    ) -> None:
        self._store = store
        self._chat = chat
        self._clock = clock
        self._settings = settings
        self._live = live
        self._mover = moves
        self._caps = MemoryCapEnforcer(store, clock, settings, moves)

    # ----------------------------------------------------------------------------------------------
    # looking

    def state(self, scope: Place) -> dict[str, Any]:
        """Count memories by tier, with caps and jobs in flight.

        ``working`` and ``hot`` of this process; ``recent`` and ``longterm`` active ones in reach of
        ``scope``; ``caps`` (0: none), ``on``, and ``in_flight``, the jobs that run or wait for a
        worker.
        """
        place = Scope.of(scope)
        held = self._store.counts(reach_of(place)).get("active", {})
        section = self._settings.tiers
        caps = self._settings.caps
        return {
            **self._live.sizes(place),
            "recent": held.get(Tier.RECENT, 0),
            "longterm": held.get(Tier.LONGTERM, 0),
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
        names = ("id", "source", "text", "importance")
        return tuple(
            dict(zip(names, item, strict=True)) for item in self._live.items(Scope.of(scope))
        )

    def in_flight(self) -> int:
        """Count jobs that run, or are due."""
        now = self._clock()
        return sum(
            job.state == "running" or job.due <= now
            for job in self._store.queue(("waiting", "running"), 10_000)
        )

    def jobs(self) -> tuple[str, ...]:
        """Name the jobs in flight, as ``kind:key``."""
        now = self._clock()
        found = self._store.queue(("waiting", "running"), 10_000)
        return tuple(
            f"{job.kind}:{job.key}" for job in found if job.state == "running" or job.due <= now
        )

    # ----------------------------------------------------------------------------------------------
    # moving

    def consolidate(self, scope: Place) -> dict[str, int]:
        """Move the working and recent tier to the long term now.

        Of an owner, in all scopes. ``left``: turns that left the working tier; ``moved``: items
        that went to the long term, those among them that were important enough.
        """
        done = {"left": 0, "moved": 0}
        for each in self._list_scopes(Scope.of(scope)):
            done["left"] += self._live.release(each) + self._evict_strays(each, timedelta(0))
            done["moved"] += self._mover.move(self._mover.list_recent(each))
        return done

    def sweep(self, scope: Place | None = None) -> dict[str, int]:
        """Move cold items, evict stray rows, enforce caps; None: all owners."""
        done = {"moved": 0, "settled": 0, "capped": 0}
        failed: EngramsError | None = None
        for each in (
            self._store.scopes(None) if scope is None else self._list_scopes(Scope.of(scope))
        ):
            try:
                if self._settings.tiers.enabled:
                    done["settled"] += self._evict_strays(each, _STRAY_AGE)
                    done["moved"] += self._mover.sweep(each)
                done["capped"] += sum(self._caps.enforce(each).values())
            except EngramsError as problem:
                # One scope's failure must not stop the others; the job fails in the end, visibly.
                _log.warning("sweep of %s: %s", each.owner.key, problem.message)
                failed = problem
        if failed is not None:
            raise failed
        return done

    def enforce(self, scope: Place) -> dict[str, int]:
        """Enforce the caps of exactly this scope; returns removals by cap."""
        return self._caps.enforce(Scope.of(scope))

    # ----------------------------------------------------------------------------------------------
    # jobs

    def schedule_sweep(self) -> None:
        """Enqueue the next sweep, unless one waits."""
        caps = self._settings.caps
        if self._settings.enabled and (
            self._settings.tiers.enabled or caps.facts or caps.rules or caps.entries > 0
        ):
            self._store.enqueue((self._make_sweep_job(),), self._clock())

    def run(self, job: Job) -> None:
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
        self._store.enqueue((self._make_sweep_job(),), self._clock())
        self.sweep()
        self._store.finish(job.lease, self._clock())

    def _make_sweep_job(self) -> JobSpec:
        due = self._clock() + timedelta(seconds=self._settings.tiers.sweep_seconds)
        return JobSpec(SWEEP, "", due=due, attempts=self._settings.jobs.max_attempts)

    def _list_scopes(self, scope: Scope) -> tuple[Scope, ...]:
        return self._store.scopes(scope) if scope.is_owner else (scope,)

    def _evict_strays(self, scope: Scope, older: timedelta) -> int:
        """Evict rows of the working tier that this process does not hold."""
        now = self._clock()
        promote = self._settings.tiers.promote_importance
        where = Where(
            "and",
            (
                Condition("tier", "eq", Tier.WORKING.value),
                Condition("recorded_at", "lte", now - older),
            ),
        )
        rows = self._mover.list_all(
            RecordQuery(
                ScopeReach(scope.owner, (scope,)),
                (Kind.TURN,),
                where=where,
                order="oldest",
                limit=500,
            )
        )
        stray = [record for record in rows if not self._live.holds(scope, record.id)]
        changes = tuple(evict_turn(record, promote, now) for record in stray)
        if changes:
            self._store.commit(WriteBatch("engrams", "left the working tier", now, changes=changes))
        return len(changes)
