"""/v1/safety: the log of crises, for those who may see everybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import PersonCaller
from engrams.surfaces.http.rest.errors import error_responses
from engrams.surfaces.http.rest.logs import Day, LogEntry, LogFilter, LogRequest, log_router, set_status
from engrams.surfaces.http.rest.memories import KeyHeader
from engrams.types.logs import Classifier, Kept, Severity

if TYPE_CHECKING:
    from engrams.build import CrisisLog


class CrisisRequest(LogRequest):
    """Crisis noticed in a session, without a word of what was said."""

    classifier: Classifier
    severity: Severity
    reason: str = Field("", description="The classifier's own words, never the person's; cut at 500 characters.")


class CrisisOutcome(BaseModel):
    """Outcome: stored, known (its key was there) or lost (`/health` counts those)."""

    outcome: Kept


class CrisisFilter(LogFilter):
    """Selection of crises, newest first."""

    owner: str = Field("", description="Only of this owner, as `user/ann`, and what is below.")


class CrisisEntry(LogEntry):
    """Crisis as it is kept: ``id`` and ``session`` are hashes."""

    classifier: Classifier
    severity: Severity
    reason: str


class CrisisList(BaseModel):
    records: list[CrisisEntry]


class CrisisPurgeResponse(BaseModel):
    purged: int


def router(settings: Settings) -> APIRouter:
    routes = log_router(settings, "safety", CrisisOutcome, add_crisis, list_crises)
    routes.add_api_route("/safety", purge_crises, methods=["DELETE"], responses=error_responses())
    return routes


def add_crisis(
    body: CrisisRequest, request: Request, response: Response, caller: PersonCaller, idempotency_key: KeyHeader = ""
) -> CrisisOutcome:
    """Store a crisis once; a failed write is an outcome, no error."""
    options = body.options(caller, idempotency_key)
    outcome = _log(request).append_once(body.session, classifier=body.classifier, severity=body.severity, reason=body.reason, **options)
    set_status(response, outcome)
    return CrisisOutcome(outcome=outcome)


def list_crises(
    request: Request,
    caller: PersonCaller,  # noqa: ARG001 - the audit log notes who looked
    asked: Annotated[CrisisFilter, Query()],
) -> CrisisList:
    """List everybody's crises, newest first."""
    found = _log(request).list(owner=asked.owner, **asked.options())
    return CrisisList(records=[CrisisEntry.model_validate(record, from_attributes=True) for record in found])


def purge_crises(
    request: Request,
    caller: PersonCaller,  # noqa: ARG001 - the audit log notes who did it
    before: Annotated[Day, Query(description="The first day, UTC, whose records stay.")],
) -> CrisisPurgeResponse:
    """Erase everybody's entries of the days before this one."""
    return CrisisPurgeResponse(purged=_log(request).purge(before))


def _log(request: Request) -> CrisisLog:
    log: CrisisLog = request.app.state.safety
    return log
