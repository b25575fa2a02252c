"""Commands garden: plan, run and undo upkeep of memory."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.core.tellers_clock import told_at
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, fit_line, note, paint, print_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engrams.engine.answer_types import GardenCycleReport, PlannedGardenStep, StatementConflict

app = new_app()
garden = new_app()
app.add_typer(
    garden, name="garden", help="Maintain memory: plan, run or undo merging, pruning and linking."
)

Jobs = Annotated[
    list[str] | None,
    typer.Option(
        "--job", help="Only this job; a wrong name lists them. Repeatable.", metavar="NAME"
    ),
]


@garden.command()
@flatten_options
def plan(options: GlobalOptions, job: Jobs = None) -> None:
    """Show what a cycle would do now. Nothing is changed."""
    with options.open() as (engine, scope):
        cycle_plan = engine.garden.plan(scope, job or ())
    if options.json:
        emit(
            {
                "steps": [step.to_dict() for step in cycle_plan.steps],
                "conflicts": [conflict.to_dict() for conflict in cycle_plan.conflicts],
                "notes": cycle_plan.notes,
            }
        )
        return
    _print_steps(cycle_plan.steps)
    if cycle_plan.conflicts:
        note(
            f"{len(cycle_plan.conflicts)} contradictions wait for a decision: `engrams garden conflicts`."
        )
    for line in cycle_plan.notes:
        note(line)


@garden.command()
@flatten_options
def run(options: GlobalOptions, job: Jobs = None) -> None:
    """Run a cycle now. `engrams garden undo` takes it back."""
    with options.open() as (engine, scope):
        report = engine.garden.run(scope, job or ())
    if options.json:
        emit(report)
    else:
        _print_report(report)


@garden.command()
@flatten_options
def undo(
    options: GlobalOptions,
    cycle: Annotated[
        str,
        typer.Argument(
            help="The cycle's id. Default: the last cycle that changed something.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Undo a cycle, except for memories changed since."""
    with options.open() as (engine, scope):
        undone = engine.garden.undo(scope, cycle)
    if options.json:
        emit(undone)
        return
    say(f"{paint('undone', 'green')}  {len(undone.restored)} memories restored.")
    for id in undone.left:
        note(f"{id} was changed since then and stays as it is.")


@garden.command()
@flatten_options
def status(options: GlobalOptions) -> None:
    """Show the last cycles, the queue and the tokens used."""
    with options.open() as (engine, scope):
        cycle_status = engine.garden.status(scope)
        reports = engine.garden.reports(scope)
    if options.json:
        emit(cycle_status)
        return
    say(
        f"{paint(cycle_status['state'], 'bold')}  {cycle_status['usage']['tokens']:,} tokens in the last day"
    )
    if cycle_status["state"] == "disabled":
        note(
            "Cycles do not start automatically: `--set garden.enabled=true`, or `garden.enabled ="
            " true` in config.toml."
        )
    for report in reports:
        _print_report(report)
    if cycle_status["queue"]:
        rows = [
            [entry["id"], entry["at"][:16], str(entry["priority"]), clean(entry["why"])]
            for entry in cycle_status["queue"]
        ]
        print_table(("id", "at", "priority", "why"), rows)


@garden.command()
@flatten_options
def conflicts(options: GlobalOptions) -> None:
    """List contradictions: statements that cannot both be true."""
    with options.open() as (engine, scope):
        open_conflicts = engine.garden.conflicts(scope)
    if options.json:
        emit({"conflicts": [conflict.to_dict() for conflict in open_conflicts]})
    elif open_conflicts:
        _print_conflicts(open_conflicts)
        option = f" --space {clean(options.space)}" if options.space else ""
        note(
            f"`engrams garden decide ONE OTHER --keep ONE{option}` resolves one; without --keep both"
            " stay."
        )
    else:
        say("No contradictions.")


