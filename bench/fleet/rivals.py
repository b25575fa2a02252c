"""Other memories beside engrams on one server: the same texts, questions and vectors, each in a
process of its own, in turn.

What is filled in bulk is not timed. Adds and searches are; so is what a new process needs until its
first answer.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import psycopg

from bench.fleet.cells import OURS, GridCell, make_lines, name_user
from bench.fleet.databases import (
    make_database,
    measure_bytes,
    read_process_seconds,
    settle_database,
    sum_server_seconds,
)
from bench.fleet.side_by_side import SideBySideTimer
from bench.peers.envs import PeerError, prepare_python
from bench.peers.remote import PeerProcess
from bench.speed.corpus import Corpus

LIMIT = 10
"""Results asked of each search."""
_HELD = {
    "langgraphpostgres": "SELECT split_part(prefix, '.', 2), count(*) FROM store GROUP BY 1",
    "mem0pgvector": "SELECT payload->>'user_id', count(*) FROM memories GROUP BY 1",
}
_BATCH = 500
_SECONDS = 7200.0
_STARTS = 3


class RivalProcess(PeerProcess):
    """Worker of one memory; seconds are taken next to its calls. PeerError: it failed."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(
            [str(prepare_python(name)), "-m", "bench.fleet.peer_worker", name, url], _SECONDS
        )

    def open(self) -> tuple[str, float]:
        """Open the memory; its description, and seconds with those of its import."""
        answer = self.ask({"do": "open"})
        return str(answer["about"]), float(answer["seconds"])

    def fill(self, user: str, texts: Sequence[str]) -> None:
        """Store many texts, untimed."""
        self.ask({"do": "fill", "owner": user, "texts": list(texts)})

    def add(self, user: str, text: str) -> float:
        """Seconds to store a text."""
        return float(self.ask({"do": "add", "owner": user, "text": text})["seconds"])

    def search(self, user: str, text: str) -> tuple[float, list[str]]:
        """Seconds of a search, and the texts found."""
        answer = self.ask({"do": "search", "owner": user, "text": text, "limit": LIMIT})
        return float(answer["seconds"]), answer["texts"]


def measure_rivals(
    server: str, ours: str, cell: GridCell, names: Iterable[str], count: int
) -> dict[str, Any]:
    """Fill and measure each, engrams at the address ``ours``;
    figures by name, or ``{"failure": why}``.
    """
    result: dict[str, Any] = {}
    urls = {OURS: ours}
    for name in names:
        url = make_database(server, f"{name}_{cell.name}")
        try:
            _fill(name, url, cell)
        except PeerError as problem:
            result[name] = {"failure": str(problem)}
            continue
        settle_database(url)
        urls[name] = url
    empty = measure_bytes(make_database(server, "empty"))
    sizes = {name: round((measure_bytes(url) - empty) / cell.weight) for name, url in urls.items()}
    timed = _time_all(urls, cell, count)
    return result | {
        name: {"database_bytes": sizes[name], **figures} for name, figures in timed.items()
    }


def _fill(name: str, url: str, cell: GridCell) -> None:
    """Write the texts that a memory lacks of a cell."""
    with RivalProcess(name, url) as worker:
        worker.open()
        # Its tables are made at the first write or search.
        worker.search(name_user(0), "Is anybody there?")
        with psycopg.connect(url) as connection:
            held: dict[str, int] = dict(connection.execute(_HELD[name].encode()).fetchall())
        for number in cell.numbers:
            user = name_user(number)
            texts = (line.text for line in cell.lines(number, held.get(user, 0)))
            while some := list(itertools.islice(texts, _BATCH)):
                worker.fill(user, some)
            print(
                f"\r{cell.name}, {name}: {number + 1:,} of {cell.owners:,} owners ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(file=sys.stderr)


def _time_all(urls: dict[str, str], cell: GridCell, count: int) -> dict[str, Any]:
    timer = SideBySideTimer()
    users = [name_user(number) for number in cell.visited()]
    questions = Corpus(seed=13).questions(count + _STARTS)
    lines = make_lines(count)
    for user, question in zip(itertools.cycle(users), questions[:_STARTS], strict=False):
        _time_starts(urls, user, question, timer)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(RivalProcess(name, url)) for name, url in urls.items()}
        about = {name: worker.open()[0] for name, worker in workers.items()}
        for user in users:
            for worker in workers.values():
                worker.search(user, questions[0])
        found: dict[str, int] = dict.fromkeys(urls, 0)
        again: dict[str, int] = dict.fromkeys(urls, 0)

        def search(name: str, user: str, question: str) -> float:
            seconds, texts = workers[name].search(user, question)
            found[name] += len(texts)
            return seconds

        places = {name: name for name in urls}
        spent = [_sum_seconds(workers, urls)]
        for user, question in zip(itertools.cycle(users), questions[_STARTS:], strict=False):
            timer.note(
                "search",
                places,
                lambda name, user=user, question=question: search(name, user, question),
            )
        spent.append(_sum_seconds(workers, urls))
        added = list(zip(itertools.cycle(users), (line.text for line in lines), strict=False))
        for user, text in added:
            timer.note("add", workers, lambda worker, user=user, text=text: worker.add(user, text))
        spent.append(_sum_seconds(workers, urls))
        for (user, text), (name, worker) in itertools.product(added, workers.items()):
            again[name] += text in worker.search(user, text)[1]
    return {
        name: {
            "about": about[name],
            "found": round(found[name] / count, 2),
            "again": round(again[name] / count, 3),
            "search_processor_ms": round(1000 * (spent[1][name] - spent[0][name]) / count, 3),
            "add_processor_ms": round(1000 * (spent[2][name] - spent[1][name]) / count, 3),
            **figures,
        }
        for name, figures in timer.summarize().items()
    }


def _sum_seconds(workers: Mapping[str, RivalProcess], urls: Mapping[str, str]) -> dict[str, float]:
    """Processor time of each memory so far: of its process, and of Postgres for it."""
    return {
        name: read_process_seconds(worker.process) + sum_server_seconds(urls[name], whole=False)
        for name, worker in workers.items()
    }


def _time_starts(urls: dict[str, str], user: str, question: str, timer: SideBySideTimer) -> None:
    """Time a new process of each until it is open, and its first search."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(RivalProcess(name, url)) for name, url in urls.items()}
        timer.note("open", workers, lambda worker: worker.open()[1])
        timer.note("first", workers, lambda worker: worker.search(user, question)[0])


def main() -> None:
    """Measure what the arguments name as JSON; print one JSON object."""
    given = json.loads(sys.argv[1])
    print(
        json.dumps(
            measure_rivals(
                given["server"],
                given["ours"],
                GridCell.parse(given["cell"]),
                given["names"],
                given["count"],
            )
        )
    )


if __name__ == "__main__":
    main()
