"""/v1/feedback and /v1/safety: opinions of sessions, and crises in them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from engrams.core import Scope
from engrams.core.log_enums import (
    CrisisDetectionSource,
    CrisisSeverity,
    FeedbackLabel,
    FeedbackSource,
    LogWriteOutcome,
    SessionMedium,
)
from engrams.errors import ConflictError, EngramsError
from engrams.settings import Settings
from engrams.surfaces.http.caller import AnyCaller, IdentifiedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.memories import KeyHeader
from engrams.surfaces.http.rest.requests import Moment, RequestBody, require_date_text

if TYPE_CHECKING:
    from engrams.admin import CrisisLog, FeedbackLog

Day = Annotated[date, BeforeValidator(require_date_text)]
MaybeDay = Annotated[date | None, BeforeValidator(require_date_text)]


class SessionLogRequest(RequestBody):
    """Fields shared by requests that log feedback or a crisis."""

    session: str = Field(min_length=1, description="Its name; only a hash of it is stored.")
    at: Moment | None = Field(None, description="When it happened; without it, now.")
    incognito: StrictBool = Field(False, description="Only in this process, and nobody's.")

    def options(self, caller: IdentifiedCaller, key: str) -> dict[str, Any]:
        """Build the keyword arguments that both logs take."""
        incognito = self.incognito or caller.is_incognito(self.session)
        return {"owner": caller.logged_owner, "id": key, "at": self.at, "incognito": incognito}


class SessionLogQuery(BaseModel):
    """Selection of log entries, newest first."""

    session: str = Field("", description="Only of the session with this name.")
    day: MaybeDay = Field(None, description="Only this day, UTC.")
    since: MaybeDay = Field(None, description="From this day on.")
    until: MaybeDay = Field(None, description="To this day.")
    limit: int = Field(100, ge=1, le=1000, description="At most so many.")

    def options(self) -> dict[str, Any]:
        """Build the keyword arguments that both logs take."""
        return {name: getattr(self, name) for name in SessionLogQuery.model_fields}


class SessionLogEntryResponse(BaseModel):
    """Fields shared by feedback and crisis entries."""

    id: str
    at: datetime
    session: str
    owner: str | None = Field(description="Key of a scope; null where nobody is named.")


def log_router(
    settings: Settings,
    name: str,
    outcome: type[BaseModel],
    add: Callable[..., Any],
    find: Callable[..., Any],
) -> APIRouter:
    """Create the router of the log ``name`` from its two handlers."""
    routes = limited_router(settings, name)
    unwritten: dict[int | str, dict[str, Any]] = {
        200: {"model": outcome, "description": "Nothing new was written; `outcome` says why."}
    }
    routes.add_api_route(
        f"/{name}",
        add,
        methods=["POST"],
        status_code=201,
        responses={**unwritten, **error_responses()},
    )
    routes.add_api_route(f"/{name}", find, methods=["GET"], responses=error_responses())
    return routes


def set_status(response: Response, outcome: LogWriteOutcome | None) -> None:
    response.status_code = 201 if outcome is LogWriteOutcome.STORED else 200


class SessionFeedbackRequest(SessionLogRequest):
    """Opinion of somebody on one of their sessions."""

    label: FeedbackLabel | None = Field(
        description="null: the person dismissed the question, and nothing is stored."
    )
    source: FeedbackSource = FeedbackSource.API
    modality: SessionMedium = SessionMedium.TEXT


class FeedbackLogWriteResponse(BaseModel):
    """Outcome: stored, known, lost or dismissed.

    known: its key was there. lost: it could not be written; `/health` counts those. dismissed:
    nothing is kept.
    """

    outcome: LogWriteOutcome | Literal["dismissed"]


class FeedbackQuery(SessionLogQuery):
    """Selection of feedback, newest first."""

    everyone: bool = Field(False, description="Everybody's, for those who may see it.")


class FeedbackEntryResponse(SessionLogEntryResponse):
    """Feedback as it is kept: ``id`` and ``session`` are hashes."""

    label: FeedbackLabel
    source: FeedbackSource
    modality: SessionMedium


class FeedbackListResponse(BaseModel):
    records: list[FeedbackEntryResponse]


def feedback_router(settings: Settings) -> APIRouter:
    return log_router(settings, "feedback", FeedbackLogWriteResponse, add_feedback, list_feedback)


def add_feedback(
    body: SessionFeedbackRequest,
    request: Request,
    response: Response,
    caller: AnyCaller,
    idempotency_key: KeyHeader = "",
) -> FeedbackLogWriteResponse:
    """Store this person's opinion of one of their sessions."""
    options = body.options(caller, idempotency_key)
    outcome = _feedback_log(request).add(
        body.session, body.label, source=body.source, modality=body.modality, **options
    )
    set_status(response, outcome)
    return FeedbackLogWriteResponse(outcome=outcome or "dismissed")


