"""Recall of conversations alone, and with documents in the same memory.

``python -m bench.documents.mixed CONVERSATIONS.json DOCUMENTS [--passages 5000] [--talks 5]``: DOCUMENTS is
a folder of any documents, or a second data set, whose long messages become Markdown documents. Each
question is asked twice; the differences are of the same questions.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import engrams
from bench.quality.data import Dataset, Talk, load_dataset
from bench.quality.metrics import (
    ResultRow,
    bootstrap_interval,
    mean,
    paired_difference,
    score_ranking,
)
from bench.quality.systems import OWNER, EngramsSystem, make_embedder
from engrams.core import Scope
from engrams.ports import Embedder

_LEAST_CHARACTERS = 400
"""Characters from which a message is long enough for a document."""
_USUAL_CHARACTERS = 500
"""Characters of a passage of these documents, which have many headings."""
_APART = "5"
_LIMIT = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents.mixed", description=__doc__)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--passages", type=int, default=5000, help="of a data set's messages")
    parser.add_argument("--talks", type=int, default=5)
    options = parser.parse_args()
    embedder = make_embedder("builtin")
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as name:
        folder = options.documents
        if not folder.is_dir():
            folder = Path(name) / "texts"
            folder.mkdir()
            for path, text in iter_texts(load_dataset(options.documents), options.passages):
                (folder / path).write_text(text, "utf-8")
        filled = Path(name) / "filled"
        fill_home(filled, folder, OWNER)
        _compare(load_dataset(options.conversations).talks[: options.talks], filled, embedder)


def fill_home(home: Path, folder: Path, scope: Scope) -> None:
    """Fill a home with the documents of a folder."""
    start = time.perf_counter()
    with engrams.open(home=home, jobs__workers=0) as memory:
        counts = memory.add_document(folder, scope=scope)
        memory.drain(600)
    print(
        f"{counts.files} documents, {counts.stored} passages, {time.perf_counter() - start:.1f} s"
    )


def _compare(talks: Sequence[Talk], filled: Path, embedder: Embedder) -> None:
    """Measure each conversation in an empty home, and in a copy of the home with documents."""
    alone: list[ResultRow] = []
    beside: list[ResultRow] = []
    for talk in talks:
        for is_beside in (False, True):
            with tempfile.TemporaryDirectory(prefix="engrams-bench-") as name:
                home = Path(name) / "home"
                if is_beside:
                    shutil.copytree(filled, home)
                system = EngramsSystem(embedder, home)
                system.fill(talk.items)
                (beside if is_beside else alone).extend(_measure(system, talk))
                system.close()
        print(f"{talk.id}: {len(talk.items)} messages", flush=True)
    for key in ("R@5", "R@10", "NDCG@10"):
        lowest, highest = bootstrap_interval([row.scores[key] for row in alone])
        change, least, most = paired_difference(beside, alone, key)
        print(
            f"{key}: {100 * mean(alone, key):.1f} ({100 * lowest:.1f} to {100 * highest:.1f}) alone,"
            f" {100 * mean(beside, key):.1f} with documents:"
            f" {100 * change:+.1f} ({100 * least:+.1f} to {100 * most:+.1f})"
        )
    seconds = [1000 * sum(row.seconds for row in rows) / len(rows) for rows in (alone, beside)]
    print(
        f"{len(beside)} questions; documents among the first ten hits:"
        f" {mean(beside, 'documents'):.2f}; a search takes {seconds[0]:.1f} ms alone,"
        f" {seconds[1]:.1f} ms with documents"
    )


def _measure(system: EngramsSystem, talk: Talk) -> list[ResultRow]:
    rows = []
    for question in talk.questions:
        if question.category == _APART:
            continue
        start = time.perf_counter()
        hits = system.engine.search(question.text, scope=OWNER, limit=_LIMIT).hits
        seconds = time.perf_counter() - start
        found = [hit.record.external_id for hit in hits]
        passages = sum(hit.record.kind == "passage" for hit in hits)
        scores = {**score_ranking(found, question.evidence), "documents": float(passages)}
        rows.append(ResultRow(talk.id, question.id, question.category, seconds, scores))
    return rows


def iter_texts(texts: Dataset, passages: int) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of documents that make about so many passages: the long messages."""
    left = passages * _USUAL_CHARACTERS
    for talk in texts.talks:
        for item in talk.items:
            if len(item.text) >= _LEAST_CHARACTERS and left > 0:
                left -= len(item.text)
                yield f"{talk.id}-{item.id}.md", item.text


if __name__ == "__main__":
    main()
