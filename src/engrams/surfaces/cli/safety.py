"""safety: the log of detected crises; it holds no quotes."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity
from engrams.surfaces.cli.logs import new_log_group, print_outcome
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

_COLUMNS = {
    "detected": "at",
    "severity": "severity",
    "by": "classifier",
    "owner": "owner",
    "session": "session",
    "reason": "reason",
}

app = new_app()
safety = new_log_group(app, "safety", "Store, list and purge records of detected crises.", _COLUMNS)


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
    from engrams import composition
    from engrams.core import Scope

    settings = options.load().settings
    owner = Scope(options.scope(settings)).owner.key
    with closing(composition.safety(settings)) as log:
        outcome = log.append_once(
            session, classifier=classifier, severity=severity, reason=reason, owner=owner, id=id
        )
    print_outcome(options, outcome)
