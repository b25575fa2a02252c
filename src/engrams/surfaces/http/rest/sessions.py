"""/v1/sessions: list, read and end conversations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engrams.settings import Settings
from engrams.surfaces.http.caller import ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.responses import JsonObject, ScopeLabels

LimitParam = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]


class SessionResponse(BaseModel):
    """One conversation with its state, times and last end."""

    id: str
    owner: ScopeLabels
    scope: ScopeLabels
    state: str = Field(
        description="absent, active, expired_unfinalized, interrupted or rotation_required."
    )
    mode: str
    started_at: datetime | None
    last_active: datetime | None
    turns: int = Field(description="Turns that were finalised before this part of it.")
    ended: JsonObject = Field(description="Result of its last end.")


class SessionListResponse(BaseModel):
    sessions: list[SessionResponse]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "sessions")

    @routes.get("/sessions", responses=error_responses())
    def sessions(caller: ScopedCaller, limit: LimitParam = 100) -> SessionListResponse:
        """List conversations, newest first."""
        return SessionListResponse(
            sessions=[
                _to_response(session)
                for session in caller.engine.sessions.list(scope=caller.scope, limit=limit)
            ]
        )

    @routes.get("/sessions/{id}", responses=error_responses(404))
    def session(id: str, caller: ScopedCaller) -> SessionResponse:
        """Read one conversation."""
        return _to_response(caller.engine.sessions.get(id, scope=caller.scope))

    @routes.post("/sessions/{id}/end", responses=error_responses(404, 409))
    def end(id: str, caller: ScopedCaller) -> SessionResponse:
        """End a conversation: learn from the rest, decide held memories.

        Ending it twice changes nothing.
        """
        return _to_response(caller.engine.sessions.end(id, scope=caller.scope))

    return routes


def _to_response(session: Any) -> SessionResponse:
    return SessionResponse.model_validate(session, from_attributes=True)
