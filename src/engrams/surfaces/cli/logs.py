"""Commands shared by the logs: list and purge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engrams.core.log_enums import LogWriteOutcome
from engrams.errors import StoreError
from engrams.surfaces.cli.confirm import confirm_erase
from engrams.surfaces.cli.filter_options import parse_when
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import (
    clean,
    emit,
    format_time,
    note,
    print_table,
    say,
)

if TYPE_CHECKING:
    from engrams.admin import CrisisLog, FeedbackLog
    from engrams.settings import Settings


@dataclass(frozen=True)
class LogFilterOptions:
    """Options that select records of a log."""

    day: Annotated[
        str | None, typer.Option(help="Only this day, UTC.", show_default=False, metavar="DAY")
    ] = None
    since: Annotated[
        str | None, typer.Option(help="From this day on.", show_default=False, metavar="DAY")
    ] = None
    until: Annotated[
        str | None, typer.Option(help="To this day.", show_default=False, metavar="DAY")
    ] = None
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")
    ] = 100
    session: Annotated[
        str,
        typer.Option(
            help="Only of the session with this name.", show_default=False, metavar="NAME"
        ),
    ] = ""

    def to_query(self, user: str | None) -> dict[str, Any]:
        """Return the arguments of a log's ``list``. InputError: no day."""
        from engrams.core import Scope

        texts = {"day": self.day, "since": self.since, "until": self.until}
        days = {
            name: _parse_day(text, f"--{name}") for name, text in texts.items() if text is not None
        }
        return {
            "owner": "" if user is None else Scope(("user", user)).key,
            "session": self.session,
            "limit": self.limit,
            **days,
        }


@dataclass(frozen=True)
class LogCommands:
    """Names, help and columns of the commands of one log."""

    name: str
    """First word of each command, and the log's name in the audit log."""
    help: str
    columns: Mapping[str, str]
    """Heading of each column -> field of a record."""
    open_log: Callable[[Settings], CrisisLog | FeedbackLog]
    """Opens the log; the command closes it."""


def new_log_group(app: typer.Typer, commands: LogCommands) -> typer.Typer:
    """Create the commands ``NAME list`` and ``NAME purge`` of a log; return the group, for more."""
    group = new_app()
    app.add_typer(group, name=commands.name, help=commands.help)

    @group.command(name="list")
    @flatten_options
    def list_(options: GlobalOptions, filters: LogFilterOptions) -> None:
        """List records, newest first: everybody's, or only --user's."""
        with closing(commands.open_log(options.load().settings)) as log:
            records = log.list(**filters.to_query(options.user))
        if options.json:
            emit({"records": records})
        elif records:
            print_table(
                list(commands.columns),
                [
                    [_format_cell(record, field) for field in commands.columns.values()]
                    for record in records
                ],
            )
        else:
            note("Nothing here.")

    @group.command()
    @flatten_options
    def purge(
        options: GlobalOptions,
        before: Annotated[
            str, typer.Option(help="The first day (UTC) that is kept.", metavar="DAY")
        ],
        confirm: Annotated[
            str,
            typer.Option(
                help="The word `purge`, in place of the question.",
                show_default=False,
                metavar="WORD",
            ),
        ] = "",
    ) -> None:
        """Erase everybody's records from before a day."""
        from engrams import admin

        settings = options.load().settings
        day = _parse_day(before, "--before")
        confirm_erase(f"every record before {day}", confirm)
        with closing(commands.open_log(settings)) as log:
            number = log.purge(day)
        if options.json:
            emit({"purged": number})
        else:
            say(f"{number} records erased.")
        with closing(admin.open_audit_log(settings)) as audit_log:
            audit_log.note(f"{commands.name}.purge", number=number)

    return group


def print_outcome(options: GlobalOptions, outcome: LogWriteOutcome | None) -> None:
    """Print the outcome of an added record. StoreError: it is lost."""
    if outcome is LogWriteOutcome.LOST:
        raise StoreError(
            "The record could not be written.", hint="The line above gives the reason."
        )
    if options.json:
        emit({"outcome": outcome})
    else:
        say(str(outcome))


def _format_cell(record: object, field: str) -> str:
    value = getattr(record, field)
    if isinstance(value, datetime):
        return format_time(value)
    return clean(str(value or ""))[: 12 if field == "session" else None]


def _parse_day(text: str, option: str) -> date:
    moment = parse_when(text, option)
    assert moment is not None
    return moment.astimezone(UTC).date()
