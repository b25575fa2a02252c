"""The tiers, from outside: what is where, and everything that moves it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from engrams.errors import EngramsError
from engrams.ports import CONDENSE, ENFORCE, JUDGE, SWEEP, Batch, Chat, Clock, Condition, Job, JobSpec, Query, Reach, Store, Where
from engrams.read.request import visible_scopes as reach_of
from engrams.settings import Settings
from engrams.tend.caps import CapEnforcer
from engrams.tend.judge import condense_item, judge_importance
from engrams.tend.sweep import TierMover
from engrams.types import Kind, Scope, Tier
from engrams.write.evict import evict_turn

Place: TypeAlias = Scope | str | Sequence[str]

_STRAY_AGE = timedelta(hours=1)
"""Age from which a row of the working tier that no tier here holds is taken for one that a process left behind."""

_log = logging.getLogger(__name__)


class LiveTier(Protocol):
    """What tending sees of the working tier of this process."""

    def set_importance(self, scope: Scope, id: str, importance: float) -> object: ...

    def holds(self, scope: Scope, id: str) -> bool: ...

    def release(self, scope: Scope) -> int: ...

    def sizes(self, scope: Scope) -> dict[str, int]: ...

    def items(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]: ...


class MemoryTiers:
    """Looks at the tiers of a scope and moves memories between them; the handlers of the jobs that do. Thread safe."""

    kinds = (JUDGE, CONDENSE, ENFORCE, SWEEP)

    def __init__(self, store: Store, chat: Chat | None, clock: Clock, settings: Settings, live: LiveTier, moves: TierMover) -> None:
        self._store, self._chat, self._clock, self._settings = store, chat, clock, settings
        self._live, self._mover = live, moves
        self._caps = CapEnforcer(store, clock, settings, moves)

    # ------------------------------------------------------------------------------------------------------- looking

    def state(self, scope: Place) -> dict[str, Any]:
        """How many memories are in each tier: ``working`` and ``hot`` of this process, ``recent`` and ``longterm`` active ones in
        reach of ``scope``; ``caps`` (0: none), ``on``, and ``in_flight``, the jobs that run or wait for a worker."""
        place = Scope.of(scope)
        held = self._store.counts(reach_of(place)).get("active", {})
        section, caps = self._settings.tiers, self._settings.caps
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
        """The working tier of exactly this scope, oldest first: ``id``, ``source`` (user, agent, promoted_l1, promoted_l2), ``text``,
        ``importance``."""
        names = ("id", "source", "text", "importance")
        return tuple(dict(zip(names, item, strict=True)) for item in self._live.items(Scope.of(scope)))

    def in_flight(self) -> int:
        """Jobs that run, or that are due and wait for a worker."""
        now = self._clock()
        return sum(job.state == "running" or job.due <= now for job in self._store.queue(("waiting", "running"), 10_000))

    def jobs(self) -> tuple[str, ...]:
        """The names of those, as ``kind:key``."""
        now = self._clock()
        found = self._store.queue(("waiting", "running"), 10_000)
        return tuple(f"{job.kind}:{job.key}" for job in found if job.state == "running" or job.due <= now)

    # -------------------------------------------------------------------------------------------------------- moving

    def consolidate(self, scope: Place) -> dict[str, int]:
        """Everything of the working and the recent tier goes to the long term now, whatever its age; an owner's in all scopes.

        ``left``: items that left the working tier; ``moved``: items that went to the long term.
        """
        done = {"left": 0, "moved": 0}
        for each in self._list_scopes(Scope.of(scope)):
            done["left"] += self._live.release(each) + self._evict_strays(each, timedelta(0))
            done["moved"] += self._mover.move(self._mover.list_recent(each))
        return done

    def sweep(self, scope: Place | None = None) -> dict[str, int]:
        """What went cold goes to the long term, what a process left behind is settled, and caps are kept; all owners' with None."""
        done = {"moved": 0, "settled": 0, "capped": 0}
        failed: EngramsError | None = None
        for each in self._store.scopes(None) if scope is None else self._list_scopes(Scope.of(scope)):
            try:
                if self._settings.tiers.enabled:
                    done["settled"] += self._evict_strays(each, _STRAY_AGE)
                    done["moved"] += self._mover.sweep(each)
                done["capped"] += sum(self._caps.enforce(each).values())
            except EngramsError as problem:
                # One scope's trouble must not keep the others waiting; the job fails in the end, and is seen.
                _log.warning("sweep of %s: %s", each.owner.key, problem.message)
                failed = problem
        if failed is not None:
            raise failed
        return done

    def enforce(self, scope: Place) -> dict[str, int]:
        """Keep the caps of exactly this scope now; how many went, by cap."""
        return self._caps.enforce(Scope.of(scope))

    # ---------------------------------------------------------------------------------------------------------- jobs

    def schedule_sweep(self) -> None:
        """See that a sweep comes; one that waits already stays as it is."""
        caps = self._settings.caps
        if self._settings.enabled and (self._settings.tiers.enabled or caps.facts or caps.rules or caps.entries > 0):
            self._store.enqueue((self._make_sweep_job(),), self._clock())

    def run(self, job: Job) -> None:
        """Do a job of one of ``kinds``."""
        if job.kind == JUDGE:
            judge_importance(job, self._store, self._chat, self._clock, self._live.set_importance)
        elif job.kind == CONDENSE:
            condense_item(job, self._store, self._chat, self._clock)
        elif job.kind == ENFORCE:
            self._caps.enforce(Scope.parse(job.payload["scope"]))
            self._store.finish(job.lease, self._clock())
        else:
            self._run_sweep(job)

    def _run_sweep(self, job: Job) -> None:
        """Sweep, and see that the next one comes whatever becomes of this one."""
        self._store.enqueue((self._make_sweep_job(),), self._clock())
        self.sweep()
        self._store.finish(job.lease, self._clock())

    def _make_sweep_job(self) -> JobSpec:
        due = self._clock() + timedelta(seconds=self._settings.tiers.sweep_seconds)
        return JobSpec(SWEEP, "", due=due, attempts=self._settings.jobs.max_attempts)

    def _list_scopes(self, scope: Scope) -> tuple[Scope, ...]:
        """The scope; of an owner every one that holds memories."""
        return self._store.scopes(scope) if scope.is_owner else (scope,)

    def _evict_strays(self, scope: Scope, older: timedelta) -> int:
        """Rows of the working tier that no tier here holds leave it as if they were pushed out."""
        now, promote = self._clock(), self._settings.tiers.promote_importance
        where = Where("and", (Condition("tier", "eq", Tier.WORKING.value), Condition("recorded_at", "lte", now - older)))
        rows = self._mover.list_all(Query(Reach(scope.owner, (scope,)), (Kind.TURN,), where=where, order="oldest", limit=500))
        stray = [record for record in rows if not self._live.holds(scope, record.id)]
        changes = tuple(evict_turn(record, record.importance, promote, now) for record in stray)
        if changes:
            self._store.commit(Batch("engrams", "left the working tier", now, changes=changes))
        return len(changes)
