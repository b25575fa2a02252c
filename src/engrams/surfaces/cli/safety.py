"""safety: the log of detected crises; it holds no quotes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity
from engrams.surfaces.cli.logs import LogCommands, new_log_group, print_outcome
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

if TYPE_CHECKING:
    from engrams.admin import CrisisLog
    from engrams.settings import Settings

_COLUMNS = {
    "detected": "at",
    "severity": "severity",
    "by": "classifier",
    "owner": "owner",
    "session": "session",
    "reason": "reason",
}

app = new_app()


def _open_log(settings: Settings) -> CrisisLog:
    from engrams.admin import open_safety_log

    return open_safety_log(settings)


safety = new_log_group(
    app,
    LogCommands(
        name="safety",
        help="Store, list and purge records of detected crises.",
        columns=_COLUMNS,
        open_log=_open_log,
    ),
)


@safety.command()
@flatten_options
def add(
    session: Annotated[str, typer.Argument(help="The session's name; only its hash is stored.")],
    options: GlobalOptions,
    classifier: Annotated[
        CrisisDetectionSource, typer.Option(help="The source of the detection.")
    ] = CrisisDetectionSource.PERSON,
    severity: Annotated[
        CrisisSeverity, typer.Option(help="How severe it is.")
    ] = CrisisSeverity.MODERATE,
    reason: Annotated[
        str,
        typer.Option(
            help="In the classifier's words, never the person's.",
            show_default=False,
            metavar="TEXT",
        ),
    ] = "",
    id: Annotated[
        str, typer.Option(help="The same id is stored once.", show_default=False, metavar="ID")
    ] = "",
) -> None:
    """Store that a crisis was detected in one person's (--user) session."""
    from engrams.core import Scope

    settings = options.load().settings
    owner = Scope(options.scope(settings)).owner.key
    with closing(_open_log(settings)) as log:
        outcome = log.append_once(
            session, classifier=classifier, severity=severity, reason=reason, owner=owner, id=id
        )
    print_outcome(options, outcome)
