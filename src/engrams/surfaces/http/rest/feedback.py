"""/v1/feedback: what people thought of their sessions."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Speaks
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.surfaces.http.rest.memories import Key
from engrams.surfaces.http.rest.requests import Body, Moment, written
from engrams.types.logs import Kept, Label, Modality, Source

if TYPE_CHECKING:
    from engrams.build import FeedbackLog

MaybeDay = Annotated[date | None, BeforeValidator(written)]


class Given(Body):
    """What somebody thought of one of their sessions."""

    session: str = Field(min_length=1, description="Its name, of which only a hash is kept.")
    label: Label | None = Field(description="null: they dismissed the question, and nothing is kept.")
    source: Source = Source.API
    modality: Modality = Modality.TEXT
    at: Moment | None = Field(None, description="When they said so; without it, now.")
    incognito: StrictBool = Field(False, description="Only in this process, and nobody's.")


class Outcome(BaseModel):
    """stored, known (its key was there), lost (it could not be written; `/health` counts those) or dismissed (nothing is kept)."""

    outcome: Kept | Literal["dismissed"]


class Feedback(BaseModel):
    """`id` and `session` are hashes. `owner`: a scope's key; null where nobody is named."""

    id: str
    at: datetime
    session: str
    owner: str | None
    label: Label
    source: Source
    modality: Modality


class Feedbacks(BaseModel):
    records: list[Feedback]


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["feedback"], route_class=limited(settings.limits.text_bytes))

    @routes.post(
        "/feedback", status_code=201, responses={200: {"model": Outcome, "description": "Known, lost or dismissed."}, **declared()}
    )
    def add(body: Given, request: Request, response: Response, caller: Speaks, idempotency_key: Key = "") -> Outcome:
        """Keep what this person thought of a session of theirs. Memory does not change for it."""
        outcome = _log(request).add(
            body.session,
            body.label,
            source=body.source,
            modality=body.modality,
            owner=caller.scope.key,
            id=idempotency_key,
            at=body.at,
            incognito=body.incognito or caller.hushed(body.session),
        )
        response.status_code = 201 if outcome is Kept.STORED else 200
        return Outcome(outcome=outcome or "dismissed")

    @routes.get("/feedback", responses=declared())
    def feedback(
        request: Request,
        caller: Speaks,
        session: Annotated[str, Query(description="Only of the session with this name.")] = "",
        day: Annotated[MaybeDay, Query(description="Only this day, UTC.")] = None,
        since: Annotated[MaybeDay, Query(description="From this day on.")] = None,
        until: Annotated[MaybeDay, Query(description="To this day.")] = None,
        everyone: Annotated[bool, Query(description="Everybody's, for those who may see it.")] = False,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
    ) -> Feedbacks:
        """This person's, newest first."""
        owner = caller.whose(caller.scope, everyone, "feedback")
        found = _log(request).list(owner=owner, session=session, day=day, since=since, until=until, limit=limit)
        return Feedbacks(records=[Feedback.model_validate(record, from_attributes=True) for record in found])

    return routes


def _log(request: Request) -> FeedbackLog:
    log: FeedbackLog = request.app.state.feedback
    return log
