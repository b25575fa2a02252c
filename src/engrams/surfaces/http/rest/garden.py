"""/v1/garden: what is looked after between conversations, for all of an owner's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StrictBool

from engrams.settings import Settings
from engrams.surfaces.http.rest.caller import Speaks
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.surfaces.http.rest.requests import Body

if TYPE_CHECKING:
    from engrams.build import StatementConflict

Wanted = Annotated[list[str], Query(description="Only these jobs; an unknown one is answered with those there are.")]


class Run(Body):
    jobs: list[str] = Field(default_factory=list, max_length=32, description="Only these jobs; none: as set.")


class Undo(Body):
    cycle: str = Field("", max_length=64, description="Its id; empty: the last that changed something.")


class Decide(Body):
    one: str = Field(max_length=200)
    other: str = Field(max_length=200)
    keep: str = Field("", max_length=200, description="The one that holds; empty: both stay, and are not asked about again.")


class Wake(Body):
    minutes: float = Field(0, ge=0, le=525_600, description="How long from now.")
    priority: int = Field(0, ge=-1000, le=1000, description="A higher one goes first.")
    why: str = Field("", max_length=240)


class Pause(Body):
    on: StrictBool = Field(True, description="false: cycles begin by themselves again.")


class Report(BaseModel):
    """How a cycle went. `modified`: memories that changed; `compactions`: how many went into others."""

    id: str
    why: str
    at: str
    ended: str
    state: Literal["complete", "incomplete", "interrupted", "paused"]
    summary: str
    modified: int
    compactions: int
    conflicts: int
    next_minutes: float | None
    tokens: int
    calls: int
    jobs: dict[str, int]
    notes: list[str]


class Reports(BaseModel):
    reports: list[Report]


class Entry(BaseModel):
    id: str
    at: datetime
    priority: int
    why: str
    name: str


class Status(BaseModel):
    """`usage`: tokens and calls of the last day. `undo`: cycles that can be taken back."""

    state: Literal["running", "interrupted", "paused", "scheduled", "idle", "disabled"]
    next: datetime | None
    queue: list[Entry]
    last: Report | None
    failures: int
    usage: dict[str, int]
    undo: list[str]


class Step(BaseModel):
    job: str
    verb: str
    ids: list[str]
    texts: list[str]
    reason: str


class Side(BaseModel):
    id: str
    text: str
    at: datetime


class Clash(BaseModel):
    """`keep`: the one that would hold if nobody decided."""

    one: Side
    other: Side
    reason: str
    keep: str


class Plan(BaseModel):
    steps: list[Step]
    conflicts: list[Clash]
    notes: list[str]


class Clashes(BaseModel):
    conflicts: list[Clash]


class Undone(BaseModel):
    """`left`: memories that were changed since, and stay as they are."""

    cycle: str
    restored: list[str]
    left: list[str]


class Decided(BaseModel):
    dropped: str | None


class Woken(BaseModel):
    id: str


class Cancelled(BaseModel):
    cancelled: int


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1/garden", tags=["garden"], route_class=limited(settings.limits.text_bytes))

    @routes.get("", responses=declared())
    def status(caller: Speaks) -> Status:
        """How the garden stands: the last cycle, the next one, what was spent."""
        return Status.model_validate(caller.engine.garden.status(caller.owner))

    @routes.get("/plan", responses=declared())
    def plan(caller: Speaks, job: Wanted = []) -> Plan:  # noqa: B006 - FastAPI copies defaults
        """What a cycle would do now. Nothing is changed."""
        made = caller.engine.garden.plan(caller.owner, job)
        steps = [Step.model_validate(step.to_dict()) for step in made.steps]
        return Plan(steps=steps, conflicts=_clashes(made.conflicts), notes=list(made.notes))

    @routes.get("/reports", responses=declared())
    def reports(caller: Speaks) -> Reports:
        """The last cycles, oldest first."""
        return Reports(reports=[Report.model_validate(asdict(report)) for report in caller.engine.garden.reports(caller.owner)])

    @routes.post("/run", responses=declared(409))
    def run(body: Run, caller: Speaks) -> Report:
        """Run a cycle now, and answer when it has ended."""
        return Report.model_validate(asdict(caller.engine.garden.run(caller.owner, body.jobs)))

    @routes.post("/undo", responses=declared(404, 409))
    def undo(body: Undo, caller: Speaks) -> Undone:
        """Take a cycle back: what it changed is as before, but for what was changed since."""
        return Undone.model_validate(asdict(caller.engine.garden.undo(caller.owner, body.cycle)))

    @routes.get("/conflicts", responses=declared())
    def conflicts(caller: Speaks) -> Clashes:
        """Statements that cannot both be so, the latest first."""
        return Clashes(conflicts=_clashes(caller.engine.garden.conflicts(caller.owner)))

    @routes.post("/decide", responses=declared(404, 409))
    def decide(body: Decide, caller: Speaks) -> Decided:
        """Settle a conflict."""
        dropped = caller.engine.garden.decide(body.one, body.other, scope=caller.owner, keep=body.keep)
        return Decided(dropped=dropped.id if dropped else None)

    @routes.post("/queue", responses=declared())
    def wake(body: Wake, caller: Speaks) -> Woken:
        """Have a cycle begin at a time."""
        at = caller.engine.now() + timedelta(minutes=body.minutes)
        return Woken(id=caller.engine.garden.wake(caller.owner, at, priority=body.priority, why=body.why))

    @routes.delete("/queue/{id}", responses=declared())
    def cancel(id: str, caller: Speaks) -> Cancelled:
        """Take an entry off the queue; 0: there was none of yours."""
        return Cancelled(cancelled=caller.engine.garden.cancel(id, scope=caller.owner))

    @routes.post("/pause", responses=declared())
    def pause(body: Pause, caller: Speaks) -> Status:
        """Let no cycle begin by itself, or let them again."""
        return Status.model_validate(caller.engine.garden.pause(caller.owner, on=body.on))

    return routes


def _clashes(found: Sequence[StatementConflict]) -> list[Clash]:
    return [Clash.model_validate(each.to_dict()) for each in found]
