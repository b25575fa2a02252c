"""Health of a server that is busy: real processes, real load."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import engrams
from engrams.core import Turn

START = [
    sys.executable,
    "-m",
    "engrams.program.entry",
    "serve",
    "--port",
    "0",
    "--user",
    "ada",
]


@contextmanager
def served(home: Path, **options: str) -> Iterator[int]:
    """Port of `engrams serve`, which is killed: its work hangs."""
    environment = {**os.environ, "ENGRAMS_HOME": str(home), "ENGRAMS_SERVE__RATE_LIMIT": "0"}
    environment |= {f"ENGRAMS_{name.upper()}": value for name, value in options.items()}
    with subprocess.Popen(
        START, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield int(
                next(word for word in line.split() if word.startswith("http"))
                .split(":")[2]
                .partition("/")[0]
            )
        finally:
            process.kill()


def send(port: int, path: str, body: bytes) -> http.client.HTTPConnection:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    line.request("POST", path, body, {"content-type": "application/json"})
    return line


def ask(port: int, path: str) -> tuple[float, int]:
    """Seconds and status of one GET on a connection of its own."""
    begun = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
        line.request("GET", path)
        answer = line.getresponse()
        answer.read()
    return time.perf_counter() - begun, answer.status


def test_health_answers_while_all_workers_wait(home: Path) -> None:
    """Where every worker waits for an embedder that never answers, health and readiness are told at
    once.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        embedder = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with served(
            home,
            embed__provider="openai",
            embed__url=embedder,
            embed__model="m",
            embed__dimension="8",
        ) as port:
            assert ask(port, "/ready")[1] == 200
            chat = json.dumps([{"role": "user", "content": "I live in Oslo."}]).encode()
            hanging = [send(port, "/v1/import", chat) for _ in range(12)]
            hanging += [
                send(port, "/v1/search", b'{"query": "where do I live?"}') for _ in range(60)
            ]
            ask(port, "/health")  # A slow machine takes its time to read what was sent.
            took = [ask(port, path) for path in ("/health", "/ready", "/health", "/ready")]
            for line in hanging:
                line.close()
    assert [status for _, status in took] == [200] * 4
    assert max(seconds for seconds, _ in took) < 2


@pytest.mark.slow
def test_health_answers_quickly_under_load(home: Path) -> None:
    """Health and readiness answer in a fraction of a second while twenty clients search, add and
    import long texts.
    """
    with engrams.open(home=home, user="ada", jobs__workers=0) as memory:
        for first in range(0, 5000, 500):
            memory.observe(
                [
                    Turn(f"Day {n}: somebody walked to harbour {n % 97}")
                    for n in range(first, first + 500)
                ],
                scope=("user", "ada"),
            )
    long = ("monday january we walked to the harbour " * 2500)[:100_000]

    def work(number: int, port: int, ends: float) -> None:
        while time.monotonic() < ends:
            text = long if random.random() < 0.2 else "Who walked to the harbour"
            path, field = (
                ("/v1/search", "query"),
                ("/v1/memories", "text"),
                ("/v1/context", "query"),
            )[number % 3]
            send(
                port, path, json.dumps({field: f"{text} {random.random()}"}).encode()
            ).getresponse().read()

    with served(home) as port:
        ask(port, "/health")
        ends = time.monotonic() + 15
        clients = [
            threading.Thread(target=work, args=(number, port, ends), daemon=True)
            for number in range(20)
        ]
        for client in clients:
            client.start()
        took = []
        while time.monotonic() < ends:
            took += [ask(port, path) for path in ("/health", "/ready")]
            time.sleep(0.05)
        for client in clients:
            client.join(120)
    assert {status for _, status in took} == {200}
    assert sorted(seconds for seconds, _ in took)[int(len(took) * 0.95)] < 1
