"""feedback: what people thought of their sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.logs import LogDayOptions, parse_day, print_outcome, purge_records
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_time, note, print_table
from engrams.types.logs import Label, Modality, Source

app = new_app()
feedback = new_app()
app.add_typer(feedback, name="feedback", help="Keep, list and purge what people thought of their sessions.")


@feedback.command()
@flatten_options
def add(
    session: Annotated[str, typer.Argument(help="The session's name, of which only a hash is kept.")],
    label: Annotated[Label, typer.Argument(help="What they thought of it.")],
    frame: GlobalOptions,
    source: Annotated[Source, typer.Option(help="Where they said so.")] = Source.API,
    modality: Annotated[Modality, typer.Option(help="How the session was held.")] = Modality.TEXT,
    id: Annotated[str, typer.Option(help="The same id is kept once.", show_default=False, metavar="ID")] = "",
) -> None:
    """Keep what one person (--user) thought of a session. Memory does not change for it."""
    from engrams import build
    from engrams.types import Scope

    settings = frame.load().settings
    owner = Scope(frame.scope(settings)).owner.key
    print_outcome(frame, build.feedback(settings).add(session, label, source=source, modality=modality, owner=owner, id=id))


@feedback.command(name="list")
@flatten_options
def list_(
    frame: GlobalOptions,
    days: LogDayOptions,
    session: Annotated[str, typer.Option(help="Only of the session with this name.", show_default=False, metavar="NAME")] = "",
) -> None:
    """List what was thought, newest first: everybody's, or only --user's."""
    from engrams import build

    settings = frame.load().settings
    found = build.feedback(settings).list(owner=days.owner(frame), session=session, **days.to_query())
    if frame.json:
        emit({"records": found})
        return
    if not found:
        note("Nothing here.")
        return
    rows = [[format_time(each.at), each.label, each.source, each.modality, clean(each.owner or ""), each.session[:12]] for each in found]
    print_table(["given", "label", "source", "modality", "owner", "session"], rows)


@feedback.command()
@flatten_options
def purge(
    frame: GlobalOptions,
    before: Annotated[str, typer.Option(help="The first day, UTC, whose records stay.", metavar="DAY")],
    confirm: Annotated[str, typer.Option(help="The word `purge`, in place of the question.", show_default=False, metavar="WORD")] = "",
) -> None:
    """Erase everybody's records of the days before one."""
    from engrams import build

    settings = frame.load().settings
    number = purge_records(frame, build.feedback(settings).purge, parse_day(before, "--before"), confirm)
    build.audit(settings).note("feedback.purge", number=number)