def list_feedback(
    request: Request, caller: AnyCaller, query: Annotated[FeedbackQuery, Query()]
) -> FeedbackListResponse:
    """List this person's feedback, newest first."""
    owner = caller.owner_filter(caller.scope, query.everyone or not caller.is_named, "feedback")
    records = _feedback_log(request).list(owner=owner, **query.options())
    return FeedbackListResponse(
        records=[
            FeedbackEntryResponse.model_validate(record, from_attributes=True) for record in records
        ]
    )


def _feedback_log(request: Request) -> FeedbackLog:
    log: FeedbackLog = request.app.state.feedback
    return log


class CrisisReportRequest(SessionLogRequest):
    """Crisis noticed in a session, without a word of what was said."""

    classifier: CrisisDetectionSource
    severity: CrisisSeverity
    reason: str = Field(
        "", description="The classifier's own words, never the person's; cut at 500 characters."
    )


class CrisisLogWriteResponse(BaseModel):
    """Outcome: stored, known (its key was there) or lost (`/health` counts those)."""

    outcome: LogWriteOutcome


class CrisisQuery(SessionLogQuery):
    """Selection of crises, newest first."""

    owner: str = Field("", description="Only of this owner, such as `user/ann`, and its parts.")


class CrisisEntryResponse(SessionLogEntryResponse):
    """Crisis as it is kept: ``id`` and ``session`` are hashes."""

    classifier: CrisisDetectionSource
    severity: CrisisSeverity
    reason: str


class CrisisListResponse(BaseModel):
    records: list[CrisisEntryResponse]


class CrisisPurgeResponse(BaseModel):
    purged: int


def safety_router(settings: Settings) -> APIRouter:
    routes = log_router(settings, "safety", CrisisLogWriteResponse, add_crisis, list_crises)
    routes.add_api_route("/safety", purge_crises, methods=["DELETE"], responses=error_responses())
    return routes


def add_crisis(
    body: CrisisReportRequest,
    request: Request,
    response: Response,
    caller: AnyCaller,
    idempotency_key: KeyHeader = "",
) -> CrisisLogWriteResponse:
    """Store a crisis once; a failed write is an outcome, no error.

    Nothing more is learned from a session whose crisis is moderate or high, also if the report comes
    before the session's first message.
    """
    options = body.options(caller, idempotency_key)
    outcome = _safety_log(request).append_once(
        body.session,
        classifier=body.classifier,
        severity=body.severity,
        reason=body.reason,
        **options,
    )
    if not body.incognito:
        sessions = caller.engine.sessions
        labels = caller.engine.settings.owner_labels(body.session)
        scope = caller.scope if caller.is_named else Scope(labels)
        # A session that memory does not know stays unknown: no name of one is stored here. Nothing
        # that memory cannot do fails the report.
        with suppress(EngramsError):
            try:
                sessions.touch(body.session, scope=scope, crisis=body.severity)
            except ConflictError:
                # It lapsed or ended: the message that the crisis was noticed by begins its next part.
                sessions.begin(body.session, scope=scope, crisis=body.severity)
    set_status(response, outcome)
    return CrisisLogWriteResponse(outcome=outcome)


def list_crises(
    request: Request,
    caller: AnyCaller,  # noqa: ARG001 - the audit log notes who looked
    query: Annotated[CrisisQuery, Query()],
) -> CrisisListResponse:
    """List everybody's crises, newest first."""
    records = _safety_log(request).list(owner=query.owner, **query.options())
    return CrisisListResponse(
        records=[
            CrisisEntryResponse.model_validate(record, from_attributes=True) for record in records
        ]
    )


def purge_crises(
    request: Request,
    caller: AnyCaller,  # noqa: ARG001 - the audit log notes who did it
    before: Annotated[Day, Query(description="The first day (UTC) that is kept.")],
) -> CrisisPurgeResponse:
    """Erase everybody's entries of the days before this one."""
    return CrisisPurgeResponse(purged=_safety_log(request).purge(before))


def _safety_log(request: Request) -> CrisisLog:
    log: CrisisLog = request.app.state.safety
    return log
