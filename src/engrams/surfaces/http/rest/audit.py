"""/v1/audit: who did what with one's memory."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator

from engrams.settings import Settings
from engrams.surfaces.http.rest import views
from engrams.surfaces.http.rest.caller import Asks
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.surfaces.http.rest.requests import written

if TYPE_CHECKING:
    from engrams.build import AuditLog


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["audit"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/audit", responses=declared())
    def audit(
        request: Request,
        caller: Asks,
        action: Annotated[str, Query(description="Only actions that begin so, as `memory.` does.")] = "",
        day: Annotated[date | None, BeforeValidator(written), Query(description="Only this day, UTC.")] = None,
        everyone: Annotated[bool, Query(description="Everybody's, for those who may see it.")] = False,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
    ) -> views.Trail:
        """What was done with this person's memory, newest first: when, by which key, and with what outcome. Never a text."""
        log: AuditLog = request.app.state.audit
        found = log.entries(owner=caller.whose(caller.owner, everyone, "audit log"), action=action, day=day, limit=limit)
        return views.Trail(days=list(log.days()), entries=[views.event(entry) for entry in found])

    return routes
