"""Peers on the curve:
the same texts with the same vectors, filled once, then opened anew for each measurement.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.encoder import GivenVectors
from bench.peers.envs import PeerError, prepare_python
from bench.peers.remote import RemotePeer, RemoteTimes
from bench.speed.corpus import Corpus, Line
from bench.speed.curvestages import WARMING, pick_owners, read_memory
from bench.speed.timing import CallTimes, take_medians

if TYPE_CHECKING:
    from engrams.ports.models import Floats

PEERS = {"chroma": "Chroma", "langgraph": "LangGraph store", "fts5": "SQLite FTS5"}
_WORDS_ONLY = frozenset({"fts5"})
_BATCH = 1000
_FOUND = 8


@dataclass(frozen=True, slots=True)
class PeerPlan:
    """Plan of one peer's measurement: ``owners`` with ``each`` records.

    ``seconds``: most that one of its processes may take.
    """

    owners: int
    each: int
    rounds: int
    count: int
    seconds: float


def measure_peer(
    name: str, folder: Path, plan: PeerPlan, embed: Callable[[Sequence[str]], Floats]
) -> dict[str, float | str]:
    """Fill a peer's store and measure it; ``failure`` with the reason where it cannot run.

    ``folder`` is emptied before and after.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return _PeerRun(name, folder, plan, embed).measure()
    except PeerError as problem:
        return {"failure": str(problem)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _PeerRun:
    """Measurement of one peer in one folder."""

    def __init__(
        self, name: str, folder: Path, plan: PeerPlan, embed: Callable[[Sequence[str]], Floats]
    ) -> None:
        self._name = name
        self._plan = plan
        self._embed = embed
        self._python = prepare_python(name)
        self._kept = folder / "kept"
        self._folder = folder
        count = plan.count
        self._questions = Corpus(seed=5).questions(2 * count + WARMING)
        self._firsts = [Corpus(seed=3 + number).questions(1)[0] for number in range(plan.rounds)]
        self._added = [_say(line) for line in Corpus(seed=6).lines(count)]
        self._visited = [
            "" if plan.owners == 1 else f"u{number}" for number in pick_owners(plan.owners, count)
        ]

    def measure(self) -> dict[str, float | str]:
        """Measure a filled store in processes of its own."""
        about = self._fill()
        model = self._write_vectors("asked", [*self._questions, *self._firsts, *self._added])
        opened = []
        firsts = []
        for question in self._firsts:
            with self._start(model) as remote:
                opened.append(_to_times(remote.reopen(self._kept)))
                firsts.append(_to_times(remote.time_search(question, _FOUND, self._visited[0])))
        disk = sum(path.stat().st_blocks * 512 for path in self._kept.rglob("*") if path.is_file())
        times = take_medians("open", opened) | take_medians("first", firsts)
        return {"about": about, **times, "disk_mb": round(disk / 1e6, 3), **self._search(model)}

    def _fill(self) -> str:
        plan = self._plan
        lines = Corpus().lines(self._plan.owners * self._plan.each)
        model = self._write_vectors(
            "all", [_say(line) for line in Corpus().lines(plan.owners * plan.each)]
        )
        with self._start(model) as remote:
            about = remote.reopen(self._kept).about
            for owner in range(plan.owners):
                mine = (_say(line) for line in itertools.islice(lines, plan.each))
                for some in _batches(mine, owner * plan.each):
                    remote.time_fill(some, "" if plan.owners == 1 else f"u{owner}")
        if model:
            shutil.rmtree(model)
        return about

    def _search(self, model: Path | None) -> dict[str, float]:
        """Search, then write and search in turn."""
        count = self._plan.count
        asked = self._questions
        with self._start(model) as remote:
            remote.reopen(self._kept)
            for place, question in enumerate(asked[2 * count :]):
                remote.time_search(question, _FOUND, self._visited[place % count])
            visits = [
                remote.time_search(what, _FOUND, who)
                for who, what in zip(self._visited, asked[count:], strict=False)
            ]
            searches = [
                remote.time_search(what, _FOUND, who)
                for who, what in zip(self._visited, asked, strict=False)
            ]
            memory = read_memory(remote.process)
            adds = []
            reads = []
            for place, (text, who) in enumerate(zip(self._added, self._visited, strict=True)):
                adds.append(remote.time_fill([(f"added{place}", text)], who))
                reads.append(remote.time_search(asked[count + place], _FOUND, who))
        times = {"visit": visits, "search": searches, "after_write": reads, "add": adds}
        return memory | {
            name: value
            for key, some in times.items()
            for name, value in take_medians(key, [*map(_to_times, some)]).items()
        }

    def _start(self, model: Path | None) -> RemotePeer:
        return RemotePeer(self._python, self._name, model, self._plan.seconds)

    def _write_vectors(self, name: str, texts: Sequence[str]) -> Path | None:
        """Write the vectors that the peer will ask for, where it takes any."""
        if self._name in _WORDS_ONLY:
            return None
        different = list(dict.fromkeys(texts))
        GivenVectors.write(self._folder / name, different, self._embed(different))
        return self._folder / name


def _say(line: Line) -> str:
    return f"{line.speaker}: {line.text}"


def _to_times(taken: RemoteTimes) -> CallTimes:
    return CallTimes(taken.seconds, taken.processor)


def _batches(texts: Iterator[str], first: int) -> Iterator[list[tuple[str, str]]]:
    numbered = ((f"r{number}", text) for number, text in enumerate(texts, first))
    while some := list(itertools.islice(numbered, _BATCH)):
        yield some
