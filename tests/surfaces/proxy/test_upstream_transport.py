"""Connections to an upstream on this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from types import FrameType

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import ANSWER, DONE, Harness, chunk
from tests.surfaces.proxy.raw import Close, Drop, Raw, opening, piece, raw_upstream, reply

from engrams.program.registry import create_app
from engrams.testing import temp_engine


def test_a_piece_of_a_stream_costs_little() -> None:
    """A piece goes through few functions on its way from the upstream to the client."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    def stream(raw: Raw, url: str, number: int) -> int:
        before = calls
        events = [threading.Event() for _ in range(number)]
        steps = [step for event in events for step in (piece(chunk("word ")), event)]
        raw.says(opening(), *steps, piece(DONE), piece(b""))
        asked = {
            "model": "m",
            "stream": True,
            "messages": [{"role": "user", "content": f"Tell me {number}."}],
        }
        with httpx2.stream("POST", f"{url}/v1/chat/completions", json=asked) as answer:
            for event, _ in zip([*events, threading.Event()], answer.iter_raw(), strict=False):
                event.set()
        return calls - before

    with (
        raw_upstream() as raw,
        temp_engine(serve__upstream=raw.url + "/v1", enabled=False) as engine,
    ):
        app = create_app(engine, engine.settings)
        threading.setprofile(count)
        try:
            with running(app) as url:
                stream(raw, url, 1)
                few = stream(raw, url, 10)
                many = stream(raw, url, 50)
        finally:
            threading.setprofile(None)
    assert (many - few) / 40 < 40


def test_answers_of_every_framing(bench: Harness) -> None:
    """Early hints and trailers are passed over;
    a body without a length ends with its connection; lines may end without a return.
    """
    bench.raw.says(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", reply(b"one"))
    assert bench.client.get("/v1/x").content == b"one"
    assert "link" not in bench.client.get("/v1/x").headers
    bench.raw.says(opening(kind="text/plain"), piece(b"two"), b"0\r\nX-Trailer: 1\r\n\r\n")
    assert (
        bench.client.get("/v1/x").content,
        "x-trailer" in bench.client.get("/v1/x").headers,
    ) == (b"two", False)
    bench.raw.says(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nthree", Close())
    assert bench.client.get("/v1/x").content == b"three"
    bench.raw.says(b"HTTP/1.1 200 OK\nContent-Length: 4\n\nfour")
    assert bench.client.get("/v1/x").content == b"four"


def test_what_follows_an_answer_is_nobodys(bench: Harness) -> None:
    """Bytes behind an answer are not taken for the answer to the next request."""
    bench.raw.says(reply(b"mine") + reply(b"forged"))
    assert bench.client.get("/v1/x").content == b"mine"
    bench.raw.says(reply(b"next"))
    assert bench.client.get("/v1/x").content == b"next"


def test_a_head_answer_leaves_no_length_behind(bench: Harness) -> None:
    """The request after HEAD gets its own answer."""
    bench.raw.says(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
    assert bench.client.head("/v1/models").headers["content-length"] == "12"
    bench.raw.says(reply(b"whole"))
    assert bench.client.get("/v1/models").content == b"whole"


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_no_http_is_no_answer(bench: Harness, said: bytes) -> None:
    """Another protocol and a head without an end are told as an upstream that cannot be used."""
    bench.raw.says(said)
    answer = bench.client.get("/v1/x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unreachable")


def test_a_large_answer_comes_whole(bench: Harness) -> None:
    """An answer much larger than what is held comes whole, and so does a large request."""
    body = bytes(range(256)) * 100_000
    bench.raw.says(reply(body))
    assert bench.client.post("/v1/files", content=body).content == body
    assert bench.raw.last.body == body


@pytest.mark.parametrize(
    ("said", "status"),
    [(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", 413), (b"", 502)],
)
def test_an_upload_that_the_upstream_cuts_off(said: bytes, status: int) -> None:
    """An answer that comes before the whole request is passed on; an end without one is told."""

    def hear(listener: socket.socket) -> None:
        line, _ = listener.accept()
        with line:
            line.recv(65536)
            line.sendall(said)

    def parts() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 1000
            time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hear, args=(listener,), daemon=True).start()
        upstream = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with (
            temp_engine(serve__upstream=upstream) as engine,
            running(create_app(engine, engine.settings)) as url,
        ):
            assert httpx2.post(f"{url}/v1/files", content=parts()).status_code == status


def test_a_closed_connection_is_not_used_again(bench: Harness) -> None:
    """After an answer that closes its connection, and after one that the upstream closed later, the
    next request is answered.
    """
    for said in (reply(b"a", "200 OK", "Connection: close"), reply(b"b")):
        bench.raw.says(said, Drop())
        assert bench.client.get("/v1/x").content == said[-1:]
        bench.raw.says(reply(b"c"))
        assert bench.client.get("/v1/x").content == b"c"


def test_streams_keep_their_connection(bench: Harness) -> None:
    """A stream that was read to its end leaves its connection to the next one."""
    bench.raw.says(opening(), *(piece(one) for one in ANSWER), piece(b""))
    told = [bench.ask("Hello there.", stream=True).content for _ in range(3)]
    assert told == [b"".join(ANSWER)] * 3
