"""Pages a second of processor time that an import of generated documents takes.

``python -m bench.documents.speed [--pages 1000]``: PDFs and texts of ten pages each.
Processor time is that of the engine and of the process that reads, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
from pathlib import Path

from bench.documents import making
from engrams.testing import temp_engine

_PAGES = 10
"""Pages of one document."""
_LINES = 40
_WORDS = 11
"""Words of a line: 440 a page."""
_VOCABULARY = 4000
_SCOPE = ("user", "bench")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.documents.speed", description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    options = parser.parse_args()
    for kind in ("pdf", "txt"):
        with tempfile.TemporaryDirectory(prefix="engrams-bench-") as name:
            folder = Path(name)
            for number in range(options.pages // _PAGES):
                _write_document(folder / f"{number}.{kind}", number)
            before = _measure_processor()
            with temp_engine() as engine:
                stored = engine.add_document(folder, scope=_SCOPE).stored
            seconds = _measure_processor() - before
        print(
            f"{kind}: {options.pages} pages, {stored} passages, {seconds:.1f} s of processor time,"
            f" {options.pages / seconds:.0f} pages a second"
        )


def _write_document(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    words = _make_vocabulary()
    pages = [
        [" ".join(chance.choices(words, k=_WORDS)) for _ in range(_LINES)] for _ in range(_PAGES)
    ]
    if path.suffix == ".pdf":
        path.write_bytes(making.make_pdf(pages))
    else:
        path.write_text("\n\n".join("\n".join(lines) for lines in pages))


def _make_vocabulary() -> list[str]:
    """Make the words of all documents, which share them as those of one language do."""
    chance = random.Random(0)
    return [
        "".join(chance.choices("abcdefghij", k=chance.randint(2, 9))) for _ in range(_VOCABULARY)
    ]


def _measure_processor() -> float:
    """Return the seconds of processor time of this process and of those that it ended."""
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, usages))


if __name__ == "__main__":
    main()
