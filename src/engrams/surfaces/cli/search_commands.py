"""Commands search, context and explain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.surfaces.cli.filter_options import (
    AsOfTimeOptions,
    RecordFilterOptions,
    ScopeOptions,
)
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, note, paint, say
from engrams.surfaces.cli.render import hit_to_dict, print_hit

if TYPE_CHECKING:
    from engrams.core import SearchResult

app = new_app()

Query = Annotated[str, typer.Argument(help="The question, in your own words.")]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        min=0,
        help="At most this many (default: read.limit).",
        show_default=False,
        metavar="N",
    ),
]


_GAPS = {
    "embedder_late": "Found by words alone: the embedder was late (`engrams doctor` measures it).",
    "embedder_down": "Found by words alone: the embedder failed (`engrams doctor` says why).",
    "reranker_late": "Not reranked: the reranker was late.",
    "reranker_down": "Not reranked: the reranker failed.",
}
"""What a search had to do without, for people."""


_BY_MEANING = (
    "read.fusion=sum",
    "read.weights.dense=1",
    *(
        f"read.weights.{name}=0"
        for name in ("bm25", "bm25_window", "bm25_session", "slot", "identifier", "date", "when")
    ),
)
"""Settings of a search by vectors alone."""


@app.command()
@flatten_options
def search(  # noqa: PLR0913 - options of a command
    query: Query,
    options: GlobalOptions,
    part: ScopeOptions,
    sift: RecordFilterOptions,
    times: AsOfTimeOptions,
    limit: Limit = None,
    history: Annotated[
        bool, typer.Option("--history", help="Include superseded and archived memories.")
    ] = False,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Order by meaning alone, without the words.")
    ] = False,
) -> None:
    """Find memories that answer a question, best first, with scores."""
    kinds = sift.kinds()
    moment = times.moment()
    options = part.choose_project(options)
    if semantic:
        options = replace(options, overrides=[*_BY_MEANING, *options.overrides])
    with options.open(reads=True) as (engine, scope):
        result = engine.search(
            query,
            scope=scope,
            limit=limit,
            as_of=moment,
            kinds=kinds,
            where=part.narrow(sift.where(), scope),
            history=history,
            checkout=options.find_checkout(engine.settings),
        )
    if options.json:
        emit(
            {
                "hits": [hit_to_dict(hit) for hit in result.hits],
                "abstain": result.abstain,
                "notes": result.notes,
            }
        )
        return
    _warn_weak(result)
    for rank, hit in enumerate(result.hits, 1):
        print_hit(rank, hit)


@app.command()
@flatten_options
def context(
    query: Query,
    options: GlobalOptions,
    times: AsOfTimeOptions,
    limit: Limit = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            "--tokens",
            min=0,
            help="Token budget (default: read.context_tokens).",
            show_default=False,
            metavar="N",
        ),
    ] = None,
) -> None:
    """Print memory as prompt text within a token budget.

    A stable profile, then memories for this question.
    """
    moment = times.moment()
    with options.open(reads=True) as (engine, scope):
        prompt = engine.context(
            query,
            scope=scope,
            tokens=tokens,
            as_of=moment,
            limit=limit,
            checkout=options.find_checkout(engine.settings),
        )
    if options.json:
        shape = {
            "text": prompt.text,
            "prefix": prompt.prefix,
            "tail": prompt.tail,
            "tokens": prompt.tokens,
            "version": prompt.version,
        }
        emit(
            {
                **shape,
                "abstain": prompt.abstain,
                "hits": [hit_to_dict(hit) for hit in prompt.hits],
                "notes": prompt.notes,
                "closest": [hit_to_dict(hit) for hit in prompt.closest],
            }
        )
    elif prompt.text:
        say(clean(prompt.text))
    else:
        note("No memory for a prompt.")
    if prompt.closest and not options.json:
        note("Closest, not used:")
        for rank, hit in enumerate(prompt.closest, 1):
            print_hit(rank, hit)


@app.command()
@flatten_options
def explain(
    query: Query,
    options: GlobalOptions,
    sift: RecordFilterOptions,
    times: AsOfTimeOptions,
    limit: Limit = None,
    history: Annotated[
        bool, typer.Option("--history", help="Include superseded and archived memories.")
    ] = False,
) -> None:
    """Explain the results of a search.

    What raised each memory's score, and what was left out and why.
    """
    kinds = sift.kinds()
    where = sift.where()
    moment = times.moment()
    with options.open(reads=True) as (engine, scope):
        # The first search of a process loads model and index; the second shows what a search takes.
        engine.explain(query, scope=scope, limit=1)
        result = engine.explain(
            query,
            scope=scope,
            limit=limit,
            as_of=moment,
            kinds=kinds,
            where=where,
            history=history,
            checkout=options.find_checkout(engine.settings),
        )
    if options.json:
        emit(
            {
                "hits": [hit_to_dict(hit) for hit in result.hits],
                "abstain": result.abstain,
                "trace": result.trace,
            }
        )
        return
    from engrams.surfaces.cli import explain

    _warn_weak(result)
    for rank, hit in enumerate(result.hits, 1):
        print_hit(rank, hit)
        say(f"    {paint('why:', 'cyan')} {clean(explain.explain_hit(hit, result))}")
        if hit.probability is not None:
            say(f"    {paint('helps:', 'cyan')} {explain.explain_probability(hit, result.trace)}")
    explain.print_explanation(result)


def _warn_weak(result: SearchResult) -> None:
    for gap in result.trace.missing:
        note(_GAPS.get(gap, gap))
    if not result.hits:
        note("Nothing found.")
    elif result.abstain:
        note("No close match; these are the nearest memories.")
