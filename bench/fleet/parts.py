"""Filling and measuring of one cell of the grid, each in a process of its own.

``python -m bench.fleet.parts NAME JSON`` prints one JSON object; ``reader`` answers questions of
another process instead.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any

import psycopg

from bench.fleet.cells import WARMING, GridCell, Owner, make_lines, name_owner, open_engine
from bench.fleet.copies import copy_owner, list_owners
from bench.fleet.side_by_side import SideBySideTimer
from bench.speed.corpus import Corpus
from bench.speed.large import resident_mb
from bench.speed.timing import to_turn
from engrams import MemoryEngine
from engrams.core import Scope

ROOT = Path(__file__).resolve().parents[2]
_BATCH = 500
_WRITTEN = 5
"""Owners of a database that are written by the product; the others are copies of them."""


def fill(place: str, cell: str) -> dict[str, Any]:
    """Write the turns that a store lacks of a cell;
    on Postgres, owners beyond the first five are copies of these.
    """
    grid = GridCell.parse(cell)
    start = time.perf_counter()
    written = 0
    copies = range(_WRITTEN, grid.owners) if "://" in place else range(0)
    with open_engine(place, write__extract="off") as memory:
        for number in grid.numbers[: len(grid.numbers) - len(copies)]:
            owner = name_owner(number)
            lines = map(to_turn, grid.lines(number, memory.stats(owner)["kind"].get("turn", 0)))
            while some := list(itertools.islice(lines, _BATCH)):
                memory.observe(some, scope=owner)
                written += len(some)
            _tell_progress(grid, number)
    copied = _copy_owners(place, grid, copies) if copies else 0
    print(file=sys.stderr)
    seconds = time.perf_counter() - start
    return {"written": written, "copied": copied, "per_second": round((written + copied) / seconds)}


def _copy_owners(place: str, grid: GridCell, numbers: range) -> int:
    """Copy those that are missing; number of records."""
    copied = 0
    with psycopg.connect(place, autocommit=True) as connection:
        held = list_owners(connection)
        for number in numbers:
            if Scope.of(name_owner(number)).key not in held:
                copy_owner(connection, name_owner(number % _WRITTEN), name_owner(number))
                copied += grid.each
            _tell_progress(grid, number)
    return copied


def _tell_progress(grid: GridCell, number: int) -> None:
    print(
        f"\r{grid.name}: {number + 1:,} of {grid.owners:,} owners ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def measure(places: Mapping[str, str], cell: str, count: int) -> dict[str, Any]:
    """Time searches and writes on each store; beside them the size of an owner's index."""
    visited = [name_owner(number) for number in GridCell.parse(cell).visited()]
    questions = Corpus(seed=3).questions(count)
    timer = SideBySideTimer()
    lines = map(to_turn, make_lines(2 * count))
    for _ in range(max(1, 10 // len(visited))):
        with _open_all(places) as engines:
            for owner, question in zip(visited, itertools.cycle(questions), strict=False):
                timer.take("cold", engines, methodcaller("search", question, scope=owner))
    with _open_all(places) as engines:
        for owner in visited:
            for one in engines.values():
                one.search(questions[0], scope=owner)
        for owner, question in zip(itertools.cycle(visited), questions, strict=False):
            timer.take("search", engines, methodcaller("search", question, scope=owner))
        for owner, turn in zip(
            itertools.cycle(visited), itertools.islice(lines, count), strict=False
        ):
            timer.take("add", engines, methodcaller("add", turn, scope=owner, settle=False))
        for owner, turn in zip(
            itertools.cycle(visited), itertools.islice(lines, count // 4), strict=False
        ):
            timer.take("settled", engines, methodcaller("add", turn, scope=owner))
        _search_elsewhere(places, engines, visited, count // 2, timer)
    return timer.summarize()


def weigh(place: str, cell: str) -> dict[str, Any]:
    """Measure the indexes that owners who are visited have in memory, in bytes of one owner."""
    visited = GridCell.parse(cell).visited()
    (question,) = Corpus(seed=4).questions(1)
    with open_engine(place) as memory:
        memory.search(question, scope=name_owner(WARMING))
        cache = memory.store._index_cache  # type: ignore[attr-defined]  # noqa: SLF001 - nothing else tells the size that its bound counts
        held = cache.bytes
        resident = resident_mb()
        for number in visited:
            memory.search(question, scope=name_owner(number))
        grown = resident_mb() - resident
        return {
            "index_bytes": round((cache.bytes - held) / len(visited)),
            "resident_bytes": round(1e6 * grown / len(visited)),
        }


@contextmanager
def _open_all(places: Mapping[str, str]) -> Iterator[dict[str, MemoryEngine]]:
    """Open an engine on each store, with its code and connections warm."""
    with ExitStack() as stack:
        engines = {name: stack.enter_context(open_engine(place)) for name, place in places.items()}
        for question in Corpus(seed=9).questions(12):
            for one in engines.values():
                one.search(question, scope=name_owner(WARMING))
        yield engines


def _search_elsewhere(
    places: Mapping[str, str],
    engines: Mapping[str, MemoryEngine],
    visited: Sequence[Owner],
    count: int,
    timer: SideBySideTimer,
) -> None:
    """Add here and search in another process, which must find it."""
    readers = {name: RemoteReader(place) for name, place in places.items()}
    try:
        for number, owner in zip(range(count), itertools.cycle(visited), strict=False):
            word = f"quux{random.randrange(10**9)}"
            for one in engines.values():
                one.add(f"The code of locker {number} is {word}.", scope=owner, settle=False)
            for one in () if number else readers.values():
                one.find(word, owner)  # untimed: the process is still starting
            timer.take("elsewhere", readers, methodcaller("find", word, owner))
    finally:
        for one in readers.values():
            one.close()


class RemoteReader:
    """Another process that searches the memory at a place."""

    def __init__(self, place: str) -> None:
        command = [
            sys.executable,
            "-m",
            "bench.fleet.parts",
            "reader",
            json.dumps({"place": place}),
        ]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def find(self, word: str, owner: Owner) -> None:
        """Search there; the run ends where nothing is found."""
        streams = self._process.stdin, self._process.stdout
        assert all(streams)
        print(json.dumps([word, owner]), file=streams[0], flush=True)
        if streams[1] is None or json.loads(streams[1].readline()) is not True:
            raise SystemExit(f"another process did not find {word!r} of {owner}")

    def close(self) -> None:
        self._process.communicate(timeout=60)


def reader(place: str) -> None:
    """Search each word that a line of standard input names; say whether it was found."""
    with open_engine(place) as memory:
        for line in sys.stdin:
            word, owner = json.loads(line)
            hits = memory.search(word, scope=tuple(owner)).hits
            print(json.dumps(any(word in hit.record.text for hit in hits)), flush=True)


PARTS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "fill": fill,
    "measure": measure,
    "weigh": weigh,
    "reader": reader,
}

if __name__ == "__main__":
    found = PARTS[sys.argv[1]](**json.loads(sys.argv[2]))
    if found is not None:
        print(json.dumps(found))
