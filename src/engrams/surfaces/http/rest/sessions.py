"""/v1/sessions: conversations, and their end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Asks
from engrams.surfaces.http.rest.errors import declared, limited, plain

Most = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]


class SessionResponse(BaseModel):
    """``state``: absent, active, expired_unfinalized, interrupted or rotation_required. ``turns``: how many were finalised before
    this part of it. ``ended``: what its last end left behind."""

    id: str
    scope: list[str]
    state: str
    mode: str
    started_at: datetime | None
    last_active: datetime | None
    turns: int
    ended: dict[str, Any]


class SessionList(BaseModel):
    sessions: list[SessionResponse]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["sessions"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/sessions", responses=declared())
    def sessions(caller: Asks, limit: Most = 100) -> SessionList:
        """Conversations, the latest first."""
        return SessionList(sessions=[_told(each) for each in caller.engine.sessions.list(scope=caller.scope, limit=limit)])

    @routes.get("/sessions/{id}", responses=declared(404))
    def session(id: str, caller: Asks) -> SessionResponse:
        """One conversation as it stands."""
        return _told(caller.engine.sessions.get(id, scope=caller.scope))

    @routes.post("/sessions/{id}/end", responses=declared(404, 409))
    def end(id: str, caller: Asks) -> SessionResponse:
        """End it: what is left is learned from, and what was held becomes memory where it is borne out. Twice is once."""
        return _told(caller.engine.sessions.end(id, scope=caller.scope))

    return routes


def _told(session: Any) -> SessionResponse:
    return SessionResponse(
        id=session.id,
        scope=list(session.scope.labels),
        state=session.state.value,
        mode=session.mode,
        started_at=session.started_at,
        last_active=session.last_active,
        turns=session.turns,
        ended=plain(dict(session.ended)),
    )
