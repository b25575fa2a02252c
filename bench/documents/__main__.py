"""Documents of fourteen kinds, with questions that a person wrote who read them.

``python -m bench.documents [--texts DATA.json] [--json FILE]``: prints how often the right passage is among
the first three hits, and how often document and page of the best hit are right, beside plain BM25 over
the same passages. ``--texts``: long messages of a data set become documents in the same memory, so that
there is more to choose from.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import engrams
from bench.documents import making
from bench.documents.mixed import iter_texts
from bench.quality.data import Item, load_dataset
from bench.quality.systems import OWNER, Bm25System
from engrams.core import Record
from engrams.core.document_location import read_location

_SHELF = Path(__file__).parent / "shelf.json"
_FIRST = 3
_OTHER_PASSAGES = 2000


@dataclass(frozen=True, slots=True)
class ShelfQuestion:
    """A question, and what the right passage is known by."""

    text: str
    label: str
    """Label of its location, such as ``lease.pdf, p. 3``."""
    words: str
    """Words that it says."""


@dataclass(frozen=True, slots=True)
class QuestionScore:
    system: str
    question: str
    rank: int
    """Rank of the right passage, from 1; 0: it is not among the first ten."""
    first_label_right: bool
    """The best hit names the right document and page."""
    first_three_right: bool
    """The label of one of the first three hits is right."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents", description=__doc__)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--json", type=Path, default=Path("bench/out/documents.json"))
    options = parser.parse_args()
    shelf = json.loads(_SHELF.read_text("utf-8"))["documents"]
    questions = [*_iter_questions(shelf)]
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as folder:
        home = Path(folder)
        files = home / "shelf"
        files.mkdir()
        for document in shelf:
            (files / document["name"]).write_bytes(_make(document))
        with engrams.open(home=home / "home", jobs__workers=0) as memory:
            start = time.perf_counter()
            counts = memory.add_document(files, scope=OWNER)
            print(
                f"{counts.files} documents, {counts.stored} passages, {time.perf_counter() - start:.1f} s"
            )
            if options.texts is not None:
                others = home / "others"
                others.mkdir()
                for name, text in iter_texts(load_dataset(options.texts), _OTHER_PASSAGES):
                    (others / name).write_text(text, "utf-8")
                memory.add_document(others, scope=OWNER)
            passages = [
                record
                for document in memory.documents.list(OWNER)
                for record in memory.documents.read(document.id, OWNER)
            ]
            by_id = {record.id: record for record in passages}
            baseline = Bm25System()
            baseline.fill([Item(record.id, record.search_text, "", "", "") for record in passages])
            scores = [
                *_score("engrams", questions, by_id, lambda text: _search(memory, text)),
                *_score("plain BM25", questions, by_id, lambda text: baseline.search(text, 10)),
            ]
    print(f"{len(passages)} passages, {len(questions)} questions")
    for system in ("engrams", "plain BM25"):
        _print_system(system, [score for score in scores if score.system == system])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(score) for score in scores], indent=1), "utf-8")


def _search(memory: engrams.MemoryEngine, text: str) -> list[str]:
    return [hit.record.id for hit in memory.search(text, scope=OWNER, limit=10).hits]


def _iter_questions(shelf: Sequence[dict[str, Any]]) -> Iterator[ShelfQuestion]:
    for document in shelf:
        for text, where, words in document["questions"]:
            unit = f"p. {where}" if isinstance(where, int) else where
            label = f"{document['name']}, {unit}" if unit else document["name"]
            yield ShelfQuestion(text, label, words)


def _make(document: dict[str, Any]) -> bytes:
    """Make the file of a document of the shelf."""
    title = document.get("title", "")
    blocks = [
        tuple(block) if isinstance(block, list) and isinstance(block[0], int) else block
        for block in document.get("blocks", ())
    ]
    match document["name"].rpartition(".")[2]:
        case "pdf":
            return making.make_pdf(document["pages"], title)
        case "docx":
            return making.make_docx(blocks, title)
        case "odt":
            return making.make_odt(blocks, title)
        case "html":
            return making.make_html(blocks, title, "Log in")
        case "md":
            return making.make_markdown(blocks, title)
        case "xlsx":
            return making.make_xlsx(document["sheets"])
        case "pptx":
            return making.make_pptx(document["slides"])
        case "epub":
            chapters = [
                [tuple(block) if isinstance(block, list) else block for block in chapter]
                for chapter in document["chapters"]
            ]
            return making.make_epub(chapters, title)
        case "eml":
            return making.make_mail(*document["mail"])
        case _:
            return str(document["raw"]).encode()


def _score(
    system: str,
    questions: Sequence[ShelfQuestion],
    passages: dict[str, Record],
    search: Callable[[str], list[str]],
) -> Iterator[QuestionScore]:
    for question in questions:
        records = [passages[record_id] for record_id in search(question.text)]
        labels = [location.label for record in records if (location := read_location(record))]
        ranks = [
            rank
            for rank, (record, label) in enumerate(zip(records, labels, strict=True), 1)
            if label == question.label and question.words in record.text
        ]
        yield QuestionScore(
            system,
            question.text,
            next(iter(ranks), 0),
            first_label_right=question.label in labels[:1],
            first_three_right=question.label in labels[:_FIRST],
        )


def _print_system(system: str, scores: Sequence[QuestionScore]) -> None:
    count = len(scores)
    first = sum(score.rank == 1 for score in scores)
    among = sum(0 < score.rank <= _FIRST for score in scores)
    labels = sum(score.first_three_right for score in scores)
    print(
        f"{system}: right passage first {100 * first / count:.1f} %, among the first three"
        f" {100 * among / count:.1f} %; document and page among the first three {100 * labels / count:.1f} %"
    )
    for score in scores:
        if not 0 < score.rank <= _FIRST:
            print(f"   missed: {score.question} (rank {score.rank})")


if __name__ == "__main__":
    main()
