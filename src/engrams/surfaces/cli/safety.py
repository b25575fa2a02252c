"""safety: crises that were noticed, without a word of what was said."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.logs import Days, first, purged, told
from engrams.surfaces.cli.options import Frame, commands, spread
from engrams.surfaces.cli.output import clean, day, emit, note, table
from engrams.types.logs import Classifier, Severity

app = commands()
safety = commands()
app.add_typer(safety, name="safety", help="Keep, list and purge the log of crises that were noticed.")


@safety.command()
@spread
def add(
    session: Annotated[str, typer.Argument(help="The session's name, of which only a hash is kept.")],
    frame: Frame,
    classifier: Annotated[Classifier, typer.Option(help="What noticed it.")] = Classifier.PERSON,
    severity: Annotated[Severity, typer.Option(help="How grave it is.")] = Severity.MODERATE,
    reason: Annotated[str, typer.Option(help="In the classifier's words, never the person's.", show_default=False, metavar="TEXT")] = "",
    id: Annotated[str, typer.Option(help="The same id is kept once.", show_default=False, metavar="ID")] = "",
) -> None:
    """Keep that a crisis was noticed in a session of one person (--user)."""
    from engrams import build
    from engrams.types import Scope

    settings = frame.load().settings
    owner = Scope(frame.scope(settings)).owner.key
    log = build.safety(settings)
    told(frame, log.append_once(session, classifier=classifier, severity=severity, reason=reason, owner=owner, id=id))


@safety.command(name="list")
@spread
def list_(
    frame: Frame,
    days: Days,
    session: Annotated[str, typer.Option(help="Only of the session with this name.", show_default=False, metavar="NAME")] = "",
) -> None:
    """List what was noticed, newest first: everybody's, or only --user's."""
    from engrams import build

    settings = frame.load().settings
    found = build.safety(settings).list(owner=days.owner(frame), session=session, **days.asked())
    if frame.json:
        emit({"records": found})
        return
    if not found:
        note("Nothing here.")
        return
    rows = [[day(each.at), each.severity, each.classifier, clean(each.owner or ""), each.session[:12], each.reason] for each in found]
    table(["noticed", "severity", "by", "owner", "session", "reason"], rows)


@safety.command()
@spread
def purge(
    frame: Frame,
    before: Annotated[str, typer.Option(help="The first day, UTC, whose records stay.", metavar="DAY")],
    confirm: Annotated[str, typer.Option(help="The word `purge`, in place of the question.", show_default=False, metavar="WORD")] = "",
) -> None:
    """Erase everybody's records of the days before one."""
    from engrams import build

    settings = frame.load().settings
    number = purged(frame, build.safety(settings).purge, first(before, "--before"), confirm)
    build.audit(settings).note("safety.purge", number=number)
