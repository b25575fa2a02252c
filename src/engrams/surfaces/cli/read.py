"""search, context, explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.filters import RecordFilterOptions, TimeOptions
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say
from engrams.surfaces.cli.render import hit_to_dict, print_hit

if TYPE_CHECKING:
    from engrams.types import Found

app = new_app()

Query = Annotated[str, typer.Argument(help="What to look for, in your own words.")]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", min=0, help="At most this many (default: read.limit).", show_default=False, metavar="N")
]


@app.command()
@flatten_options
def search(
    query: Query,
    frame: GlobalOptions,
    sift: RecordFilterOptions,
    times: TimeOptions,
    limit: Limit = None,
    history: Annotated[bool, typer.Option("--history", help="Also what was superseded or archived.")] = False,
) -> None:
    """Find memories that answer a question, best first, each with its score (0 to 1)."""
    kinds, where, moment = sift.kinds(), sift.where(), times.moment()
    with frame.open() as (engine, scope):
        found = engine.search(query, scope=scope, limit=limit, as_of=moment, kinds=kinds, where=where, history=history)
    if frame.json:
        emit({"hits": [hit_to_dict(hit) for hit in found.hits], "abstain": found.abstain})
        return
    _warn_weak(found)
    for place, hit in enumerate(found.hits, 1):
        print_hit(place, hit)


@app.command()
@flatten_options
def context(
    query: Query,
    frame: GlobalOptions,
    times: TimeOptions,
    limit: Limit = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=0, help="Token budget (default: read.context_tokens).", show_default=False, metavar="N")
    ] = None,
) -> None:
    """Memory as text for a prompt: a stable profile, then what this question needs, never over the budget."""
    moment = times.moment()
    with frame.open() as (engine, scope):
        made = engine.context(query, scope=scope, tokens=tokens, as_of=moment, limit=limit)
    if frame.json:
        shape = {"text": made.text, "prefix": made.prefix, "tail": made.tail, "tokens": made.tokens, "version": made.version}
        emit({**shape, "abstain": made.abstain, "hits": [hit_to_dict(hit) for hit in made.hits]})
    elif made.text:
        say(clean(made.text))
    else:
        note("Nothing to put into a prompt.")


@app.command()
@flatten_options
def explain(
    query: Query,
    frame: GlobalOptions,
    sift: RecordFilterOptions,
    times: TimeOptions,
    limit: Limit = None,
    history: Annotated[bool, typer.Option("--history", help="Also what was superseded or archived.")] = False,
) -> None:
    """Say why a search finds what it finds: what spoke for each memory, and what was left out and why."""
    kinds, where, moment = sift.kinds(), sift.where(), times.moment()
    with frame.open() as (engine, scope):
        found = engine.explain(query, scope=scope, limit=limit, as_of=moment, kinds=kinds, where=where, history=history)
    if frame.json:
        emit({"hits": [hit_to_dict(hit) for hit in found.hits], "abstain": found.abstain, "trace": found.trace})
        return
    from engrams.surfaces.cli import explain

    _warn_weak(found)
    for place, hit in enumerate(found.hits, 1):
        print_hit(place, hit)
        say(f"    {paint('why:', 'cyan')} {clean(explain.explain_hit(hit, found))}")
    explain.print_explanation(found)


def _warn_weak(found: Found) -> None:
    if not found.hits:
        note("Nothing found.")
    elif found.abstain:
        note("Nothing came near; these are the nearest there are.")
