"""API processes over HTTP: `engrams serve`, one or two of them on one memory, and calls on each in
turn.

``python -m bench.fleet.serving NAME JSON`` prints one JSON object.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from bench.fleet.cells import WARMING, GridCell, find_home, make_lines, name_user
from bench.fleet.databases import (
    count_connections,
    count_logged_bytes,
    count_transactions,
    read_process_seconds,
    sum_server_seconds,
)
from bench.fleet.side_by_side import SideBySideTimer
from bench.speed.corpus import Corpus

_START_SECONDS = 60.0
_COUNTED_SECONDS = 11.0
_CLIENTS = 4
"""Clients at the same time, where searches a second are counted."""
_ENGRAMS = [sys.executable, "-m", "engrams.program.entry"]


class ApiClient:
    """Client that keeps one connection to an API."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def search(self, user: str, text: str) -> list[str]:
        """Texts that it finds."""
        answer = self._post("/v1/search", user, {"query": text, "limit": 10})
        return [hit["memory"]["text"] for hit in answer["hits"]]

    def add(self, user: str, text: str) -> None:
        """Remember a text."""
        self._post("/v1/memories", user, {"text": text})

    def close(self) -> None:
        self._connection.close()

    def _post(self, path: str, user: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "X-Engrams-User": user}
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return json.loads(content)


class EngramsProcess:
    """`engrams serve` or `engrams work` on a memory, and a client of it."""

    def __init__(self, command: str, place: str, number: int) -> None:
        """``place``:
        a folder, or the address of a database. ``number``: which process on it this is.
        """
        self.port = _find_port()
        home = str(find_home() / f"home{number}") if "://" in place else place
        given = {
            "HOME": home,
            "JOBS__WORKERS": "0" if command == "serve" else "2",
            "SERVE__RATE_LIMIT": "0",
        }
        given |= {"STORE__URL": place} if "://" in place else {}
        env = {**os.environ, **{f"ENGRAMS_{name}": value for name, value in given.items()}}
        self._log = (find_home() / f"{command}.log").open("ab")
        words = [*_ENGRAMS, command, "--port", str(self.port)]
        self._process = subprocess.Popen(words, env=env, stdout=self._log, stderr=self._log)
        self.client = ApiClient(self.port)

    def wait(self) -> None:
        """Wait until it is ready; the run ends where it does not become so."""
        limit = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < limit:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"engrams did not start: {find_home()}/*.log says why")

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        return read_process_seconds(self._process.pid)

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(90)
        self._log.close()


@contextmanager
def run_processes(command: str, place: str, number: int) -> Iterator[list[EngramsProcess]]:
    """Start processes on one memory, and end them."""
    with ExitStack() as stack:
        started = []
        for one in range(number):
            process = EngramsProcess(command, place, one)
            stack.callback(process.close)
            started.append(process)
        for process in started:
            process.wait()
        yield started


