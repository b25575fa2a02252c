"""/v1/jobs: background jobs and their failures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engrams.core import Scope
from engrams.errors import NotFoundError
from engrams.ports import Job
from engrams.settings import Settings
from engrams.surfaces.http.caller import AnyCaller, IdentifiedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import requests

_ALL = 10_000
"""Jobs of everybody that are looked through for those of one owner."""
_FIRST_BATCH = 2
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
    """Job in the list."""

    state: str
    due: datetime | None = Field(
        description="Its next run; null: when more of its conversation is there."
    )
    created_at: datetime | None
    doing: str = Field(description="Its work now.")
    age_seconds: float


class ModelLatencyResponse(BaseModel):
    """Seconds of a chat model's last answers."""

    answers: int
    median_seconds: float
    longest_seconds: float


class JobListResponse(BaseModel):
    """Background jobs: counts, delay, failures, and the model's pace.

    For the right `admin` ``jobs`` counts everybody's, and the lists hold the owner's and the
    server's own, these without their errors; else all of it is the owner's.
    """

    jobs: dict[str, dict[str, int]] = Field(description="Numbers of jobs by kind and state.")
    lag_seconds: float = Field(description="How long the oldest due job has waited.")
    dead: list[FailedJobResponse]
    items: list[ListedJobResponse]
    pace: ModelLatencyResponse = Field(description="Of the chat model.")
    queue_seconds: float = Field(
        description="About how long the work takes that waits for the model (for an admin)."
    )
    mistakes: dict[str, int] = Field(
        description="Errors in the chat model's answers, by reason; none was stored."
    )
    unembedded: int = Field(
        description=(
            "Memories that wait for a vector of the embedder in use, 1000 at most (for an admin)."
        )
    )
    judge: dict[str, int] = Field(
        description="Judgements of relevance by how they ended, since the server started."
    )


class JobRetryResponse(BaseModel):
    retried: int


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "jobs")

    @routes.get("/jobs", responses=error_responses())
    def jobs(caller: AnyCaller, state: StateParam = [], limit: LimitParam = 100) -> JobListResponse:  # noqa: B006 - FastAPI copies defaults
        """Count jobs, and list failed ones and those of `state`."""
        work = caller.engine.status()
        if caller.is_admin:
            counts = {kind: dict(states) for kind, states in work["jobs"].items()}
        else:
            counts = _count_own_jobs(caller)
        shown_jobs = _list_own_jobs(caller, state, limit) if state else []
        return JobListResponse(
            jobs=counts,
            lag_seconds=work["lag_seconds"] if caller.is_admin else _own_lag(caller),
            dead=[
                FailedJobResponse(
                    id=job.id, kind=job.kind, attempt=job.attempt, error=_visible_error(job)
                )
                for job in _list_own_jobs(caller, ["dead"])
            ],
            items=[_to_job(job, caller.engine.inspect.describe_job(job)) for job in shown_jobs],
            pace=ModelLatencyResponse(**work["pace"]),
            queue_seconds=work["queue_seconds"] if caller.is_admin else 0.0,
            mistakes=work["mistakes"],
            unembedded=work["unembedded"] if caller.is_admin else 0,
            judge=work["judge"],
        )

    @routes.post("/jobs/retry", responses=error_responses(404))
    def retry(body: requests.JobRetryRequest, caller: AnyCaller) -> JobRetryResponse:
        """Queue failed jobs again."""
        failed_ids = {job.id for job in _list_own_jobs(caller, ["dead"])}
        if any(job_id not in failed_ids for job_id in body.ids):
            raise NotFoundError(
                "There is no failed job of that id here.", hint="GET /v1/jobs lists them."
            )
        chosen = body.ids or sorted(failed_ids)
        return JobRetryResponse(retried=caller.engine.retry(chosen) if chosen else 0)

    return routes


def _list_own_jobs(caller: IdentifiedCaller, states: list[State], limit: int = _ALL) -> list[Job]:
    """List an owner's last jobs, for an admin also the server's."""
    # Mostly those that are wanted are among the last ones of everybody.
    for batch_size in sorted({min(_FIRST_BATCH * limit, _ALL), _ALL}):
        jobs = caller.engine.inspect.jobs(tuple(states), batch_size)
        own_jobs = [job for job in jobs if _is_own(job, caller)]
        if len(own_jobs) >= limit or len(jobs) < batch_size:
            break
    return own_jobs[:limit]


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


def _to_job(job: Job, description: Mapping[str, Any]) -> ListedJobResponse:
    return ListedJobResponse(
        id=job.id,
        kind=job.kind,
        attempt=job.attempt,
        error=_visible_error(job),
        state=job.state,
        due=description["due"],
        created_at=job.created_at,
        doing=description["doing"],
        age_seconds=description["age_seconds"],
    )
