"""list, show, history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from engrams.surfaces.cli.filters import Sift, Times, named
from engrams.surfaces.cli.options import Frame, commands, spread
from engrams.surfaces.cli.output import clean, day, emit, note, paint, plain, say, table
from engrams.surfaces.cli.render import tell_record, who

if TYPE_CHECKING:
    from engrams.types import HistoryEntry

app = commands()

Id = Annotated[str, typer.Argument(help="The memory's id, or its first six characters or more.")]


@app.command(name="list")
@spread
def list_(
    frame: Frame,
    sift: Sift,
    times: Times,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")] = 20,
    text: Annotated[str, typer.Option(help="Only where the text contains this.", show_default=False, metavar="TEXT")] = "",
    status: Annotated[
        list[str] | None,
        typer.Option(
            help="Only with this status (default: active). `all` for every one. Repeatable.", show_default=False, metavar="STATUS"
        ),
    ] = None,
    order: Annotated[Literal["newest", "oldest"], typer.Option(help="Which come first.")] = "newest",
    after: Annotated[str, typer.Option(help="Go on after this id.", show_default=False, metavar="ID")] = "",
) -> None:
    """List memories by what they are, newest first."""
    asked: dict[str, Any] = {"kinds": sift.kinds(), "where": sift.where(), "as_of": times.moment(), "text": text, "limit": limit}
    if status:
        asked["statuses"] = _parse_statuses(status)
    with frame.open() as (engine, scope):
        page = engine.list(scope=scope, order=order, after=after, **asked)
    if frame.json:
        emit({"records": page.records, "next": page.next})
        return
    if not page.records:
        note("Nothing here.")
        return
    rows = [
        [
            record.id,
            day(record.recorded_at),
            record.kind if record.status == "active" else f"{record.kind} {record.status}",
            who(record),
            record.text,
        ]
        for record in page.records
    ]
    table(("id", "when", "kind", "who", "text"), rows, {0: "dim"})
    if page.next:
        note(f"There are more: --after {page.next}")


@app.command()
@spread
def show(id: Id, frame: Frame) -> None:
    """Show one memory with everything known about it, and what happened to it."""
    with frame.open() as (engine, scope):
        record = engine.get(id, scope=scope)
        entries = engine.history(record.id, scope=scope)
    if frame.json:
        emit({"record": record, "history": entries})
        return
    tell_record(record)
    if entries:
        say()
        tell_history(entries)


@app.command()
@spread
def history(id: Id, frame: Frame) -> None:
    """Show every change of one memory, oldest first."""
    with frame.open() as (engine, scope):
        entries = engine.history(id, scope=scope)
    if frame.json:
        emit({"history": entries})
    else:
        tell_history(entries)


def tell_history(entries: tuple[HistoryEntry, ...]) -> None:
    """What happened to a memory, for a person."""
    for entry in entries:
        reason = f": {entry.reason}" if entry.reason else ""
        did = clean(f"{entry.action} by {entry.actor or 'engrams'}{reason}")
        say(f"{paint(day(entry.at), 'dim')}  version {entry.version}  {did}")
        for name, new in plain(entry.after).items():
            old = plain(entry.before).get(name)
            if old != new and name != "version":
                say(
                    f"    {name}: {clean(str(old))} -> {clean(str(new))}" if old not in (None, "", []) else f"    {name}: {clean(str(new))}"
                )


def _parse_statuses(given: list[str]) -> tuple[Any, ...]:
    from engrams.types import Status

    return tuple(Status) if "all" in given else tuple(named(Status, text, "status") for text in given)
