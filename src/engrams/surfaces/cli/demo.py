"""Command demo: import and question a sample conversation."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, fit_line, note, paint, say, show_progress

if TYPE_CHECKING:
    from engrams.core import SearchResult
    from engrams.demo import DemoSampleQuestion
    from engrams.engine import MemoryEngine

app = new_app()

_TOP = 3
_EXPECTED_RIGHT = 16
_USER = "demo"


@app.command()
@flatten_options
def demo(options: GlobalOptions) -> None:
    """Import a sample conversation and ask it 25 questions.

    Ends with code 1 if fewer than 16 of 20 are answered.

    Works in a temporary home, or in --home, where it leaves the memories of the user "demo".
    """
    from engrams import demo

    with tempfile.TemporaryDirectory(prefix="engrams-demo-") as folder:
        demo_options = replace(options, home=options.home or folder, user=options.user or _USER)
        with demo_options.open() as (engine, scope):
            start = time.perf_counter()
            with show_progress("importing", quiet=options.json) as bar:
                report = engine.load(demo.sample_path(), scope=scope, progress=bar)
                engine.drain(60, bar)
            import_seconds = time.perf_counter() - start
            results = [_ask_question(engine, scope, question) for question in demo.load_questions()]
    answerable = [row for row in results if row["answerable"]]
    right = sum(row["right"] for row in answerable)
    missing = [row for row in results if not row["answerable"]]
    numbers = {
        "turns": report.stored + report.existing,
        "import_seconds": round(import_seconds, 3),
        "right": right,
        "of": len(answerable),
    }
    silent = {"abstained": sum(row["abstain"] for row in missing), "unanswerable": len(missing)}
    if options.json:
        emit({**numbers, **silent, "questions": results})
    else:
        _print_results(results, numbers, silent)
    if right < _EXPECTED_RIGHT:
        note(f"error: {right} of {len(answerable)} is fewer than the {_EXPECTED_RIGHT} expected.")
        raise typer.Exit(1)


def _ask_question(
    engine: MemoryEngine, scope: tuple[str, ...], question: DemoSampleQuestion
) -> dict[str, Any]:
    start = time.perf_counter()
    result = engine.search(question.text, scope=scope, limit=_TOP)
    seconds = time.perf_counter() - start
    ranks = [
        rank
        for rank, ids in enumerate(_hit_sources(engine, scope, result), 1)
        if ids & set(question.evidence)
    ]
    hits = [
        {"id": hit.record.external_id, "text": hit.record.text, "score": round(hit.score, 4)}
        for hit in result.hits
    ]
    shape = {
        "id": question.id,
        "text": question.text,
        "answer": question.answer,
        "answerable": question.answerable,
    }
    return {
        **shape,
        "right": bool(ranks),
        "rank": ranks[0] if ranks else 0,
        "abstain": result.abstain,
        "ms": round(seconds * 1000, 1),
        "hits": hits,
    }


def _hit_sources(
    engine: MemoryEngine, scope: tuple[str, ...], result: SearchResult
) -> list[set[str]]:
    """Return, for each hit, the ids of its source messages."""
    sources = []
    for hit in result.hits:
        source_ids = {quote.source for quote in hit.record.evidence if quote.source}
        sources.append(
            {hit.record.external_id}
            | {engine.get(id, scope=scope).external_id for id in source_ids}
        )
    return sources


def _print_results(
    results: list[dict[str, Any]], numbers: dict[str, Any], silent: dict[str, int]
) -> None:
    say(
        f"Imported {numbers['turns']} messages of a year between Mina, Theo and their assistant in"
        f" {numbers['import_seconds']:.1f} s.\n"
    )
    for row in results:
        if row["right"]:
            mark = paint("right", "green")
        elif not row["answerable"]:
            mark = paint("-----", "dim")
        else:
            mark = paint("wrong", "red")
        say(
            f"{mark}  {paint(clean(row['text']), 'bold')} "
            f" ({row['answer'] if row['answerable'] else 'never said'})"
        )
        for rank, hit in enumerate(row["hits"], 1):
            sign = "*" if rank == row["rank"] else " "
            say(f"     {sign} {hit['score']:.2f}  {fit_line(hit['text'], 100)}")
        if row["abstain"]:
            say(paint("       (no close match)", "dim"))
    typical = sorted(row["ms"] for row in results)[len(results) // 2]
    say(
        f"\nA right message was among the first {_TOP} for {numbers['right']} of {numbers['of']}"
        f" questions; {typical:.0f} ms a search."
    )
    say(
        f"Of {silent['unanswerable']} questions without an answer in it, {silent['abstained']} were"
        " recognised as unanswerable."
    )
