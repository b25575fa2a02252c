"""feedback: what people thought of their sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.logs import Days, first, purged, told
from engrams.surfaces.cli.options import Frame, commands, spread
from engrams.surfaces.cli.output import clean, day, emit, note, table
from engrams.types.logs import Label, Modality, Source

app = commands()
feedback = commands()
app.add_typer(feedback, name="feedback", help="Keep, list and purge what people thought of their sessions.")


@feedback.command()
@spread
def add(
    session: Annotated[str, typer.Argument(help="The session's name, of which only a hash is kept.")],
    label: Annotated[Label, typer.Argument(help="What they thought of it.")],
    frame: Frame,
    source: Annotated[Source, typer.Option(help="Where they said so.")] = Source.API,
    modality: Annotated[Modality, typer.Option(help="How the session was held.")] = Modality.TEXT,
    id: Annotated[str, typer.Option(help="The same id is kept once.", show_default=False, metavar="ID")] = "",
) -> None:
    """Keep what one person (--user) thought of a session. Memory does not change for it."""
    from engrams import build
    from engrams.types import Scope

    settings = frame.load().settings
    owner = Scope(frame.scope(settings)).owner.key
    told(frame, build.feedback(settings).add(session, label, source=source, modality=modality, owner=owner, id=id))


@feedback.command(name="list")
@spread
def list_(
    frame: Frame,
    days: Days,
    session: Annotated[str, typer.Option(help="Only of the session with this name.", show_default=False, metavar="NAME")] = "",
) -> None:
    """List what was thought, newest first: everybody's, or only --user's."""
    from engrams import build

    settings = frame.load().settings
    found = build.feedback(settings).list(owner=days.owner(frame), session=session, **days.asked())
    if frame.json:
        emit({"records": found})
        return
    if not found:
        note("Nothing here.")
        return
    rows = [[day(each.at), each.label, each.source, each.modality, clean(each.owner or ""), each.session[:12]] for each in found]
    table(["given", "label", "source", "modality", "owner", "session"], rows)


@feedback.command()
@spread
def purge(
    frame: Frame,
    before: Annotated[str, typer.Option(help="The first day, UTC, whose records stay.", metavar="DAY")],
    confirm: Annotated[str, typer.Option(help="The word `purge`, in place of the question.", show_default=False, metavar="WORD")] = "",
) -> None:
    """Erase everybody's records of the days before one."""
    from engrams import build

    settings = frame.load().settings
    number = purged(frame, build.feedback(settings).purge, first(before, "--before"), confirm)
    build.audit(settings).note("feedback.purge", number=number)
