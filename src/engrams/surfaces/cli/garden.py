"""garden: what is looked after between conversations; see it, run it, take it back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, fit_line, note, paint, print_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engrams.build import CycleReport, GardenStep, StatementConflict

app = new_app()
garden = new_app()
app.add_typer(garden, name="garden", help="Look after memory: merge, prune, link; plan, run, undo.")

Jobs = Annotated[list[str] | None, typer.Option("--job", help="Only this job; a wrong one lists them. Repeatable.", metavar="NAME")]
Id = Annotated[str, typer.Argument(help="The memory's id.")]


@garden.command()
@flatten_options
def plan(frame: GlobalOptions, job: Jobs = None) -> None:
    """Show what a cycle would do now. Nothing is changed."""
    with frame.open() as (engine, scope):
        made = engine.garden.plan(scope, job or ())
    if frame.json:
        emit(
            {"steps": [step.to_dict() for step in made.steps], "conflicts": [one.to_dict() for one in made.conflicts], "notes": made.notes}
        )
        return
    _print_steps(made.steps)
    if made.conflicts:
        note(f"{len(made.conflicts)} conflicts wait for a decision: `engrams garden conflicts`.")
    for each in made.notes:
        note(each)


@garden.command()
@flatten_options
def run(frame: GlobalOptions, job: Jobs = None) -> None:
    """Run a cycle now. `engrams garden undo` takes it back."""
    with frame.open() as (engine, scope):
        report = engine.garden.run(scope, job or ())
    emit(report) if frame.json else _print_report(report)


@garden.command()
@flatten_options
def undo(
    frame: GlobalOptions,
    cycle: Annotated[str, typer.Argument(help="The cycle's id; without one the last that changed something.", show_default=False)] = "",
) -> None:
    """Take a cycle back: what it changed is as before, but for what was changed since."""
    with frame.open() as (engine, scope):
        done = engine.garden.undo(scope, cycle)
    if frame.json:
        emit(done)
        return
    say(f"{paint('undone', 'green')}  {len(done.restored)} memories are as before.")
    for id in done.left:
        note(f"{id} was changed since, and stays as it is.")


@garden.command()
@flatten_options
def status(frame: GlobalOptions) -> None:
    """Show how the garden stands: the last cycle, the next one, what was spent."""
    with frame.open() as (engine, scope):
        now = engine.garden.status(scope)
        reports = engine.garden.reports(scope)
    if frame.json:
        emit(now)
        return
    say(f"{paint(now['state'], 'bold')}  {now['usage']['tokens']:,} tokens in the last day")
    if now["state"] == "disabled":
        note("No cycle begins by itself: `--set garden.enabled=true`, or `garden.enabled = true` in config.toml.")
    for report in reports:
        _print_report(report)
    if now["queue"]:
        rows = [[one["id"], one["at"][:16], str(one["priority"]), clean(one["why"])] for one in now["queue"]]
        print_table(("id", "at", "priority", "why"), rows)


@garden.command()
@flatten_options
def conflicts(frame: GlobalOptions) -> None:
    """List statements that cannot both be so."""
    with frame.open() as (engine, scope):
        found = engine.garden.conflicts(scope)
    if frame.json:
        emit({"conflicts": [one.to_dict() for one in found]})
    elif found:
        _print_conflicts(found)
        note("`engrams garden decide ONE OTHER --keep ONE` settles one; without --keep both stay.")
    else:
        say("No conflicts.")


@garden.command()
@flatten_options
def decide(
    one: Id,
    other: Id,
    frame: GlobalOptions,
    keep: Annotated[str, typer.Option(help="The one that holds; without it both stay.", metavar="ID")] = "",
) -> None:
    """Settle a conflict."""
    with frame.open() as (engine, scope):
        full = {id: engine.get(id, scope=scope).id for id in (one, other, *([keep] if keep else []))}
        dropped = engine.garden.decide(full[one], full[other], scope=scope, keep=full[keep] if keep else "")
    if frame.json:
        emit({"dropped": dropped.id if dropped else None})
    else:
        say(f"{paint('put away', 'yellow')}  {dropped.id}" if dropped else "Both stay.")


@garden.command()
@flatten_options
def wake(
    frame: GlobalOptions,
    minutes: Annotated[float, typer.Argument(min=0, help="How long from now.")] = 0,
    priority: Annotated[int, typer.Option(help="A higher one goes first.", metavar="N")] = 0,
    why: Annotated[str, typer.Option(help="What it is for.", metavar="TEXT")] = "",
) -> None:
    """Have a cycle begin at a time; `engrams serve` or any other process that works then runs it."""
    with frame.open() as (engine, scope):
        id = engine.garden.wake(scope, engine.now() + timedelta(minutes=minutes), priority=priority, why=why)
    emit({"id": id}) if frame.json else say(id)


@garden.command()
@flatten_options
def cancel(ids: Annotated[list[str], typer.Argument(help="Entries, as `engrams garden status` shows them.")], frame: GlobalOptions) -> None:
    """Take entries off the queue."""
    with frame.open() as (engine, scope):
        number = engine.garden.cancel(ids, scope=scope)
    emit({"cancelled": number}) if frame.json else say(f"{number} cancelled.")


@garden.command()
@flatten_options
def pause(frame: GlobalOptions) -> None:
    """Let no cycle begin by itself until `engrams garden resume`."""
    _set_paused(frame, on=True)


@garden.command()
@flatten_options
def resume(frame: GlobalOptions) -> None:
    """Let cycles begin by themselves again."""
    _set_paused(frame, on=False)


def _set_paused(frame: GlobalOptions, *, on: bool) -> None:
    with frame.open() as (engine, scope):
        now = engine.garden.pause(scope, on=on)
    emit(now) if frame.json else say(str(now["state"]))


def _print_steps(steps: Sequence[GardenStep]) -> None:
    if not steps:
        say("Nothing to do.")
        return
    rows = []
    for step in steps:
        first, *rest = step.texts
        shown = f"{first} <- {' | '.join(rest)}" if step.verb == "merge" else " | ".join(step.texts)
        rows.append([step.job, step.verb, fit_line(clean(shown), 80), clean(step.reason)])
    print_table(("job", "does", "memories", "why"), rows)


def _print_conflicts(found: Sequence[StatementConflict]) -> None:
    rows = []
    for each in found:
        for side in (each.one, each.other):
            rows += [[side.id, f"{side.recorded_at:%Y-%m-%d}", "would hold" if side.id == each.keep else "", clean(side.text)]]
        rows.append(["", "", "", paint(clean(each.reason), "dim")])
    print_table(("id", "since", "", "statement"), rows)


def _print_report(report: CycleReport) -> None:
    did = ", ".join(f"{job} {number}" for job, number in report.jobs.items() if number) or "nothing to do"
    colour = "green" if report.state == "complete" else "yellow"
    say(f"{paint(report.state, colour)}  {report.id}  {report.modified} changed, {report.compactions} merged away: {did}")
    for line in (report.summary, *report.notes):
        if line:
            note(clean(line))
    if report.conflicts:
        note(f"{report.conflicts} conflicts wait for a decision: `engrams garden conflicts`.")
