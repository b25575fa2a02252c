"""Measure how many requests a server answers, and how soon it answers `/health` meanwhile.

`python -m bench.speed.health [--records N] [--clients N] [--seconds N] [--workers N] [--doors
search]`. Besides requests a second, which other programs on the machine take from, it tells the
server's own processor milliseconds for a request, and the clients': with two cores, 2000 divided by
both is about the most. `--framework` leaves the web framework to write every answer and to choose
the threads: it shows whether `engrams.surfaces.http.limited_route` still pays.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import re
import selectors
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engrams
from bench.speed.corpus import Corpus
from bench.speed.proxy import start_process
from bench.speed.timing import quantiles, to_turn

_PROGRAM = ("-m", "engrams.program.entry")
_FRAMEWORK_PROGRAM = (
    "-c",
    "from engrams.surfaces.http import limited_route\n"
    "limited_route._write_in_thread = lambda endpoint, status, threads: endpoint\n"
    "from engrams.program.entry import run\n"
    "run()\n",
)
"""The server without answers that are written in the thread of their function."""
_SERVE = (
    "serve",
    "--port",
    "0",
    "--user",
    "ada",
    "--set",
    "serve.rate_limit=0",
)
_LONG = ("monday january we walked to the harbour " * 2500)[:100_000]
_PIECE = 1 << 16
_DOORS = (("/v1/search", "query"), ("/v1/memories", "text"), ("/v1/context", "query"))


def main() -> None:
    """Print quantiles of `/health`, idle and under load."""
    asked = argparse.ArgumentParser(prog="python -m bench.speed.health", description=__doc__)
    asked.add_argument("--records", type=int, default=10_000)
    asked.add_argument("--clients", type=int, default=20)
    asked.add_argument("--seconds", type=float, default=20)
    asked.add_argument("--workers", type=int, default=1, help="processes of the server")
    asked.add_argument(
        "--doors", default="search,memories,context", help="paths below /v1 that the clients ask"
    )
    asked.add_argument(
        "--long", type=float, default=0.0, help="share of requests with 100 kB of text"
    )
    asked.add_argument(
        "--framework", action="store_true", help="serve without our ways past the framework"
    )
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with engrams.open(home=folder, user="ada", write__extract="off", jobs__workers=0) as memory:
            turns = [to_turn(line) for line in Corpus(seed=5).lines(given.records)]
            for start in range(0, len(turns), 500):
                memory.observe(turns[start : start + 500], scope=("user", "ada"))
        program = _FRAMEWORK_PROGRAM if given.framework else _PROGRAM
        with _serve(program, folder, given.workers) as (pid, port):
            time_health(port, 1)
            print(json.dumps({"idle": time_health(port, given.seconds / 4)}))
            before = processor_seconds(pid)
            busy = measure(port, given)
            used = 1000 * (processor_seconds(pid) - before) / busy["requests"]
            print(json.dumps({"busy": busy, "server_ms_a_request": round(used, 2)}))


@contextmanager
def _serve(program: tuple[str, ...], home: str, workers: int) -> Iterator[tuple[int, int]]:
    """Process id and port of a server."""
    with start_process(*program, *_SERVE, "--home", home, "--workers", str(workers)) as (
        process,
        line,
    ):
        found = re.search(r":(\d+)/", line)
        assert found, line
        yield process.pid, int(found[1])


def processor_seconds(pid: int) -> float:
    """Processor time of a process and its children so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if str(pid) in (path.parent.name, fields[1]):
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(port: int, given: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of `/health` while clients send requests;
    what the clients themselves need for one.
    """
    spawn = multiprocessing.get_context("spawn")
    told = spawn.SimpleQueue()
    clients = spawn.Process(target=_send_all, args=(port, given, told))
    clients.start()
    time.sleep(2)
    found = time_health(port, given.seconds - 3)
    done, seconds = told.get()
    clients.join(120)
    each = {
        "requests_a_second": round(done / given.seconds, 1),
        "client_ms_a_request": round(1000 * seconds / done, 2),
    }
    return {**found, "requests": done, **each}


def time_health(port: int, seconds: float) -> dict[str, float]:
    """Quantiles of `/health`, asked for every 30 ms on a connection of its own."""
    taken = list[float]()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        begun = time.perf_counter()
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
            line.request("GET", "/health")
            line.getresponse().read()
        taken.append(time.perf_counter() - begun)
        time.sleep(0.03)
    return {**quantiles(taken), "max": round(max(taken) * 1000, 1)}


@dataclass(slots=True)
class _Client:
    """One connection, and what it asks over it."""

    path: str
    field: str
    texts: list[str]
    chance: random.Random
    long: float
    line: socket.socket
    heard: bytearray = field(default_factory=bytearray)

    def ask(self) -> None:
        """Send the next request."""
        said = (
            _LONG
            if self.long and self.chance.random() < self.long
            else self.chance.choice(self.texts)
        )
        body = json.dumps({self.field: f"{said} {self.chance.random()}"}).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type:"
            f" application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.line.sendall(head.encode() + body)

    def hear(self) -> bool:
        """Receive what is there; True once the answer is whole."""
        piece = self.line.recv(_PIECE)
        if not piece:
            raise ConnectionError("the server closed a connection")
        self.heard += piece
        head = self.heard.find(b"\r\n\r\n")
        if head < 0:
            return False
        length = int(
            self.heard[:head].lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        )
        if len(self.heard) < head + 4 + length:
            return False
        assert self.heard.startswith(b"HTTP/1.1 2"), bytes(self.heard)
        json.loads(self.heard[head + 4 :])
        self.heard.clear()
        return True


def _send_all(port: int, given: argparse.Namespace, told: Any) -> None:
    """Send requests, each client on a connection of its own;
    tells how many, and the clients' processor seconds.
    """
    doors = [door for door in _DOORS if door[0].rpartition("/")[2] in given.doors.split(",")]
    texts = [
        [to_turn(line).text for line in Corpus(seed=number).lines(200)]
        for number in range(given.clients)
    ]
    with ExitStack() as stack, selectors.DefaultSelector() as lines:
        done = 0
        begun = time.process_time()
        ends = time.monotonic() + given.seconds
        for number in range(given.clients):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = _Client(
                *doors[number % len(doors)], texts[number], random.Random(number), given.long, line
            )
            lines.register(line, selectors.EVENT_READ, client)
            client.ask()
        while time.monotonic() < ends:
            for key, _ in lines.select(1):
                if key.data.hear():
                    done += 1
                    key.data.ask()
        told.put((done, time.process_time() - begun))


if __name__ == "__main__":
    main()
