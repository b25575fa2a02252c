"""Tool profile ``garden``: contradictions and upkeep of a whole memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from engrams.errors import RefusedError
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    READS,
    WRITES,
    ScopedEngine,
)

if TYPE_CHECKING:
    from engrams.engine.answer_types import StatementConflict

_TOOLS = {
    "list_conflicts": READS,
    "settle_conflict": CHANGES,
    "plan_upkeep": READS,
    "run_upkeep": WRITES,
    "undo_upkeep": CHANGES,
}

Id = Annotated[
    str, Field(description="A statement's id, as list_conflicts gives it.", min_length=1)
]


@dataclass(frozen=True)
class ConflictingStatementOutput:
    id: str
    text: str
    at: str


@dataclass(frozen=True)
class StatementConflictOutput:
    """Two contradicting statements; ``newer``: the id kept by default."""

    one: ConflictingStatementOutput
    other: ConflictingStatementOutput
    reason: str
    newer: str


@dataclass(frozen=True)
class StatementConflictListOutput:
    conflicts: list[StatementConflictOutput]


@dataclass(frozen=True)
class ConflictDecisionOutput:
    """Result of settling a conflict; ``put_away``: the superseded id, or null."""

    put_away: str | None


@dataclass(frozen=True)
class UpkeepStepOutput:
    verb: str
    ids: list[str]
    texts: list[str]
    reason: str


@dataclass(frozen=True)
class UpkeepPlanOutput:
    steps: list[UpkeepStepOutput]
    conflicts: int
    notes: list[str]


@dataclass(frozen=True)
class UpkeepRunOutput:
    cycle: str
    state: str
    changed: int
    merged_away: int
    conflicts: int
    summary: str
    notes: list[str]


@dataclass(frozen=True)
class UpkeepUndoOutput:
    cycle: str
    restored: list[str]
    left: list[str]


class GardenTools:
    """Serve upkeep of an owner's whole memory; no smaller scope."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        if not scoped.root.is_owner:
            raise RefusedError(
                "This server is limited to a part of a memory; upkeep needs all of it.",
                hint="Leave --project out.",
            )
        self._scoped = scoped
        self._engine = scoped.engine

    def list_conflicts(self) -> StatementConflictListOutput:
        """List contradictions about the person.

        Ask them which statement is true; never guess.
        """
        return StatementConflictListOutput(
            [
                _to_conflict(conflict)
                for conflict in self._engine.garden.conflicts(self._scoped.root)
            ]
        )

    def settle_conflict(
        self,
        one: Id,
        other: Id,
        keep: Annotated[str, Field(description="The id of the true one. Empty: both stay.")] = "",
    ) -> ConflictDecisionOutput:
        """Resolve a contradiction as the person said.

        The statement that is not kept is superseded; its history stays.
        """
        dropped = self._engine.garden.decide(one, other, scope=self._scoped.root, keep=keep)
        return ConflictDecisionOutput(dropped.id if dropped else None)

    def plan_upkeep(self) -> UpkeepPlanOutput:
        """Plan upkeep: merge duplicates, archive doubtful facts. Changes nothing."""
        plan = self._engine.garden.plan(self._scoped.root)
        steps = [
            UpkeepStepOutput(step.verb, list(step.ids), list(step.texts), step.reason)
            for step in plan.steps
        ]
        return UpkeepPlanOutput(steps, len(plan.conflicts), list(plan.notes))

    def run_upkeep(self) -> UpkeepRunOutput:
        """Run what plan_upkeep shows. Nothing is erased; undo_upkeep reverts it."""
        report = self._engine.garden.run(self._scoped.root)
        return UpkeepRunOutput(
            cycle=report.id,
            state=report.state,
            changed=report.modified,
            merged_away=report.compactions,
            conflicts=report.conflicts,
            summary=report.summary,
            notes=list(report.notes),
        )

    def undo_upkeep(
        self,
        cycle: Annotated[
            str, Field(description="A report's cycle; empty: the last that changed something.")
        ] = "",
    ) -> UpkeepUndoOutput:
        """Undo an upkeep run, except for memories changed since."""
        result = self._engine.garden.undo(self._scoped.root, cycle)
        return UpkeepUndoOutput(result.cycle, list(result.restored), list(result.left))


def _to_conflict(conflict: StatementConflict) -> StatementConflictOutput:
    earlier, later = (
        ConflictingStatementOutput(record.id, record.text, record.recorded_at.isoformat())
        for record in (conflict.earlier, conflict.later)
    )
    return StatementConflictOutput(earlier, later, conflict.reason, conflict.keep)


PROFILE = McpProfile(
    instructions=(
        "The upkeep of one person's long-term memory: contradictions for them to decide, and"
        " maintenance."
    ),
    families=(GardenTools,),
)
