"""Command verify: memories compared with the code that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import InputError
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, print_table, say
from engrams.surfaces.cli.render import record_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engrams.core.code_anchors import CheckedMemory

app = new_app()

_COLUMNS = 60


@app.command()
@flatten_options
def verify(
    options: GlobalOptions,
    commit: Annotated[
        str,
        typer.Option(
            help="Only memories that this commit made untrue, such as HEAD.",
            show_default=False,
            metavar="COMMIT",
        ),
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Also memories that the code agrees with.")
    ] = False,
) -> None:
    """Compare the memories of a project with its code.

    Without --project: of the project that the folder belongs to.
    """
    from dataclasses import replace

    options = replace(options, project=options.project or ".")
    with options.open(reads=True) as (engine, scope):
        checkout = options.find_checkout(engine.settings)
        if checkout is None:
            raise InputError(
                f"The code of the project {options.project} is not known here.",
                hint="Run this in the project's folder, with --project . or without it.",
            )
        if commit:
            memories = engine.code.find_broken(scope=scope, checkout=checkout, revision=commit)
        else:
            memories = engine.code.verify(scope=scope, checkout=checkout)
    if options.json:
        emit(
            [
                {"id": memory.record.id, "text": memory.record.text, **memory.verdict.to_json()}
                for memory in memories
            ]
        )
        return
    _print_memories(memories, every=every, is_commit=bool(commit))


def _print_memories(memories: Sequence[CheckedMemory], *, every: bool, is_commit: bool) -> None:
    shown = [memory for memory in memories if every or memory.verdict.note]
    if shown and is_commit:
        say("This commit changes what memory says:")
    if shown:
        rows = [
            [
                memory.record.id,
                str(memory.verdict.state),
                record_line(memory.record, _COLUMNS),
                clean(memory.verdict.note),
            ]
            for memory in shown
        ]
        print_table(("id", "state", "memory", "why"), rows, {0: "dim"})
    if not is_commit:
        fresh_count = sum(not memory.verdict.note for memory in memories)
        note(f"{len(memories)} memories name code; the code agrees with {fresh_count}.")
