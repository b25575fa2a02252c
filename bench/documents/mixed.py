"""Recall of a conversation before and after documents come into the same memory.

``python -m bench.documents.mixed CONVERSATIONS.json TEXTS.json [--passages 3000] [--talks 3]``: the long
messages of the second data set become Markdown documents.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.quality.data import Dataset, Talk, load_dataset
from bench.quality.metrics import score_ranking
from bench.quality.systems import OWNER, EngramsSystem, make_embedder

_LEAST_CHARACTERS = 400
"""Characters from which a message is long enough for a document."""
_USUAL_CHARACTERS = 500
"""Characters of a passage of these documents, which have many headings."""
_APART = "5"
_LIMIT = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents.mixed", description=__doc__)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--passages", type=int, default=3000)
    parser.add_argument("--talks", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as name:
        folder = Path(name)
        for path, text in iter_texts(load_dataset(options.texts), options.passages):
            (folder / path).write_text(text, "utf-8")
        _compare(load_dataset(options.conversations).talks[: options.talks], folder)


def _compare(talks: Sequence[Talk], folder: Path) -> None:
    embedder = make_embedder("builtin")
    before: list[dict[str, float]] = []
    after: list[dict[str, float]] = []
    for talk in talks:
        system = EngramsSystem(embedder)
        system.fill(talk.items)
        before += _measure(system, talk)
        start = time.perf_counter()
        stored = system.engine.add_document(folder, scope=OWNER).stored
        seconds = time.perf_counter() - start
        after += _measure(system, talk)
        system.close()
        print(f"{talk.id}: {stored} passages in {seconds:.1f} s")
    for key in ("R@5", "R@10", "NDCG@10"):
        values = [100 * sum(row[key] for row in rows) / len(rows) for rows in (before, after)]
        print(f"{key}: {values[0]:.1f} alone, {values[1]:.1f} with documents")
    shares = [row["documents"] for row in after]
    print(
        f"{len(after)} questions; documents among the first ten hits: {sum(shares) / len(shares):.2f}"
    )


def _measure(system: EngramsSystem, talk: Talk) -> list[dict[str, float]]:
    rows = []
    for question in talk.questions:
        if question.category == _APART:
            continue
        hits = system.engine.search(question.text, scope=OWNER, limit=_LIMIT).hits
        found = [hit.record.external_id for hit in hits]
        passages = sum(hit.record.kind == "passage" for hit in hits)
        rows.append({**score_ranking(found, question.evidence), "documents": passages})
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
