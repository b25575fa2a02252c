"""feedback: people's ratings of their sessions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.core.log_enums import FeedbackLabel, FeedbackSource, SessionMedium
from engrams.surfaces.cli.logs import LogCommands, new_log_group, print_outcome
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

if TYPE_CHECKING:
    from engrams.admin import FeedbackLog
    from engrams.settings import Settings

_COLUMNS = {
    "given": "at",
    "label": "label",
    "source": "source",
    "modality": "modality",
    "owner": "owner",
    "session": "session",
}

app = new_app()


def _open_log(settings: Settings) -> FeedbackLog:
    from engrams.admin import open_feedback_log

    return open_feedback_log(settings)


feedback = new_log_group(
    app,
    LogCommands(
        name="feedback",
        help="Store, list and purge people's ratings of their sessions.",
        columns=_COLUMNS,
        open_log=_open_log,
    ),
)


@feedback.command()
@flatten_options
def add(
    session: Annotated[str, typer.Argument(help="The session's name; only its hash is stored.")],
    label: Annotated[FeedbackLabel, typer.Argument(help="The rating.")],
    options: GlobalOptions,
    source: Annotated[
        FeedbackSource, typer.Option(help="Where the person gave it.")
    ] = FeedbackSource.API,
    modality: Annotated[
        SessionMedium, typer.Option(help="How the session took place.")
    ] = SessionMedium.TEXT,
    id: Annotated[
        str, typer.Option(help="The same id is stored once.", show_default=False, metavar="ID")
    ] = "",
) -> None:
    """Store one person's (--user) rating of a session. Memory does not change."""
    from engrams.core import Scope

    settings = options.load().settings
    owner = Scope(options.scope(settings)).owner.key
    with closing(_open_log(settings)) as log:
        outcome = log.add(session, label, source=source, modality=modality, owner=owner, id=id)
    print_outcome(options, outcome)
