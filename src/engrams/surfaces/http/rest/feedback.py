"""/v1/feedback: people's opinions of their sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import PersonCaller
from engrams.surfaces.http.rest.logs import LogEntry, LogFilter, LogRequest, log_router, set_status
from engrams.surfaces.http.rest.memories import KeyHeader
from engrams.types.logs import Kept, Label, Modality, Source

if TYPE_CHECKING:
    from engrams.build import FeedbackLog


class FeedbackRequest(LogRequest):
    """Opinion of somebody on one of their sessions."""

    label: Label | None = Field(description="null: they dismissed the question, and nothing is kept.")
    source: Source = Source.API
    modality: Modality = Modality.TEXT


class FeedbackOutcome(BaseModel):
    """Outcome: stored, known, lost or dismissed.

    known: its key was there. lost: it could not be written; `/health` counts those. dismissed: nothing is kept.
    """

    outcome: Kept | Literal["dismissed"]


class FeedbackFilter(LogFilter):
    """Selection of feedback, newest first."""

    everyone: bool = Field(False, description="Everybody's, for those who may see it.")


class FeedbackEntry(LogEntry):
    """Feedback as it is kept: ``id`` and ``session`` are hashes."""

    label: Label
    source: Source
    modality: Modality


class FeedbackList(BaseModel):
    records: list[FeedbackEntry]


def router(settings: Settings) -> APIRouter:
    return log_router(settings, "feedback", FeedbackOutcome, add_feedback, list_feedback)


def add_feedback(
    body: FeedbackRequest, request: Request, response: Response, caller: PersonCaller, idempotency_key: KeyHeader = ""
) -> FeedbackOutcome:
    """Store this person's opinion of one of their sessions."""
    options = body.options(caller, idempotency_key)
    outcome = _log(request).add(body.session, body.label, source=body.source, modality=body.modality, **options)
    set_status(response, outcome)
    return FeedbackOutcome(outcome=outcome or "dismissed")


def list_feedback(request: Request, caller: PersonCaller, asked: Annotated[FeedbackFilter, Query()]) -> FeedbackList:
    """List this person's feedback, newest first."""
    owner = caller.owner_filter(caller.scope, asked.everyone, "feedback")
    found = _log(request).list(owner=owner, **asked.options())
    return FeedbackList(records=[FeedbackEntry.model_validate(record, from_attributes=True) for record in found])


def _log(request: Request) -> FeedbackLog:
    log: FeedbackLog = request.app.state.feedback
    return log
