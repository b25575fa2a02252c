"""/v1/jobs: background jobs and their failures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.core import Scope
from engrams.errors import NotFoundError
from engrams.ports import Job
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.caller import AnyCaller, IdentifiedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route

_ALL = 10_000
"""Jobs of everybody that are looked through for those of one owner."""
_FEW = 2
"""Times as many jobs as are wanted are looked through first."""

State = Literal["waiting", "running", "dead", "done"]
StateParam = Annotated[
    list[State], Query(description="Also list the jobs in these states, last changed first.")
]
LimitParam = Annotated[int, Query(ge=1, le=1000, description="At most so many of them.")]


class FailedJobResponse(BaseModel):
    id: str
    kind: str
    attempt: int
    error: str


class ListedJobResponse(FailedJobResponse):
    """Job in the list; ``doing``: its work now.

    ``due``: its next run; null: when more of its conversation is there.
    """

    state: str
    due: datetime | None
    created_at: datetime | None
    doing: str
    age_seconds: float


class ModelLatencyResponse(BaseModel):
    """Seconds of a chat model's last answers."""

    answers: int
    median_seconds: float
    longest_seconds: float


class JobListResponse(BaseModel):
    """Background jobs: counts, delay, failures, and the model's pace.

    For the right `admin` ``jobs`` counts everybody's by kind and state, and the lists hold the
    owner's and the server's own, these without their errors; else all of it is the owner's.
    ``pace``: of the chat model; ``queue_seconds``: what waits for it takes about so long (for an
    admin). ``judge``: how many judgements of relevance ended how, since the server started.
    """

    jobs: dict[str, dict[str, int]]
    lag_seconds: float
    dead: list[FailedJobResponse]
    items: list[ListedJobResponse]
    pace: ModelLatencyResponse
    queue_seconds: float
    judge: dict[str, int]


class JobRetryResponse(BaseModel):
    retried: int


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(
        prefix="/v1", tags=["jobs"], route_class=limited_route(settings.limits.text_bytes)
    )

    @routes.get("/jobs", responses=error_responses())
    def jobs(caller: AnyCaller, state: StateParam = [], limit: LimitParam = 100) -> JobListResponse:  # noqa: B006 - FastAPI copies defaults
        """Count jobs, and list failed ones and those of `state`."""
        work = caller.engine.status()
        numbers = (
            {kind: dict(states) for kind, states in work["jobs"].items()}
            if caller.is_admin
            else _count_own_jobs(caller)
        )
        listed = _list_own_jobs(caller, state, limit) if state else []
        return JobListResponse(
            jobs=numbers,
            lag_seconds=work["lag_seconds"] if caller.is_admin else _own_lag(caller),
            dead=[
                FailedJobResponse(
                    id=job.id, kind=job.kind, attempt=job.attempt, error=_visible_error(job)
                )
                for job in _list_own_jobs(caller, ["dead"])
            ],
            items=[_to_job(job, caller.engine.inspect.describe_job(job)) for job in listed],
            pace=ModelLatencyResponse(**work["pace"]),
            queue_seconds=work["queue_seconds"] if caller.is_admin else 0.0,
            judge=work["judge"],
        )

    @routes.post("/jobs/retry", responses=error_responses(404))
    def retry(body: requests.JobRetryRequest, caller: AnyCaller) -> JobRetryResponse:
        """Queue failed jobs again."""
        own = {job.id for job in _list_own_jobs(caller, ["dead"])}
        unknown = [one for one in body.ids if one not in own]
        if unknown:
            raise NotFoundError(
                "There is no failed job of that id here.", hint="GET /v1/jobs lists them."
            )
        chosen = body.ids or sorted(own)
        return JobRetryResponse(retried=caller.engine.retry(chosen) if chosen else 0)

    return routes


def _list_own_jobs(caller: IdentifiedCaller, states: list[State], most: int = _ALL) -> list[Job]:
    """List an owner's last jobs, for an admin also the server's."""
    # Mostly those wanted are among the last ones of everybody.
    for looked_through in sorted({min(_FEW * most, _ALL), _ALL}):
        found = caller.engine.inspect.jobs(tuple(states), looked_through)
        own = [job for job in found if _is_own(job, caller)]
        if len(own) >= most or len(found) < looked_through:
            break
    return own[:most]


def _own_lag(caller: IdentifiedCaller) -> float:
    """Return how long the owner's oldest due job has waited, in seconds."""
    now = caller.engine.now()
    due = [
        max(job.created_at, job.due)
        for job in _list_own_jobs(caller, ["waiting", "running"])
        if job.created_at
    ]
    return max(0.0, (now - min(due)).total_seconds()) if due else 0.0


def _count_own_jobs(caller: IdentifiedCaller) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for job in _list_own_jobs(caller, []):
        states = counts.setdefault(job.kind, {})
        states[job.state] = states.get(job.state, 0) + 1
    return counts


def _is_own(job: Job, caller: IdentifiedCaller) -> bool:
    key = job.payload.get("scope") or job.payload.get("owner")
    return Scope.parse(str(key)).owner == caller.owner if key else caller.is_admin


def _visible_error(job: Job) -> str:
    """Return the error of an owner's job; server jobs may quote anybody."""
    return job.error if job.payload.get("scope") or job.payload.get("owner") else ""


def _to_job(job: Job, told: Mapping[str, Any]) -> ListedJobResponse:
    return ListedJobResponse(
        id=job.id,
        kind=job.kind,
        attempt=job.attempt,
        error=_visible_error(job),
        state=job.state,
        due=told["due"],
        created_at=job.created_at,
        doing=told["doing"],
        age_seconds=told["age_seconds"],
    )
