"""Proxy under load: overhead to the first byte of many streams, and health of a busy server.

``python -m bench.speed.proxy '{"home": FOLDER, "workers": 2}'`` prints one JSON object. Upstream
and proxy are processes of their own. The upstream answers like a model that writes 20 pieces a
second for 5 seconds, so that 50 streams at a time are ten new requests a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.speed.corpus import Corpus
from bench.speed.timing import quantiles

STREAMS = 50
CLIENTS = 20
PIECES = 100
PACE = 0.05
THINKING = 0.05
_PIECE = (
    b"data:"
    b' {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word'
    b' "},"finish_reason":null}]}\n\n'
)
_LAST = (
    b"data:"
    b' {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata:'
    b" [DONE]\n\n"
)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass(slots=True)
class LoadResult:
    """Seconds to first bytes, complete answers, and faults."""

    first: list[float] = field(default_factory=list)
    whole: int = 0
    faults: list[str] = field(default_factory=list)


async def upstream(port: int = 0, report_port: Callable[[int], None] = print) -> None:
    """Model server that answers every request with the same stream."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (
                        int(line[15:])
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length:")
                    ),
                    0,
                )
                await reader.readexactly(length)
                await asyncio.sleep(THINKING)
                writer.write(_HEAD)
                for _ in range(PIECES):
                    writer.write(b"%x\r\n%s\r\n" % (len(_PIECE), _PIECE))
                    await writer.drain()
                    await asyncio.sleep(PACE)
                writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(_LAST), _LAST))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    report_port(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def run_clients(
    port: int, questions: list[str], seconds: float, streams: int = STREAMS
) -> LoadResult:
    """Run ``streams`` clients that ask without pause for ``seconds``."""
    seen = LoadResult()
    until = time.monotonic() + seconds

    async def client(number: int) -> None:
        # Clients start at different times.
        await asyncio.sleep(number * PIECES * PACE / streams)
        turn = 0
        while time.monotonic() < until:
            await _ask(
                port, questions[(number * 31 + turn) % len(questions)], f"s{number}-{turn}", seen
            )
            turn += 1

    await asyncio.gather(*(client(number) for number in range(streams)))
    return seen


async def run_busy(port: int, questions: list[str], seconds: float) -> list[float]:
    """Seconds of ``GET /health`` while clients search, add and ask for context without pause."""
    until = time.monotonic() + seconds
    took = []

    async def client(number: int) -> None:
        turn = number
        while time.monotonic() < until:
            path, name = (("search", "query"), ("memories", "text"), ("context", "query"))[turn % 3]
            await _call(
                port,
                f"POST /v1/{path}",
                json.dumps({name: f"{questions[turn % len(questions)]} {turn}"}).encode(),
            )
            turn += CLIENTS

    clients = [asyncio.create_task(client(number)) for number in range(CLIENTS)]
    while time.monotonic() < until:
        start = time.perf_counter()
        await _call(port, "GET /health", b"")
        took.append(time.perf_counter() - start)
        await asyncio.sleep(0.05)
    await asyncio.gather(*clients)
    return took


async def _call(port: int, what: str, body: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"{what} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length:"
        f" {len(body)}\r\ncontent-type: application/json\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await reader.read()
    writer.close()


async def _ask(port: int, question: str, session: str, seen: LoadResult) -> None:
    body = json.dumps(
        {"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}
    ).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-engrams-session:"
        f" {session}\r\ncontent-length: {len(body)}\r\n"
    )
    start = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}content-type: application/json\r\n\r\n".encode() + body)
        told = await reader.readuntil(b"\r\n\r\n")
        answer = await reader.readuntil(b"data: ")
        seen.first.append(time.perf_counter() - start)
        while not answer.endswith(b"0\r\n\r\n"):
            piece = await reader.read(65536)
            if not piece:
                break
            answer = answer[-16:] + piece
        writer.close()
    except (OSError, asyncio.IncompleteReadError) as fault:
        seen.faults.append(type(fault).__name__)
        return
    good = told.startswith(b"HTTP/1.1 200") and b"[DONE]" in answer
    seen.whole += good
    if not good:
        seen.faults.append(
            told.split(b"\r\n")[0].decode("latin-1")
            if not told.startswith(b"HTTP/1.1 200")
            else "cut"
        )


@contextmanager
def start_process(
    *command: str, environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process; yields it and its first line."""
    started = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        assert started.stdout is not None
        yield started, started.stdout.readline()
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(60)


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return round(int(line.split()[1]) / 1024, 1)


@contextmanager
def run_proxied(home: str, workers: int = 1) -> Iterator[tuple[int, int, int]]:
    """Ports of an upstream and a proxy, and the proxy's process id."""
    with start_process(
        "-c",
        "import asyncio; from bench.speed.proxy import upstream;"
        " asyncio.run(upstream(report_port=lambda p: print(p, flush=True)))",
    ) as (_, port):
        settings = {
            "ENGRAMS_HOME": home,
            "ENGRAMS_USER": "bench",
            "ENGRAMS_SERVE__UPSTREAM": f"http://127.0.0.1:{int(port)}/v1",
        }
        settings |= {"ENGRAMS_SERVE__RATE_LIMIT": "0", "ENGRAMS_SERVE__WORKERS": str(workers)}
        with start_process(
            "-m", "engrams.program.entry", "serve", "--port", "0", environment=settings
        ) as (served, line):
            address = next(word for word in line.split() if word.startswith("http"))
            yield int(port), int(address.rsplit(":", 1)[1].partition("/")[0]), served.pid


def measure_proxy(
    home: str, seconds: float = 20.0, streams: int = STREAMS, workers: int = 1
) -> dict[str, Any]:
    """Compare first bytes with and without the proxy; its memory and health."""
    questions = Corpus(seed=5).questions(500)
    with run_proxied(home, workers) as (straight, through, pid):
        asyncio.run(run_clients(through, questions, PIECES * PACE, streams))
        before = resident_mb(pid)
        direct = asyncio.run(run_clients(straight, questions, seconds, streams))
        seen = asyncio.run(run_clients(through, questions, seconds, streams))
        after = resident_mb(pid)
        health = asyncio.run(run_busy(through, questions, seconds))
    beside = quantiles(direct.first)
    within = quantiles(seen.first)
    return {
        "streams": streams,
        "workers": workers,
        "seconds": seconds,
        "requests": len(seen.first),
        "faults": seen.faults + direct.faults,
        "upstream_first_ms": beside,
        "proxy_first_ms": within,
        "overhead_ms": {
            name: round(within[name] - beside[name], 3) for name in ("p50", "p95", "p99")
        },
        "resident_mb": {"before": before, "after": after},
        "health_ms": quantiles(health),
    }


if __name__ == "__main__":
    print(json.dumps(measure_proxy(**json.loads(sys.argv[1]))))
