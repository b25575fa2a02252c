"""Command quarantine: texts that nothing was learned from, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say

_EXCERPT = 160

app = new_app()


@app.command()
@flatten_options
def quarantine(
    options: GlobalOptions,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="At most this many messages.", metavar="N")
    ] = 20,
    let_in: Annotated[
        str,
        typer.Option(
            help="Learn from the foreign text of this message, as if you had said it.", metavar="ID"
        ),
    ] = "",
) -> None:
    """Show the pasted and forwarded texts that nothing was learned from, with the reasons."""
    with options.open() as (engine, scope):
        if let_in:
            receipt = engine.let_in(let_in, scope=scope)
            if options.json:
                emit(receipt)
            else:
                say(f"{paint('let in', 'green')}  {receipt.id}")
                for derived in receipt.derived:
                    note(f"{derived.verdict}  {clean(derived.text)}")
            return
        kept_out = engine.quarantine(scope=scope, limit=limit)
    if options.json:
        emit(
            [
                {
                    "id": item.record.id,
                    "parts": [{"reason": part.reason, "text": part.text} for part in item.parts],
                }
                for item in kept_out
            ]
        )
        return
    for item in kept_out:
        for part in item.parts:
            excerpt = " ".join(part.text.split())[:_EXCERPT]
            say(f"{item.record.id}  {paint(part.reason, 'yellow')}  {clean(excerpt)}")
    if not kept_out:
        note("Nothing was kept out.")
