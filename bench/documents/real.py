"""Questions to files that other programs made, in one memory: found beside plain hybrid retrieval.

``python -m bench.documents.real FILES [--markdown FOLDER]``: FILES is a folder with the files that
``real.json`` names, each under the last part of its path. FOLDER has a Markdown of each (``NAME.md``),
as a converter such as markitdown writes it: cut at its lines into chunks of 900 characters, it is
searched by BM25 and the built-in embedder, joined by their ranks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import engrams
from bench.quality.data import Item
from bench.quality.systems import OWNER, RrfSystem, make_embedder
from engrams.core.document_location import read_location

_QUESTIONS = Path(__file__).parent / "real.json"
_FIRST = 3
_LIMIT = 10
_CHUNK = 900


@dataclass(frozen=True, slots=True)
class RealQuestion:
    """A question to one of the files."""

    text: str
    name: str
    unit: int | str
    """Page, slide or sheet of the answer; empty: the file has none."""
    words: str
    """Words of the right passage."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a search found."""

    text: str
    name: str
    unit: int | str = ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents.real", description=__doc__)
    parser.add_argument("files", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    questions = [*iter_real_questions()]
    with (
        tempfile.TemporaryDirectory(prefix="engrams-bench-") as home,
        engrams.open(home=Path(home), jobs__workers=0) as memory,
    ):
        counts = memory.add_document(options.files, scope=OWNER)
        print(f"{counts.files} documents, {counts.stored} passages, {len(questions)} questions")
        for bad in counts.bad:
            print(f"   not read: {bad.message}")
        _print_scores("engrams", questions, lambda text: _search(memory, text))
    if options.markdown is not None:
        chunks = {
            f"{path.stem}:{number}": FoundPassage(text, path.stem)
            for path in sorted(options.markdown.glob("*.md"))
            for number, text in enumerate(_cut(path.read_text("utf-8")))
        }
        hybrid = RrfSystem(make_embedder("builtin"))
        hybrid.fill([Item(name, chunk.text, "", "", "") for name, chunk in chunks.items()])
        print(f"{len(chunks)} chunks of Markdown")
        _print_scores(
            "hybrid over Markdown",
            questions,
            lambda text: [chunks[name] for name in hybrid.search(text, _LIMIT)],
        )


def iter_real_questions() -> Iterator[RealQuestion]:
    """Yield the questions of ``real.json``."""
    for document in json.loads(_QUESTIONS.read_text("utf-8"))["documents"]:
        name = document["path"].rpartition("/")[2]
        for text, unit, words in document["questions"]:
            yield RealQuestion(text, name, unit, words)


def _search(memory: engrams.MemoryEngine, text: str) -> list[FoundPassage]:
    passages = []
    for hit in memory.search(text, scope=OWNER, limit=_LIMIT).hits:
        location = read_location(hit.record)
        if location is not None:
            unit = location.page or location.slide or location.sheet
            passages.append(FoundPassage(hit.record.search_text, location.name, unit))
    return passages


def _cut(markdown: str) -> Iterator[str]:
    chunk = ""
    for line in markdown.split("\n"):
        if chunk and len(chunk) + len(line) > _CHUNK:
            yield chunk
            chunk = ""
        chunk = f"{chunk}\n{line}".strip()
    if chunk:
        yield chunk


def _print_scores(
    system: str, questions: Sequence[RealQuestion], search: Callable[[str], list[FoundPassage]]
) -> None:
    first = 0
    among = 0
    labels = 0
    missed = []
    for question in questions:
        passages = search(question.text)
        rank = _find_rank(question, passages)
        first += rank == 1
        among += 0 < rank <= _FIRST
        labels += 0 < rank <= _FIRST and passages[rank - 1].unit == question.unit
        if not 0 < rank <= _FIRST:
            missed.append(f"   missed: {question.name}: {question.text} (rank {rank})")
    share = 100 / len(questions)
    print(
        f"{system}: right passage first {first * share:.1f} %, among the first three"
        f" {among * share:.1f} %; its page, slide or sheet right in {100 * labels / among:.1f} %"
        " of them"
    )
    print("\n".join(missed))


def _find_rank(question: RealQuestion, passages: Sequence[FoundPassage]) -> int:
    """Return the rank of the right passage, from 1; 0: it is not among them."""
    words = _flatten(question.words)
    ranks = [
        rank
        for rank, passage in enumerate(passages, 1)
        if passage.name == question.name and words in _flatten(passage.text)
    ]
    return next(iter(ranks), 0)


def _flatten(text: str) -> str:
    """Return a text without its spaces, since programs part the words of a PDF differently."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


if __name__ == "__main__":
    main()
