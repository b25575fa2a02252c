"""What the commands of the logs share: which days, whose, what became of a record, the question before anything is erased."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date
from typing import Annotated, Any

import typer

from engrams.errors import StoreError
from engrams.surfaces.cli.filters import parse_when
from engrams.surfaces.cli.options import GlobalOptions
from engrams.surfaces.cli.output import confirm_erase, emit, say
from engrams.types.logs import Kept


@dataclass(frozen=True)
class LogDayOptions:
    """Which records of a log."""

    day: Annotated[str | None, typer.Option(help="Only this day, UTC.", show_default=False, metavar="DAY")] = None
    since: Annotated[str | None, typer.Option(help="From this day on.", show_default=False, metavar="DAY")] = None
    until: Annotated[str | None, typer.Option(help="To this day.", show_default=False, metavar="DAY")] = None
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.", metavar="N")] = 100

    def to_query(self) -> dict[str, Any]:
        """The arguments of a log's ``list``. InputError: one is no day."""
        given = {"day": self.day, "since": self.since, "until": self.until}
        return {"limit": self.limit, **{name: parse_day(text, f"--{name}") for name, text in given.items() if text is not None}}

    @staticmethod
    def owner(frame: GlobalOptions) -> str:
        """The owner whose records are wanted; empty where nobody is named: everybody's."""
        from engrams.types import Scope

        return "" if frame.user is None else Scope(("user", frame.user)).key


def parse_day(text: str, option: str) -> date:
    """A day given on the command line; of a time, its day in UTC. InputError where it is none."""
    moment = parse_when(text, option)
    assert moment is not None
    return moment.astimezone(UTC).date()


def print_outcome(frame: GlobalOptions, outcome: Kept | None) -> None:
    """What became of a record. StoreError: it is lost."""
    if outcome is Kept.LOST:
        raise StoreError("The record could not be written.", hint="The line above says why.")
    emit({"outcome": outcome}) if frame.json else say(str(outcome))


def purge_records(frame: GlobalOptions, purge: Callable[[date], int], before: date, word: str) -> int:
    """Erase and tell how many. RefusedError: the exact word was not given."""
    confirm_erase(f"every record before {before}", word)
    number = purge(before)
    emit({"purged": number}) if frame.json else say(f"{number} records erased.")
    return number
