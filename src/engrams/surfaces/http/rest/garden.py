"""/v1/garden: maintenance cycles over all of an owner's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.caller import PersonCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest.requests import RequestBody

if TYPE_CHECKING:
    from engrams.engine.answer_types import StatementConflict

JobsParam = Annotated[
    list[str],
    Query(description="Only these jobs; an unknown one is answered with those there are."),
]


class GardenRunRequest(RequestBody):
    jobs: list[str] = Field(
        default_factory=list, max_length=32, description="Only these jobs; none: as set."
    )


class GardenUndoRequest(RequestBody):
    cycle: str = Field(
        "", max_length=64, description="Its id; empty: the last that changed something."
    )


class GardenDecideRequest(RequestBody):
    one: str = Field(max_length=200)
    other: str = Field(max_length=200)
    keep: str = Field(
        "",
        max_length=200,
        description="The true one. Empty: both stay, and the question does not come again.",
    )


class GardenWakeRequest(RequestBody):
    minutes: float = Field(0, ge=0, le=525_600, description="Minutes from now.")
    priority: int = Field(0, ge=-1000, le=1000, description="A higher priority runs first.")
    why: str = Field("", max_length=240)


class GardenPauseRequest(RequestBody):
    on: StrictBool = Field(True, description="false: cycles begin by themselves again.")


class GardenCycleResponse(BaseModel):
    """Report of one upkeep cycle."""

    id: str
    why: str
    at: str
    ended: str
    state: Literal["complete", "incomplete", "interrupted", "paused"]
    summary: str
    modified: int = Field(description="Memories that changed.")
    compactions: int = Field(description="Memories that were merged into others.")
    conflicts: int
    next_minutes: float | None
    tokens: int
    calls: int
    jobs: dict[str, int]
    notes: list[str]


class GardenCycleListResponse(BaseModel):
    reports: list[GardenCycleResponse]


class QueuedGardenCycleResponse(BaseModel):
    id: str
    at: datetime
    priority: int
    why: str
    name: str


class GardenStatusResponse(BaseModel):
    """Status of the upkeep cycles: state, queue, last report, usage."""

    state: Literal["running", "interrupted", "paused", "scheduled", "idle", "disabled"]
    next: datetime | None
    queue: list[QueuedGardenCycleResponse]
    last: GardenCycleResponse | None
    failures: int
    usage: dict[str, int] = Field(description="Tokens and calls of the last day.")
    undo: list[str] = Field(description="Cycles that can be undone.")


class GardenStepResponse(BaseModel):
    job: str
    verb: str
    ids: list[str]
    texts: list[str]
    reason: str


class ConflictingStatementResponse(BaseModel):
    id: str
    text: str
    at: datetime


class StatementConflictResponse(BaseModel):
    """Two memories that contradict each other."""

    one: ConflictingStatementResponse
    other: ConflictingStatementResponse
    reason: str
    keep: str = Field(description="Id of the memory that counts without a decision.")


class GardenPlanResponse(BaseModel):
    steps: list[GardenStepResponse]
    conflicts: list[StatementConflictResponse]
    notes: list[str]


class StatementConflictListResponse(BaseModel):
    conflicts: list[StatementConflictResponse]


class GardenUndoResponse(BaseModel):
    """Undone cycle."""

    cycle: str
    restored: list[str]
    left: list[str] = Field(description="Memories that were changed since, which stay as they are.")


class ConflictDecisionResponse(BaseModel):
    dropped: str | None


class GardenWakeResponse(BaseModel):
    id: str


class GardenCancelResponse(BaseModel):
    cancelled: int


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "garden", prefix="/v1/garden")

    @routes.get("", responses=error_responses())
    def status(caller: PersonCaller) -> GardenStatusResponse:
        """Report the last cycle, the next one and the usage."""
        return GardenStatusResponse.model_validate(caller.engine.garden.status(caller.owner))

    @routes.get("/plan", responses=error_responses())
    def plan(caller: PersonCaller, job: JobsParam = []) -> GardenPlanResponse:  # noqa: B006 - FastAPI copies defaults
        """Plan a cycle without changing anything."""
        planned = caller.engine.garden.plan(caller.owner, job)
        steps = [GardenStepResponse.model_validate(step.to_dict()) for step in planned.steps]
        return GardenPlanResponse(
            steps=steps, conflicts=_to_conflicts(planned.conflicts), notes=list(planned.notes)
        )

    @routes.get("/reports", responses=error_responses())
    def reports(caller: PersonCaller) -> GardenCycleListResponse:
        """List the last cycles, oldest first."""
        return GardenCycleListResponse(
            reports=[
                GardenCycleResponse.model_validate(asdict(report))
                for report in caller.engine.garden.reports(caller.owner)
            ]
        )

    @routes.post("/run", responses=error_responses(409))
    def run(body: GardenRunRequest, caller: PersonCaller) -> GardenCycleResponse:
        """Run a cycle now and wait for its end."""
        return GardenCycleResponse.model_validate(
            asdict(caller.engine.garden.run(caller.owner, body.jobs))
        )

    @routes.post("/undo", responses=error_responses(404, 409))
    def undo(body: GardenUndoRequest, caller: PersonCaller) -> GardenUndoResponse:
        """Undo a cycle, except for memories that changed since."""
        return GardenUndoResponse.model_validate(
            asdict(caller.engine.garden.undo(caller.owner, body.cycle))
        )

    @routes.get("/conflicts", responses=error_responses())
    def conflicts(caller: PersonCaller) -> StatementConflictListResponse:
        """List contradicting statements, newest first."""
        return StatementConflictListResponse(
            conflicts=_to_conflicts(caller.engine.garden.conflicts(caller.owner))
        )

    @routes.post("/decide", responses=error_responses(404, 409))
    def decide(body: GardenDecideRequest, caller: PersonCaller) -> ConflictDecisionResponse:
        """Decide a conflict."""
        dropped = caller.engine.garden.decide(
            body.one, body.other, scope=caller.owner, keep=body.keep
        )
        return ConflictDecisionResponse(dropped=dropped.id if dropped else None)

    @routes.post("/queue", responses=error_responses())
    def wake(body: GardenWakeRequest, caller: PersonCaller) -> GardenWakeResponse:
        """Schedule a cycle."""
        at = caller.engine.now() + timedelta(minutes=body.minutes)
        return GardenWakeResponse(
            id=caller.engine.garden.wake(caller.owner, at, priority=body.priority, why=body.why)
        )

    @routes.delete("/queue/{id}", responses=error_responses())
    def cancel(id: str, caller: PersonCaller) -> GardenCancelResponse:
        """Cancel a scheduled cycle; 0: there was none of yours."""
        return GardenCancelResponse(cancelled=caller.engine.garden.cancel(id, scope=caller.owner))

    @routes.post("/pause", responses=error_responses())
    def pause(body: GardenPauseRequest, caller: PersonCaller) -> GardenStatusResponse:
        """Pause or resume scheduled cycles."""
        return GardenStatusResponse.model_validate(
            caller.engine.garden.pause(caller.owner, on=body.on)
        )

    return routes


def _to_conflicts(conflicts: Sequence[StatementConflict]) -> list[StatementConflictResponse]:
    return [StatementConflictResponse.model_validate(conflict.to_dict()) for conflict in conflicts]
