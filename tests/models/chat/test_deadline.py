"""One deadline for the whole call, whatever the server does with its bytes."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from engrams.errors import ModelError, SettingsError
from engrams.models.http_client import HttpClient


@contextmanager
def dripping(opening: bytes, drop: bytes) -> Iterator[str]:
    """A server that answers with ``opening`` and then a drop every 20 ms until its caller gives up."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65_536)
                    connection.sendall(opening)
                    while not ended.wait(0.02):
                        connection.sendall(drop)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.fixture
def wires() -> Iterator[list[HttpClient]]:
    made: list[HttpClient] = []
    yield made
    for wire in made:
        wire.close()


@pytest.mark.parametrize(
    ("opening", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n"),
        (b"", b"H"),
    ],
    ids=["body", "chunks", "headers", "status"],
)
def test_a_server_that_drips_is_left_in_time(wires, opening: bytes, drop: bytes) -> None:
    """A byte every now and then, in the body or in the headers, does not keep a call beyond its
    deadline.
    """
    with dripping(opening, drop) as url:
        wires.append(HttpClient(url, {}))
        with pytest.raises(
            ModelError, match=r"no complete answer within 0.15 seconds|broke"
        ) as caught:
            wires[0].post("/v1/chat/completions", {}, 0.15)
        assert caught.value.retryable


def test_a_whole_ask_has_one_deadline(connect, ask, server) -> None:
    """Retries and waits count:
    an ask that keeps failing ends with its own time-out, long before its tries are used up.
    """
    server.fail("hang", times=50)
    model = connect(server, timeout=0.05, retries=40)
    with pytest.raises(ModelError):
        model.ask(ask(timeout=0.3))
    assert 1 <= len(server.requests) < 15
    with pytest.raises(ModelError, match="took longer than 0 seconds"):
        model.ask(ask(timeout=0))


def test_an_endless_answer_is_cut_off(wires) -> None:
    """An answer of more than 16 MB is refused for good."""
    with dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n", b" " * 2_000_000) as url:
        wires.append(HttpClient(url, {}))
        with pytest.raises(ModelError, match="larger than") as caught:
            wires[0].post("/", {}, 20)
        assert not caught.value.retryable


def test_closing_ends_calls_and_waits(connect, ask, server) -> None:
    """A model that is closed while it waits for an answer, or between tries, raises ModelError in
    those asks and later ones.
    """
    server.fail("hang", times=2).fail("http_500", times=99)
    model = connect(server, timeout=60, retries=9, first=60)

    def work(number: int) -> bool:
        with pytest.raises(ModelError):
            model.ask(ask(str(number), timeout=120))
        return True

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(work, number) for number in range(4)]
        assert server.wait(4)
        model.close()
        assert all(future.result(20) for future in waiting)
    with pytest.raises(ModelError):
        model.ask(ask())
    model.close()


def test_many_threads_share_one_connection_pool(connect, ask, server) -> None:
    """Thirty-two threads at once each get their own answer."""
    model = connect(server)
    with ThreadPoolExecutor(32) as pool:
        texts = list(pool.map(lambda number: model.ask(ask(f"question {number}")).text, range(200)))
    assert texts == [f"echo: question {number}" for number in range(200)]


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_can_ask(connect, ask, server) -> None:
    """A process that forks after its first call can go on calling on both sides."""
    model = connect(server)
    model.ask(ask("before"))
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if model.ask(ask("child")).text == "echo: child" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.ask(ask("parent")).text == "echo: parent"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234",
        "ftp://h",
        "http://",
        "file:///etc/passwd",
        "http://user:pw@host",
        "http://[",
        "nonsense",
        "http://h\0st",
        f"http://{'a' * 64}.com",
    ],
)
def test_an_address_that_cannot_work_is_named_at_once(url: str) -> None:
    """An address that is no plain http(s) one is a settings error, and a password in it is not
    repeated.
    """
    with pytest.raises(SettingsError) as caught:
        HttpClient(url, {})
    assert "pw" not in caught.value.message


@pytest.mark.parametrize("key", ["sk\nx: y", "schlüssel", "a\0b"])
def test_a_key_that_no_header_can_carry_is_named(key: str) -> None:
    """A key with a line break, a NUL or an umlaut is a settings error that does not repeat it."""
    with pytest.raises(SettingsError) as caught:
        HttpClient("http://localhost", {"authorization": f"Bearer {key}"})
    assert key not in caught.value.message


def test_a_proxy_is_not_asked_for_this_machine(connect, ask, server, monkeypatch) -> None:
    """A proxy in the environment does not come between us and a model on this machine."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert connect(server).ask(ask()).text


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434/",
        "https://api.example.com/v1/?q=1#f",
        "http://[::1]:8080/v1",
        "http://10.0.0.1",
        "http://bücher.example/v1",
    ],
)
def test_usual_addresses_are_taken(url: str) -> None:
    """Names, IPv4 and IPv6 addresses work, with or without a port and a path;
    query and slash at the end are dropped.
    """
    wire = HttpClient(url, {})
    assert wire.url == url.split("?", maxsplit=1)[0].rstrip("/").replace("bücher", "xn--bcher-kva")
    wire.close()


def test_no_limit_is_a_day(connect, ask, server) -> None:
    """Infinite times are taken for a day: a thread cannot wait for ever."""
    assert connect(server, timeout=float("inf")).ask(ask(timeout=float("inf"))).text
