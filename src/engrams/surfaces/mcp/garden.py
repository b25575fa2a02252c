"""The profile ``garden``: what contradicts, and the upkeep of a whole memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from engrams.errors import RefusedError
from engrams.surfaces.mcp.annotations import CHANGES, READS, WRITES
from engrams.surfaces.mcp.scoped import ScopedEngine, with_tool_errors

if TYPE_CHECKING:
    from engrams.build import StatementConflict

_TOOLS = {"list_conflicts": READS, "settle_conflict": CHANGES, "plan_upkeep": READS, "run_upkeep": WRITES, "undo_upkeep": CHANGES}

Id = Annotated[str, Field(description="A statement's id, as list_conflicts gives it.", min_length=1)]


@dataclass(frozen=True)
class ConflictStatement:
    id: str
    text: str
    at: str


@dataclass(frozen=True)
class ConflictOutput:
    """``newer``: the id of the one that would hold if nobody decided."""

    one: ConflictStatement
    other: ConflictStatement
    reason: str
    newer: str


@dataclass(frozen=True)
class ConflictsOutput:
    conflicts: list[ConflictOutput]


@dataclass(frozen=True)
class DecisionOutput:
    """``put_away``: the id of the one that no longer holds; null: both stay."""

    put_away: str | None


@dataclass(frozen=True)
class UpkeepStep:
    verb: str
    ids: list[str]
    texts: list[str]
    reason: str


@dataclass(frozen=True)
class UpkeepPlan:
    steps: list[UpkeepStep]
    conflicts: int
    notes: list[str]


@dataclass(frozen=True)
class UpkeepReport:
    cycle: str
    state: str
    changed: int
    merged_away: int
    conflicts: int
    summary: str
    notes: list[str]


@dataclass(frozen=True)
class UpkeepUndo:
    cycle: str
    restored: list[str]
    left: list[str]


class GardenTools:
    """For a server that holds all of an owner's memory: upkeep knows no smaller part."""

    def __init__(self, bound: ScopedEngine) -> None:
        if not bound.root.is_owner:
            raise RefusedError("This server is held to a part of a memory; upkeep is for all of it.", hint="Leave --project out.")
        self._bound, self._engine = bound, bound.engine

    def install(self, server: MCPServer[Any]) -> None:
        for name, hints in _TOOLS.items():
            server.add_tool(with_tool_errors(getattr(self, name)), annotations=hints, structured_output=True)

    def list_conflicts(self) -> ConflictsOutput:
        """Statements about the person that cannot both be so. Ask them which one holds; never guess."""
        return ConflictsOutput([_to_conflict(each) for each in self._engine.garden.conflicts(self._bound.root)])

    def settle_conflict(
        self, one: Id, other: Id, keep: Annotated[str, Field(description="The id of the one that holds; empty: both stay.")] = ""
    ) -> DecisionOutput:
        """Settle a conflict as the person said. The one that is not kept becomes history."""
        dropped = self._engine.garden.decide(one, other, scope=self._bound.root, keep=keep)
        return DecisionOutput(dropped.id if dropped else None)

    def plan_upkeep(self) -> UpkeepPlan:
        """What upkeep would do now: merge what says the same, put away what nobody believes. Changes nothing."""
        plan = self._engine.garden.plan(self._bound.root)
        steps = [UpkeepStep(step.verb, list(step.ids), list(step.texts), step.reason) for step in plan.steps]
        return UpkeepPlan(steps, len(plan.conflicts), list(plan.notes))

    def run_upkeep(self) -> UpkeepReport:
        """Do what plan_upkeep shows. Nothing is erased, and undo_upkeep takes it back."""
        made = self._engine.garden.run(self._bound.root)
        return UpkeepReport(made.id, made.state, made.modified, made.compactions, made.conflicts, made.summary, list(made.notes))

    def undo_upkeep(
        self, cycle: Annotated[str, Field(description="A report's cycle; empty: the last that changed something.")] = ""
    ) -> UpkeepUndo:
        """Take upkeep back: what it changed is as before, but for what was changed since."""
        done = self._engine.garden.undo(self._bound.root, cycle)
        return UpkeepUndo(done.cycle, list(done.restored), list(done.left))


def _to_conflict(conflict: StatementConflict) -> ConflictOutput:
    sides = [ConflictStatement(each.id, each.text, each.recorded_at.isoformat()) for each in (conflict.one, conflict.other)]
    return ConflictOutput(sides[0], sides[1], conflict.reason, conflict.keep)