@garden.command()
@flatten_options
def decide(
    first_id: Annotated[str, typer.Argument(help="The memory's id.", metavar="ONE")],
    second_id: Annotated[str, typer.Argument(help="The memory's id.", metavar="OTHER")],
    options: GlobalOptions,
    keep: Annotated[
        str, typer.Option(help="The id of the true statement. Default: both stay.", metavar="ID")
    ] = "",
) -> None:
    """Resolve a contradiction."""
    with options.open() as (engine, scope):
        full_ids = {
            id: engine.get(id, scope=scope).id
            for id in (first_id, second_id, *([keep] if keep else []))
        }
        dropped = engine.garden.decide(
            full_ids[first_id],
            full_ids[second_id],
            scope=scope,
            keep=full_ids[keep] if keep else "",
        )
    if options.json:
        emit({"dropped": dropped.id if dropped else None})
    else:
        say(f"{paint('superseded', 'yellow')}  {dropped.id}" if dropped else "Both stay.")


@garden.command()
@flatten_options
def wake(
    options: GlobalOptions,
    minutes: Annotated[float, typer.Argument(min=0, help="Minutes from now.")] = 0,
    priority: Annotated[int, typer.Option(help="A higher priority runs first.", metavar="N")] = 0,
    why: Annotated[str, typer.Option(help="The reason.", metavar="TEXT")] = "",
) -> None:
    """Schedule a cycle.

    `engrams serve`, or any other process that works, runs it then.
    """
    with options.open() as (engine, scope):
        id = engine.garden.wake(
            scope, engine.now() + timedelta(minutes=minutes), priority=priority, why=why
        )
    if options.json:
        emit({"id": id})
    else:
        say(id)


@garden.command()
@flatten_options
def cancel(
    ids: Annotated[
        list[str], typer.Argument(help="Entries, as `engrams garden status` shows them.")
    ],
    options: GlobalOptions,
) -> None:
    """Remove entries from the queue."""
    with options.open() as (engine, scope):
        number = engine.garden.cancel(ids, scope=scope)
    if options.json:
        emit({"cancelled": number})
    else:
        say(f"{number} cancelled.")


@garden.command()
@flatten_options
def pause(options: GlobalOptions) -> None:
    """Pause scheduled cycles until `engrams garden resume`."""
    _set_paused(options, on=True)


@garden.command()
@flatten_options
def resume(options: GlobalOptions) -> None:
    """Resume scheduled cycles."""
    _set_paused(options, on=False)


def _set_paused(options: GlobalOptions, *, on: bool) -> None:
    with options.open() as (engine, scope):
        status = engine.garden.pause(scope, on=on)
    if options.json:
        emit(status)
    else:
        say(str(status["state"]))


def _print_steps(steps: Sequence[PlannedGardenStep]) -> None:
    if not steps:
        say("Nothing to do.")
        return
    rows = []
    for step in steps:
        survivor, *absorbed = step.texts
        memories = (
            f"{survivor} <- {' | '.join(absorbed)}"
            if step.verb == "merge"
            else " | ".join(step.texts)
        )
        rows.append([step.job, step.verb, fit_line(clean(memories), 80), clean(step.reason)])
    print_table(("job", "does", "memories", "why"), rows)


def _print_conflicts(conflicts: Sequence[StatementConflict]) -> None:
    rows = []
    for conflict in conflicts:
        for side in (conflict.earlier, conflict.later):
            rows += [
                [
                    side.id,
                    f"{told_at(side):%Y-%m-%d}",
                    "newer" if side.id == conflict.keep else "",
                    clean(side.text),
                ]
            ]
        rows.append(["", "", "", paint(clean(conflict.reason), "dim")])
    print_table(("id", "since", "", "statement"), rows)


def _print_report(report: GardenCycleReport) -> None:
    summary = (
        ", ".join(f"{job} {number}" for job, number in report.jobs.items() if number)
        or "nothing to do"
    )
    colour = "green" if report.state == "complete" else "yellow"
    say(
        f"{paint(report.state, colour)}  {report.id}  {report.modified} changed,"
        f" {report.compactions} merged away: {summary}"
    )
    for line in (report.summary, *report.notes):
        if line:
            note(clean(line))
    if report.conflicts:
        note(f"{report.conflicts} contradictions wait for a decision: `engrams garden conflicts`.")
