"""Session states, and the sweep that ends idle sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from engrams.core import Json, Scope
from engrams.core.clock import parse_time
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import FINALISE, Clock, JobSpec, SessionRow, Store
from engrams.settings import Settings

_MOST = 1000


class SessionPhase(StrEnum):
    ABSENT = "absent"
    ACTIVE = "active"
    EXPIRED = "expired_unfinalized"
    INTERRUPTED = "interrupted"
    ROTATION = "rotation_required"


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session with its state.

    ``token``: changes with each step of the caller that leads it; a step with an older one is
    refused. ``turns``: how many turns were finalised before this part began (its transcript starts
    there). ``ended``: results of the last end: ids of ``episodes``, ``promoted``, ``dropped`` and
    ``held`` memories, and ``why`` and when (``at``) it ended.
    """

    id: str
    scope: Scope
    state: SessionPhase
    mode: str = "local"
    started_at: datetime | None = None
    last_active: datetime | None = None
    token: int = 0
    turns: int = 0
    crisis: str = "none"
    ended: Mapping[str, Json] = field(default_factory=dict)

    @property
    def owner(self) -> Scope:
        return self.scope.owner


def is_lapsed(last: datetime | str | None, now: datetime, idle: timedelta) -> bool:
    """True where a session's idle time has passed.

    InputError: one of the two times names a zone and the other does not.
    """
    if isinstance(last, str):
        try:
            last = parse_time(last)
        except ValueError:
            return True
    if last is None:
        return True
    if (last.tzinfo is None) != (now.tzinfo is None):
        raise InputError(
            "One of two times names no zone, so they cannot be compared.",
            hint="Give every time a zone, best UTC.",
        )
    return now - last >= idle


def state_of(row: SessionRow | None, now: datetime, idle: timedelta) -> SessionPhase:
    """Return the state of a stored session (None: absent)."""
    if row is None:
        return SessionPhase.ABSENT
    if row.state == "closed":
        return SessionPhase.ROTATION
    if row.state == "closing":
        return SessionPhase.INTERRUPTED
    return SessionPhase.EXPIRED if is_lapsed(row.last_active, now, idle) else SessionPhase.ACTIVE


def to_session(row: SessionRow, now: datetime, idle: timedelta) -> SessionInfo:
    data = row.data
    return SessionInfo(
        id=row.id,
        scope=row.scope,
        state=state_of(row, now, idle),
        mode=str(data.get("mode", "local")),
        started_at=row.started_at,
        last_active=row.last_active,
        token=row.token,
        turns=int(data.get("turns", 0)),
        crisis=str(data.get("crisis", "none")),
        ended=data.get("ended", {}),
    )


def require_active(id: str, state: SessionPhase) -> None:
    """Raise the error that fits the state, unless the session is active.

    NotFoundError: absent. ConflictError: expired, interrupted or ended.
    """
    match state:
        case SessionPhase.ACTIVE:
            return
        case SessionPhase.ABSENT:
            raise NotFoundError(
                f"There is no session {id!r}.", hint="Begin it first: `sessions.begin`."
            )
        case SessionPhase.EXPIRED:
            raise ConflictError(
                f"The session {id!r} is over: nobody spoke for too long.",
                hint="`sessions.begin` ends it and goes on.",
            )
        case SessionPhase.INTERRUPTED:
            raise ConflictError(
                f"The session {id!r} is being ended.",
                hint="Wait for its job to finish, or see `engrams status`.",
            )
        case SessionPhase.ROTATION:
            raise ConflictError(
                f"The session {id!r} has ended.", hint="`sessions.begin` starts its next part."
            )


def make_finalise_job(owner: Scope, session: str, why: str, settings: Settings) -> JobSpec:
    payload = {"owner": owner.key, "session": session, "why": why}
    return JobSpec(FINALISE, f"{owner.key}|{session}", payload, attempts=settings.jobs.max_attempts)


class IdleSessionSweeper:
    """Sweeper of idle sessions; one read where nothing is idle."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings

    def sweep(self) -> int:
        """Enqueue the end of idle and interrupted sessions; returns how many.

        Dead finalise jobs stay in the dead-letter list and hold up no other session.
        """
        if not self._settings.enabled:
            return 0
        now = self._clock()
        rows = self._store.idle(
            now - timedelta(minutes=self._settings.sessions.idle_minutes), _MOST
        )
        if not rows:
            return 0
        dead = {job.key for job in self._store.queue(("dead",), _MOST) if job.kind == FINALISE}
        specs = [
            spec
            for row in rows
            if (spec := make_finalise_job(row.scope.owner, row.id, "idle", self._settings)).key
            not in dead
        ]
        self._store.enqueue(specs, now)
        return len(specs)
