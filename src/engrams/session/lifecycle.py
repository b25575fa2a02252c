"""States of a session, from the row that the store keeps of it.

A session is active until nobody speaks for ``sessions.idle_minutes``. It is then expired until its
end was made up for; while that happens it is interrupted, and afterwards it has to be rotated: the
next turn begins its next part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from engrams.core import Json, Scope
from engrams.core.clock import parse_time
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import SessionRow


class SessionPhase(StrEnum):
    """State of a session. The values are on the wire."""

    ABSENT = "absent"
    ACTIVE = "active"
    EXPIRED = "expired_unfinalized"
    """Idle for too long, and not ended yet."""
    INTERRUPTED = "interrupted"
    """Being ended; for long only where a process died in it."""
    ROTATION = "rotation_required"
    """Ended; the next turn begins its next part."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session with its state."""

    id: str
    scope: Scope
    state: SessionPhase
    mode: str = "local"
    """Privacy mode."""
    started_at: datetime | None = None
    last_active: datetime | None = None
    token: int = 0
    """Changes with each step of the caller that leads it; a step with an older one is refused."""
    turns: int = 0
    """Turns that were finalised before this part began; its transcript starts behind them."""
    crisis: str = "none"
    """The caller's own description of the situation."""
    ended: Mapping[str, Json] = field(default_factory=dict)
    """Results of the last end: ids of ``episodes``, ``promoted``, ``dropped`` and ``held`` memories,
    ``why`` and when (``at``) it ended.
    """

    @property
    def owner(self) -> Scope:
        return self.scope.owner


def is_lapsed(last: datetime | str | None, now: datetime, idle: timedelta) -> bool:
    """Test whether a session's idle time has passed.

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
            "One of two times has no zone, so they cannot be compared.",
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
    """Convert a stored row, with its state now."""
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
                f"The session {id!r} has timed out.",
                hint="`sessions.begin` ends it and starts its next part.",
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
