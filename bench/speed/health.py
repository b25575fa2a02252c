"""Measure how many requests a server answers, and how soon it answers `/health` meanwhile.

`python -m bench.speed.health [--records N] [--clients N] [--seconds N] [--workers N] [--doors search]`. Besides requests a second, which
other programs on the machine take from, it tells the server's own processor milliseconds for a request: with two cores, of which the
clients need a part, 2000 divided by that is about the most.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import engrams
from bench.speed.corpus import Corpus
from bench.speed.proxy import start_process
from bench.speed.timing import quantiles, to_turn

_SERVE = ("-m", "engrams.surfaces.cli.entry", "serve", "--port", "0", "--user", "ada", "--set", "serve.rate_limit=0")
_LONG = ("monday january we walked to the harbour " * 2500)[:100_000]
_DOORS = (("/v1/search", "query"), ("/v1/memories", "text"), ("/v1/context", "query"))


def main() -> None:
    """Print quantiles of `/health`, idle and under load."""
    asked = argparse.ArgumentParser(prog="python -m bench.speed.health", description=__doc__)
    asked.add_argument("--records", type=int, default=10_000)
    asked.add_argument("--clients", type=int, default=20)
    asked.add_argument("--seconds", type=float, default=20)
    asked.add_argument("--workers", type=int, default=1, help="processes of the server")
    asked.add_argument("--doors", default="search,memories,context", help="paths below /v1 that the clients ask")
    asked.add_argument("--long", type=float, default=0.0, help="share of requests with 100 kB of text")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with engrams.open(home=folder, user="ada", write__extract="off", jobs__workers=0) as memory:
            turns = [to_turn(line) for line in Corpus(seed=5).lines(given.records)]
            for start in range(0, len(turns), 500):
                memory.observe(turns[start : start + 500], scope=("user", "ada"))
        with _serve(folder, given.workers) as (pid, port):
            time_health(port, 1)
            print(json.dumps({"idle": time_health(port, given.seconds / 4)}))
            before = processor_seconds(pid)
            busy = measure(port, given)
            used = 1000 * (processor_seconds(pid) - before) / busy["requests"]
            print(json.dumps({"busy": busy, "server_ms_a_request": round(used, 2)}))


@contextmanager
def _serve(home: str, workers: int) -> Iterator[tuple[int, int]]:
    """Process id and port of a server."""
    with start_process(*_SERVE, "--home", home, "--workers", str(workers)) as (process, line):
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
    """Milliseconds of `/health` while clients send requests."""
    spawn = multiprocessing.get_context("spawn")
    done = spawn.Value("i", 0)
    clients = spawn.Process(target=_send_all, args=(port, given, done))
    clients.start()
    time.sleep(2)
    found = time_health(port, given.seconds - 3)
    clients.join(120)
    return {**found, "requests": done.value, "requests_a_second": round(done.value / given.seconds, 1)}


def time_health(port: int, seconds: float) -> dict[str, float]:
    """Quantiles of `/health`, asked for every 30 ms on a connection of its own."""
    taken, ends = list[float](), time.monotonic() + seconds
    while time.monotonic() < ends:
        begun = time.perf_counter()
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
            line.request("GET", "/health")
            line.getresponse().read()
        taken.append(time.perf_counter() - begun)
        time.sleep(0.03)
    return {**quantiles(taken), "max": round(max(taken) * 1000, 1)}


def _send_all(port: int, given: argparse.Namespace, done: Any) -> None:
    """Send requests, each client on a connection of its own, with little work of the clients' own."""
    asyncio.run(_run_clients(port, given, done))


async def _run_clients(port: int, given: argparse.Namespace, done: Any) -> None:
    ends = time.monotonic() + given.seconds
    doors = [door for door in _DOORS if door[0].rpartition("/")[2] in given.doors.split(",")]

    async def work(number: int) -> None:
        chance = random.Random(number)
        texts = [to_turn(line).text for line in Corpus(seed=number).lines(200)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            while time.monotonic() < ends:
                path, field = doors[number % len(doors)]
                said = _LONG if chance.random() < given.long else chance.choice(texts)
                body = json.dumps({field: f"{said} {chance.random()}"})
                head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(f"{head}{body}".encode())
                answer = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
                done.value += 1

    await asyncio.gather(*map(work, range(given.clients)))


if __name__ == "__main__":
    main()
