"""Contexts of the compared systems, each within the same number of tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.answers.sample import Asked
from bench.quality.data import Item
from bench.quality.systems import RrfSystem
from engrams.models.tokens.estimate import estimate_tokens
from engrams.ports import Embedder

ROOT = Path(__file__).parents[2]


def group_by_talk(asked: Sequence[Asked]) -> list[list[Asked]]:
    talks: dict[tuple[str, str], list[Asked]] = defaultdict(list)
    for one in asked:
        talks[one.data, one.talk.id].append(one)
    return list(talks.values())


def make_hybrid(asked: Sequence[Asked], tokens: int, embedder: Embedder) -> dict[str, str]:
    """Fill contexts with the best turns of RRF over BM25 and vectors, oldest first."""
    made = {}
    for some in group_by_talk(asked):
        items = some[0].talk.items
        system = RrfSystem(embedder)
        system.fill(items)
        made.update(
            {
                one.key: fill_tokens(items, system.search(one.question.text, len(items)), tokens)
                for one in some
            }
        )
        system.close()
    return made


def fill_tokens(items: Sequence[Item], ranking: Sequence[str], tokens: int) -> str:
    """Turns from the best on, while they fit; the first that does not is cut."""
    known = {item.id: item for item in items}
    place = {item.id: number for number, item in enumerate(items)}
    kept: dict[str, str] = {}
    for name in ranking:
        line = known[name].dated_text
        left = tokens - sum(estimate_tokens(each + "\n") for each in kept.values())
        if estimate_tokens(line) > left:
            words = line.split(" ")
            while words and estimate_tokens(" ".join(words)) > left:
                words = words[: len(words) * 9 // 10]
            kept[name] = " ".join(words)
            break
        kept[name] = line
    return "\n".join(kept[name] for name in sorted(kept, key=place.__getitem__) if kept[name])


def make_engrams(asked: Sequence[Asked], python: Path, options: Sequence[str]) -> dict[str, str]:
    """Ask the engrams that ``python`` has installed, in a process of its own.

    ``options``: those of ``bench.answers.worker``.
    """
    with tempfile.TemporaryDirectory(prefix="engrams-answers-") as folder:
        job = Path(folder) / "job.json"
        talks = [
            {
                "items": [asdict(item) for item in some[0].talk.items],
                "questions": {one.key: one.question.text for one in some},
            }
            for some in group_by_talk(asked)
        ]
        job.write_text(json.dumps(talks), "utf-8")
        command = [str(python), "-m", "bench.answers.worker", str(job), *options]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{python} failed with code {done.returncode}; its messages are above")
    made: dict[str, str] = json.loads(done.stdout)
    return made


def find_python(source: str) -> Path:
    """The interpreter of a checkout's environment; of this one for an empty name."""
    if not source:
        return Path(sys.executable)
    place = Path(source)
    python = place if place.is_file() else place / ".venv" / "bin" / "python"
    if not python.is_file():
        raise SystemExit(
            f"{place} has no .venv/bin/python: run `make test` there, or name an interpreter"
        )
    return python.absolute()
