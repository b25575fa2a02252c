"""Pages a second that an import of documents takes: of time, and of processor time.

``python -m bench.documents.speed [--pages 1000]``: PDFs and texts of ten pages each, with words of this
project's own guides in the frequency that they have there. Processor time is that of the engine and
of the process that reads; the two work at the same time.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import tempfile
import time
from functools import cache
from pathlib import Path

from bench.documents import making
from engrams.testing import temp_engine

_PAGES = 10
"""Pages of one document."""
_LINES = 40
_WORDS = 11
"""Words of a line: 440 a page."""
_GUIDES = Path(__file__).parents[2] / "docs"
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
            processor_before = _measure_processor()
            with temp_engine() as engine:
                start = time.perf_counter()
                stored = engine.add_document(folder, scope=_SCOPE).stored
                seconds = time.perf_counter() - start
            processor_seconds = _measure_processor() - processor_before
        print(
            f"{kind}: {options.pages} pages, {stored} passages, {seconds:.1f} s,"
            f" {options.pages / seconds:.0f} pages a second;"
            f" {processor_seconds:.1f} s of processor time,"
            f" {options.pages / processor_seconds:.0f} pages a second of it"
        )


def _write_document(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    words = _read_words()
    pages = [
        [" ".join(chance.choices(words, k=_WORDS)) for _ in range(_LINES)] for _ in range(_PAGES)
    ]
    if path.suffix == ".pdf":
        path.write_bytes(making.make_pdf(pages))
    else:
        path.write_text("\n\n".join("\n".join(lines) for lines in pages))


@cache
def _read_words() -> list[str]:
    """Read the words of the guides, each as often as it stands there."""
    texts = [path.read_text("utf-8") for path in sorted(_GUIDES.rglob("*.md"))]
    return re.findall(r"[A-Za-z']+[,.;:]?", " ".join(texts))


def _measure_processor() -> float:
    """Return the seconds of processor time of this process and of those that it ended."""
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, usages))


if __name__ == "__main__":
    main()
