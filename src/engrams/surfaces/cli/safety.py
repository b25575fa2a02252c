"""safety: crises that were noticed, without a word of what was said."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.logs import LogDayOptions, parse_day, print_outcome, purge_records
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, format_time, note, print_table
from engrams.types.logs import Classifier, Severity

app = new_app()
safety = new_app()
app.add_typer(safety, name="safety", help="Keep, list and purge the log of crises that were noticed.")


@safety.command()
@flatten_options
def add(
    session: Annotated[str, typer.Argument(help="The session's name, of which only a hash is kept.")],
    frame: GlobalOptions,
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
    print_outcome(frame, log.append_once(session, classifier=classifier, severity=severity, reason=reason, owner=owner, id=id))


@safety.command(name="list")
@flatten_options
def list_(
    frame: GlobalOptions,
    days: LogDayOptions,
    session: Annotated[str, typer.Option(help="Only of the session with this name.", show_default=False, metavar="NAME")] = "",
) -> None:
    """List what was noticed, newest first: everybody's, or only --user's."""
    from engrams import build

    settings = frame.load().settings
    found = build.safety(settings).list(owner=days.owner(frame), session=session, **days.to_query())
    if frame.json:
        emit({"records": found})
        return
    if not found:
        note("Nothing here.")
        return
    rows = [
        [format_time(each.at), each.severity, each.classifier, clean(each.owner or ""), each.session[:12], each.reason] for each in found
    ]
    print_table(["noticed", "severity", "by", "owner", "session", "reason"], rows)


@safety.command()
@flatten_options
def purge(
    frame: GlobalOptions,
    before: Annotated[str, typer.Option(help="The first day, UTC, whose records stay.", metavar="DAY")],
    confirm: Annotated[str, typer.Option(help="The word `purge`, in place of the question.", show_default=False, metavar="WORD")] = "",
) -> None:
    """Erase everybody's records of the days before one."""
    from engrams import build

    settings = frame.load().settings
    number = purge_records(frame, build.safety(settings).purge, parse_day(before, "--before"), confirm)
    build.audit(settings).note("safety.purge", number=number)
