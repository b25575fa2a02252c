"""Filling and measuring of one cell of the grid, each in a process of its own.

``python -m bench.fleet.parts NAME JSON`` prints one JSON object; ``reader`` answers questions of another process instead.
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
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import engrams
from bench.speed.corpus import Corpus
from bench.speed.timing import quantiles, time_call, to_turn
from engrams import MemoryEngine

Owner: TypeAlias = tuple[str, str]
T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
_BATCH = 500
_WARMING = ("user", "warm-up")
"""Owner whose searches warm a process up before another owner is met for the first time."""


def open_engine(place: str, **options: Any) -> MemoryEngine:
    """Open the memory in a folder or at an address; no job runs beside."""
    if "://" in place:
        return engrams.open(home=str(ROOT / "bench" / "out" / "fleet" / "home"), store={"url": place}, jobs__workers=0, **options)
    return engrams.open(home=place, jobs__workers=0, **options)


def name_owner(cell: str, number: int) -> Owner:
    return ("user", f"{cell}-{number}")


def fill(places: Mapping[str, str], cell: str, owners: int, each: int) -> dict[str, Any]:
    """Write the turns that a cell lacks; the same texts to every store."""
    result = {}
    for name, place in places.items():
        start, written = time.perf_counter(), 0
        with open_engine(place, write__extract="off") as memory:
            for number in range(-1, owners):
                owner = _WARMING if number < 0 else name_owner(cell, number)
                held = memory.stats(owner)["kind"].get("turn", 0)
                lines = map(to_turn, itertools.islice(Corpus(seed=100 + number).lines(each), held, None))
                while some := list(itertools.islice(lines, _BATCH)):
                    memory.observe(some, scope=owner)
                    written += len(some)
                print(f"\r{cell}, {name}: {number + 1} of {owners} owners ", end="", file=sys.stderr, flush=True)
        seconds = time.perf_counter() - start
        result[name] = {"written": written, "per_second": round(written / seconds) if written else None}
    print(file=sys.stderr)
    return result


class SideBySideTimer:
    """Times of the same calls on several stores, in turn, so that a busy moment meets all of them."""

    def __init__(self) -> None:
        self._times: dict[str, dict[str, list[float]]] = {}

    def take(self, what: str, targets: Mapping[str, T], call: Callable[[T], Any]) -> None:
        """Time one call on each target, beginning with another one each time."""
        for name in targets:
            self._times.setdefault(name, {}).setdefault(what, [])
        backwards = len(self._times[next(iter(targets))][what]) % 2 == 1
        for name in sorted(targets, reverse=backwards):
            self._times[name][what].append(time_call(partial(call, targets[name])))

    def summarize(self) -> dict[str, Any]:
        """Quantiles in milliseconds, by store and call."""
        return {name: {what: quantiles(some) for what, some in mine.items()} for name, mine in self._times.items()}


def measure(places: Mapping[str, str], cell: str, owners: int, count: int) -> dict[str, Any]:
    """Time searches and writes on each store."""
    visited = [name_owner(cell, number) for number in random.Random(5).sample(range(owners), min(owners, 40))]
    questions, timer = Corpus(seed=3).questions(count), SideBySideTimer()
    lines = map(to_turn, Corpus(seed=7).lines(2 * count))
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
        for owner, turn in zip(itertools.cycle(visited), itertools.islice(lines, count), strict=False):
            timer.take("add", engines, methodcaller("add", turn, scope=owner, settle=False))
        for owner, turn in zip(itertools.cycle(visited), itertools.islice(lines, count // 4), strict=False):
            timer.take("settled", engines, methodcaller("add", turn, scope=owner))
        _search_elsewhere(places, engines, visited, count // 2, timer)
    return timer.summarize()


@contextmanager
def _open_all(places: Mapping[str, str]) -> Iterator[dict[str, MemoryEngine]]:
    """Open an engine on each store, with its code and connections warm."""
    with ExitStack() as stack:
        engines = {name: stack.enter_context(open_engine(place)) for name, place in places.items()}
        for question in Corpus(seed=9).questions(12):
            for one in engines.values():
                one.search(question, scope=_WARMING)
        yield engines


def _search_elsewhere(
    places: Mapping[str, str], engines: Mapping[str, MemoryEngine], visited: Sequence[Owner], count: int, timer: SideBySideTimer
) -> None:
    """Add here and search in another process, which must find it."""
    readers = {name: RemoteReader(place) for name, place in places.items()}
    try:
        for number, owner in zip(range(count), itertools.cycle(visited), strict=False):
            word = f"quux{random.Random(number).randrange(10**9)}"
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
        command = [sys.executable, "-m", "bench.fleet.parts", "reader", json.dumps({"place": place})]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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


PARTS: dict[str, Callable[..., dict[str, Any] | None]] = {"fill": fill, "measure": measure, "reader": reader}

if __name__ == "__main__":
    found = PARTS[sys.argv[1]](**json.loads(sys.argv[2]))
    if found is not None:
        print(json.dumps(found))
