"""/v1/audit: log of operations on an owner's memory."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, BeforeValidator, Field

from engrams.settings import Settings
from engrams.surfaces.http.caller import ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.requests import require_date_text

if TYPE_CHECKING:
    from engrams.admin import AuditLog


class AuditEntryResponse(BaseModel):
    """One audited operation: when, who, on what, with which outcome."""

    at: datetime
    action: str
    actor: str = Field(description="Id of a key, or local.")
    owner: str = Field(description="Key of the owner's scope; empty where it was nobody's.")
    target: str = Field(description="Id of a memory.")
    outcome: str
    request: str = Field(description="X-Request-Id of the answer.")


class AuditListResponse(BaseModel):
    """Events of the audit log."""

    days: list[str] = Field(description="Days with a log.")
    entries: list[AuditEntryResponse]


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "audit")

    @routes.get("/audit", responses=error_responses())
    def audit(
        request: Request,
        caller: ScopedCaller,
        action: Annotated[
            str, Query(description="Only actions that begin so, as `memory.` does.")
        ] = "",
        day: Annotated[
            date | None,
            BeforeValidator(require_date_text),
            Query(description="Only this day, UTC."),
        ] = None,
        everyone: Annotated[
            bool, Query(description="Everybody's, for those who may see it.")
        ] = False,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
    ) -> AuditListResponse:
        """List operations on this person's memory, newest first, without texts."""
        log: AuditLog = request.app.state.audit
        entries = log.entries(
            owner=caller.owner_filter(caller.owner, everyone, "audit log"),
            action=action,
            day=day,
            limit=limit,
        )
        return AuditListResponse(
            days=list(log.days()),
            entries=[
                AuditEntryResponse.model_validate(entry, from_attributes=True) for entry in entries
            ],
        )

    return routes