def measure_serving(
    places: Mapping[str, str], cell: str, processes: int, count: int
) -> dict[str, Any]:
    """Time calls over HTTP on each memory, with as many API processes on each."""
    users = [name_user(number) for number in GridCell.parse(cell).visited()]
    timer = SideBySideTimer()
    questions = Corpus(seed=21).questions(count)
    lines = [line.text for line in make_lines(count // 2)]
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(run_processes("serve", place, processes))
            for name, place in places.items()
        }
        served = {name: [one.client for one in some] for name, some in started.items()}
        for question, apis in itertools.product(questions[:10], served.values()):
            for api in apis:
                api.search(name_user(WARMING), question)
        for turn, user in itertools.product(range(processes), users):
            timer.take(
                "cold",
                served,
                lambda apis, turn=turn, user=user: apis[turn].search(user, questions[0]),
            )
        for number, question in enumerate(questions):
            user = users[number // processes % len(users)]
            timer.take(
                "search",
                served,
                lambda apis, n=number, user=user, q=question: apis[n % processes].search(user, q),
            )
        for number, text in enumerate(lines):
            user = users[number % len(users)]
            timer.take(
                "add",
                served,
                lambda apis, n=number, user=user, text=text: apis[n % processes].add(user, text),
            )
        for number in range(count // 2):
            _search_elsewhere(served, users[number % len(users)], number, timer)
        rates = {
            name: _count_per_second([one.port for one in some], users, questions)
            for name, some in started.items()
        }
    return {
        name: {**figures, "per_second": rates[name]} for name, figures in timer.summarize().items()
    }


def _search_elsewhere(
    served: Mapping[str, Sequence[ApiClient]], user: str, number: int, timer: SideBySideTimer
) -> None:
    """Add at one API and search at the next one, which must find it."""
    word = f"zarf{random.randrange(10**9)}"
    for apis in served.values():
        apis[number % len(apis)].add(user, f"The key of cabinet {number} is {word}.")

    def find(apis: Sequence[ApiClient]) -> None:
        if not any(word in text for text in apis[(number + 1) % len(apis)].search(user, word)):
            raise SystemExit(f"another API did not find {word!r} of {user}")

    timer.take("elsewhere", served, find)


def _count_per_second(
    ports: Sequence[int], users: Sequence[str], questions: Sequence[str]
) -> float:
    """Searches a second of several clients, each at one of the APIs."""
    each = len(questions) // 2

    def ask(number: int) -> None:
        client = ApiClient(ports[number % len(ports)])
        for at, question in enumerate(questions[:each]):
            client.search(users[(at + number) % len(users)], question)
        client.close()

    start = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(ask, range(_CLIENTS)))
    return round(_CLIENTS * each / (time.perf_counter() - start), 1)


def measure_costs(server: str, place: str, cell: str, count: int, rest: float) -> dict[str, float]:
    """Measure what one API, and Postgres behind it, spend on a call and on nothing.

    Milliseconds of processor time for a search of a loaded owner, for an owner's first one, and for
    an add; on Postgres also bytes of its log for an add, and connections and transactions a second
    of an API that rests for as many seconds.
    """
    users = [name_user(number) for number in GridCell.parse(cell).visited()]
    questions = Corpus(seed=31).questions(count)
    lines = [line.text for line in make_lines(count)]
    shared = "://" in place
    found = dict[str, float]()
    with run_processes("serve", place, 1) as (api,):
        spent = _CostMeter(place if shared else "", api)
        for question in questions[:20]:
            api.client.search(name_user(WARMING), question)
        found |= spent.measure(
            "cold", [lambda user=user: api.client.search(user, questions[0]) for user in users]
        )
        calls = zip(itertools.cycle(users), questions, strict=False)
        found |= spent.measure(
            "search",
            [lambda user=user, text=text: api.client.search(user, text) for user, text in calls],
        )
        logged = count_logged_bytes(place) if shared else 0
        calls = zip(itertools.cycle(users), lines, strict=False)
        found |= spent.measure(
            "add", [lambda user=user, text=text: api.client.add(user, text) for user, text in calls]
        )
        if shared:
            found["add_log_bytes"] = round((count_logged_bytes(place) - logged) / count)
            found |= _measure_rest(server, place, "api", rest)
    return found


def measure_idle_workers(server: str, place: str, rest: float) -> dict[str, float]:
    """Connections and transactions a second of a worker at rest, on a database without jobs."""
    with run_processes("work", place, 2):
        return {
            name: value / 2 for name, value in _measure_rest(server, place, "worker", rest).items()
        }


def _measure_rest(server: str, place: str, who: str, rest: float) -> dict[str, float]:
    # What a connection did before it came to rest is counted up to ten seconds later.
    time.sleep(min(rest, _COUNTED_SECONDS))
    name = urlsplit(place).path.strip("/")
    before = count_transactions(server, name)
    start = time.perf_counter()
    time.sleep(rest)
    rate = (count_transactions(server, name) - before) / (time.perf_counter() - start)
    return {
        f"{who}_idle_per_second": round(rate, 2),
        f"{who}_connections": count_connections(place),
    }


class _CostMeter:
    """Processor time of an API, and of Postgres' processes for it, for calls."""

    def __init__(self, server: str, api: EngramsProcess) -> None:
        self._server = server
        self._api = api

    def measure(self, what: str, calls: Sequence[Callable[[], Any]]) -> dict[str, float]:
        """Milliseconds a call, of the API and of the server."""
        before = self._read()
        for call in calls:
            call()
        spent = [
            1000 * (late - early) / len(calls)
            for early, late in zip(before, self._read(), strict=True)
        ]
        return {f"{what}_api_ms": round(spent[0], 3)} | (
            {f"{what}_server_ms": round(spent[1], 3)} if self._server else {}
        )

    def _read(self) -> tuple[float, float]:
        return self._api.seconds, sum_server_seconds(
            self._server, whole=False
        ) if self._server else 0.0


def _find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "serving": measure_serving,
    "costs": measure_costs,
    "idle": measure_idle_workers,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](**json.loads(sys.argv[2]))))
