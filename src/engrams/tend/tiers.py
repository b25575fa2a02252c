"""The tiers, from outside: what is where, and everything that moves it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from engrams.errors import EngramsError
from engrams.ports import CONDENSE, ENFORCE, JUDGE, SWEEP, Batch, Chat, Clock, Condition, Job, JobSpec, Query, Reach, Store, Where
from engrams.read.request import reach as reach_of
from engrams.settings import Settings
from engrams.tend.caps import Caps
from engrams.tend.judge import condense, judge
from engrams.tend.sweep import Moves
from engrams.types import Kind, Scope, Tier
from engrams.write.evict import left

Place: TypeAlias = Scope | str | Sequence[str]

_STRAY = timedelta(hours=1)
"""Age from which a row of the working tier that no tier here holds is taken for one that a process left behind."""

_log = logging.getLogger(__name__)


class Live(Protocol):
    """What tending sees of the working tier of this process."""

    def score(self, scope: Scope, id: str, importance: float) -> object: ...

    def holds(self, scope: Scope, id: str) -> bool: ...

    def release(self, scope: Scope) -> int: ...

    def sizes(self, scope: Scope) -> dict[str, int]: ...

    def items(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]: ...


class Tiers:
    """Looks at the tiers of a scope and moves memories between them; the handlers of the jobs that do. Thread safe."""

    kinds = (JUDGE, CONDENSE, ENFORCE, SWEEP)

    def __init__(self, store: Store, chat: Chat | None, clock: Clock, settings: Settings, live: Live, moves: Moves) -> None:
        self._store, self._chat, self._clock, self._settings = store, chat, clock, settings
        self._live, self._moves = live, moves
        self._caps = Caps(store, clock, settings, moves)

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
            "on": section.on,
            "caps": {"working": section.working, "hot": section.hot, "recent": section.recent, "facts": caps.facts, "rules": caps.rules},
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
        for each in self._scopes(Scope.of(scope)):
            done["left"] += self._live.release(each) + self._settle(each, timedelta(0))
            done["moved"] += self._moves.move(self._moves.recent(each))
        return done

    def sweep(self, scope: Place | None = None) -> dict[str, int]:
        """What went cold goes to the long term, what a process left behind is settled, and caps are kept; all owners' with None."""
        done = {"moved": 0, "settled": 0, "capped": 0}
        failed: EngramsError | None = None
        for each in self._store.scopes(None) if scope is None else self._scopes(Scope.of(scope)):
            try:
                if self._settings.tiers.on:
                    done["settled"] += self._settle(each, _STRAY)
                    done["moved"] += self._moves.sweep(each)
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

    def plan(self) -> None:
        """See that a sweep comes; one that waits already stays as it is."""
        caps = self._settings.caps
        if self._settings.enabled and (self._settings.tiers.on or caps.facts or caps.rules or caps.entries > 0):
            self._store.enqueue((self._next(),), self._clock())

    def run(self, job: Job) -> None:
        """Do a job of one of ``kinds``."""
        match job.kind:
            case "importance-judge":
                judge(job, self._store, self._chat, self._clock, self._live.score)
            case "l1-finalize":
                condense(job, self._store, self._chat, self._clock)
            case "enforce-caps":
                self._caps.enforce(Scope.parse(job.payload["scope"]))
                self._store.finish(job.lease, self._clock())
            case _:
                self._swept(job)

    def _swept(self, job: Job) -> None:
        """Sweep, and see that the next one comes whatever becomes of this one."""
        self._store.enqueue((self._next(),), self._clock())
        self.sweep()
        self._store.finish(job.lease, self._clock())

    def _next(self) -> JobSpec:
        due = self._clock() + timedelta(seconds=self._settings.tiers.sweep_seconds)
        return JobSpec(SWEEP, "", due=due, attempts=self._settings.jobs.retries)

    def _scopes(self, scope: Scope) -> tuple[Scope, ...]:
        """The scope; of an owner every one that holds memories."""
        return self._store.scopes(scope) if scope.is_owner else (scope,)

    def _settle(self, scope: Scope, older: timedelta) -> int:
        """Rows of the working tier that no tier here holds leave it as if they were pushed out."""
        now, promote = self._clock(), self._settings.tiers.promote
        where = Where("and", (Condition("tier", "eq", Tier.WORKING.value), Condition("recorded_at", "lte", now - older)))
        rows = self._moves.listed(Query(Reach(scope.owner, (scope,)), (Kind.TURN,), where=where, order="oldest", limit=500))
        stray = [record for record in rows if not self._live.holds(scope, record.id)]
        changes = tuple(left(record, record.importance, promote, now) for record in stray)
        if changes:
            self._store.commit(Batch("engrams", "left the working tier", now, changes=changes))
        return len(changes)
