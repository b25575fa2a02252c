"""/v1/sessions: conversations, and their end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from engrams.settings import Settings
from engrams.surfaces.http.rest import views
from engrams.surfaces.http.rest.caller import Asks
from engrams.surfaces.http.rest.errors import declared, limited, plain

Most = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["sessions"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/sessions", responses=declared())
    def sessions(caller: Asks, limit: Most = 100) -> views.Conversations:
        """Conversations, the latest first."""
        return views.Conversations(sessions=[_told(each) for each in caller.engine.sessions.list(scope=caller.scope, limit=limit)])

    @routes.get("/sessions/{id}", responses=declared(404))
    def session(id: str, caller: Asks) -> views.Conversation:
        """One conversation as it stands."""
        return _told(caller.engine.sessions.get(id, scope=caller.scope))

    @routes.post("/sessions/{id}/end", responses=declared(404, 409))
    def end(id: str, caller: Asks) -> views.Conversation:
        """End it: what is left is learned from, and what was held becomes memory where it is borne out. Twice is once."""
        return _told(caller.engine.sessions.end(id, scope=caller.scope))

    return routes


def _told(session: Any) -> views.Conversation:
    return views.Conversation(
        id=session.id,
        scope=list(session.scope.labels),
        state=session.state.value,
        mode=session.mode,
        started_at=session.started_at,
        last_active=session.last_active,
        turns=session.turns,
        ended=plain(dict(session.ended)),
    )
