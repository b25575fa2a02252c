"""/v1/jobs: the background work, and what of it failed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.errors import NotFoundError
from engrams.ports import Job
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.types import Scope

_ALL = 10_000
"""How many jobs of everybody are looked through for those of one owner."""

State = Literal["waiting", "running", "dead", "done"]
Asked = Annotated[list[State], Query(description="Also list the jobs in these states, last changed first.")]
Most = Annotated[int, Query(ge=1, le=1000, description="At most so many of them.")]


class FailedJob(BaseModel):
    id: str
    kind: str
    attempt: int
    error: str


class ListedJob(FailedJob):
    """``due``: when it runs next."""

    state: str
    due: datetime
    created_at: datetime | None


class JobsResponse(BaseModel):
    """``jobs``: numbers of everybody's by kind and state; the rest: yours, and the server's own without their errors."""

    jobs: dict[str, dict[str, int]]
    lag_seconds: float
    dead: list[FailedJob]
    items: list[ListedJob]


class RetryResponse(BaseModel):
    retried: int


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["jobs"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/jobs", responses=declared())
    def jobs(caller: Asks, state: Asked = [], limit: Most = 100) -> JobsResponse:  # noqa: B006 - FastAPI copies defaults
        """The background work: numbers by kind and state, what failed for good, and with `state` the jobs themselves."""
        work = caller.engine.status()
        numbers = {kind: dict(states) for kind, states in work["jobs"].items()}
        listed = _own(caller, state)[:limit] if state else []
        return JobsResponse(
            jobs=numbers,
            lag_seconds=work["lag_seconds"],
            dead=[FailedJob(id=job.id, kind=job.kind, attempt=job.attempt, error=_error(job)) for job in _own(caller, ["dead"])],
            items=[_to_job(job, _error(job)) for job in listed],
        )

    @routes.post("/jobs/retry", responses=declared(404))
    def retry(body: requests.Jobs, caller: Asks) -> RetryResponse:
        """Failed jobs back to waiting."""
        own = {job.id for job in _own(caller, ["dead"])}
        unknown = [one for one in body.ids if one not in own]
        if unknown:
            raise NotFoundError("There is no failed job of that id here.", hint="GET /v1/jobs lists them.")
        chosen = body.ids or sorted(own)
        return RetryResponse(retried=caller.engine.retry(chosen) if chosen else 0)

    return routes


def _own(caller: Caller, states: list[State]) -> list[Job]:
    """Jobs of this owner, and those of nobody in particular; never another owner's."""
    return [job for job in caller.engine.store.queue(tuple(states), _ALL) if _owned(job, caller.owner)]


def _owned(job: Job, owner: Scope) -> bool:
    key = job.payload.get("scope")
    return not key or Scope.parse(str(key)).owner == owner


def _error(job: Job) -> str:
    """The server's own jobs keep their errors to themselves: they may speak of anybody."""
    return job.error if job.payload.get("scope") else ""


def _to_job(job: Job, error: str) -> ListedJob:
    return ListedJob(id=job.id, kind=job.kind, attempt=job.attempt, error=error, state=job.state, due=job.due, created_at=job.created_at)
