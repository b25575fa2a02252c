"""/v1/safety: crises that were noticed, for those who may see what is everybody's."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Speaks
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.surfaces.http.rest.memories import Key
from engrams.surfaces.http.rest.requests import Body, Moment, written
from engrams.types.logs import Classifier, Kept, Severity

if TYPE_CHECKING:
    from engrams.build import CrisisLog

Day = Annotated[date, BeforeValidator(written)]
MaybeDay = Annotated[date | None, BeforeValidator(written)]


class Noticed(Body):
    """A crisis in a session. It has no place for what was said."""

    session: str = Field(min_length=1, description="Its name, of which only a hash is kept.")
    classifier: Classifier
    severity: Severity
    reason: str = Field("", description="The classifier's own words, never the person's; cut at 500 characters.")
    at: Moment | None = Field(None, description="When it was noticed; without it, now.")
    incognito: StrictBool = Field(False, description="Only in this process, and nobody's.")


class Outcome(BaseModel):
    """stored, known (its key was there) or lost (it could not be written; `/health` counts those)."""

    outcome: Kept


class Crisis(BaseModel):
    """`id` and `session` are hashes. `owner`: a scope's key; null where nobody is named."""

    id: str
    at: datetime
    session: str
    owner: str | None
    classifier: Classifier
    severity: Severity
    reason: str


class Crises(BaseModel):
    records: list[Crisis]


class Purged(BaseModel):
    purged: int


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["safety"], route_class=limited(settings.limits.text_bytes))

    @routes.post("/safety", status_code=201, responses={200: {"model": Outcome, "description": "Known, or lost."}, **declared()})
    def add(body: Noticed, request: Request, response: Response, caller: Speaks, idempotency_key: Key = "") -> Outcome:
        """Keep once that a crisis was noticed. That it cannot be written is an outcome, no error."""
        outcome = _log(request).append_once(
            body.session,
            classifier=body.classifier,
            severity=body.severity,
            reason=body.reason,
            owner=caller.scope.key,
            id=idempotency_key,
            at=body.at,
            incognito=body.incognito or caller.hushed(body.session),
        )
        response.status_code = 201 if outcome is Kept.STORED else 200
        return Outcome(outcome=outcome)

    @routes.get("/safety", responses=declared())
    def crises(
        request: Request,
        caller: Speaks,  # noqa: ARG001 - the audit log notes who looked
        session: Annotated[str, Query(description="Only of the session with this name.")] = "",
        owner: Annotated[str, Query(description="Only of this owner, as `user/ann`, and what is below.")] = "",
        day: Annotated[MaybeDay, Query(description="Only this day, UTC.")] = None,
        since: Annotated[MaybeDay, Query(description="From this day on.")] = None,
        until: Annotated[MaybeDay, Query(description="To this day.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 100,
    ) -> Crises:
        """Everybody's, newest first."""
        found = _log(request).list(owner=owner, session=session, day=day, since=since, until=until, limit=limit)
        return Crises(records=[Crisis.model_validate(record, from_attributes=True) for record in found])

    @routes.delete("/safety", responses=declared())
    def purge(
        request: Request,
        caller: Speaks,  # noqa: ARG001 - the audit log notes who did it
        before: Annotated[Day, Query(description="The first day, UTC, whose records stay.")],
    ) -> Purged:
        """Erase everybody's records of the days before this one."""
        return Purged(purged=_log(request).purge(before))

    return routes


def _log(request: Request) -> CrisisLog:
    log: CrisisLog = request.app.state.safety
    return log
