"""``python -m bench.agents [FILE…] [--show]``: sentences that the next session's start holds.

Each line of a file is a sentence and the words that the start has to hold (``a ; b``), or ``-`` for
a sentence of which nothing is to be learned. Every sentence is said by a person of its own, in a
project, without a language model. ``--show`` prints what was missed. The files: what a field test
said (``passing``), and sentences of another tone for tuning (``tone_dev``) and for reporting only
(``tone_held``).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import engrams
from engrams import MemoryEngine, Turn

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Sentence:
    """Sentence said in passing."""

    text: str
    words: tuple[str, ...]
    """What the start of the next session has to hold; empty: nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--show", action="store_true", help="print each sentence that was missed")
    options = parser.parse_args()
    files = options.files or [DATA / "passing.txt", DATA / "tone_dev.txt"]
    for file in files:
        _report(file, show=options.show)


def read_sentences(file: Path) -> Iterator[Sentence]:
    """Read the sentences of a file; lines with ``#`` are remarks."""
    for line in file.read_text("utf-8").splitlines():
        text, _, words = line.rpartition(" | ")
        if text and not line.startswith("#"):
            parts = tuple(word.strip() for word in words.split(" ; "))
            yield Sentence(text, () if parts == ("-",) else parts)


def find_start(engine: MemoryEngine, number: int, text: str) -> str:
    """Return the text at the start of the session after one in which a sentence was said."""
    scope = ("user", f"u{number}", "project", "shop")
    engine.observe([Turn(text, "user", session="s1")], scope=scope)
    engine.drain(20)
    return engine.context("", scope=scope).text


def _report(file: Path, *, show: bool) -> None:
    learned = broken = total = silent = silent_total = 0
    with (
        TemporaryDirectory() as home,
        engrams.open(home=home, jobs__workers=0, write__extract="rules") as engine,
    ):
        for number, sentence in enumerate(read_sentences(file)):
            start = find_start(engine, number, sentence.text)
            lower = start.lower()
            if not sentence.words:
                silent_total += 1
                silent += not start
                is_right = not start
            else:
                total += 1
                is_right = bool(start) and all(word.lower() in lower for word in sentence.words)
                learned += is_right
                broken += bool(start) and not is_right
            if show and not is_right:
                lines = [line for line in start.splitlines() if line[:1] in "-0123456789"]
                print(f"  {sentence.text}\n      {lines or 'nothing'}")
    print(
        f"{file.name}: learned {learned} of {total}, broken {broken}, silent {silent} of {silent_total}"
    )


if __name__ == "__main__":
    main()
