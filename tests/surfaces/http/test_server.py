"""engrams serve, as a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.errors import SettingsError
from engrams.program.registry import create_app, list_server_surfaces
from engrams.settings import ServeSettings, Settings
from engrams.surfaces.http.listening import format_address, listen
from engrams.surfaces.http.server import serve
from engrams.surfaces.http.start_checks import check_settings
from engrams.testing import HashEmbedder, temp_engine

if TYPE_CHECKING:
    from engrams.ports.models import Floats

RUN = (
    "from engrams.program.registry import list_server_surfaces;"
    " from engrams.settings import load; from engrams.surfaces.http.server import serve;"
    " serve(lambda: load().settings, list_server_surfaces())"
)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_a_public_address_without_keys_is_refused(host: str) -> None:
    """An address that others can reach is refused before anything is opened."""
    with pytest.raises(SettingsError, match=r"serve\.host"):
        serve(lambda: Settings(serve=ServeSettings(host=host)), list_server_surfaces())


def test_a_server_refuses_itself_as_upstream() -> None:
    """An upstream that is this server itself would ask itself for ever."""
    for upstream in ("http://localhost:8100/v1", "http://127.0.0.1:8100"):
        with pytest.raises(SettingsError, match="server itself"):
            check_settings(Settings(serve=ServeSettings(upstream=upstream)))
    check_settings(Settings(serve=ServeSettings(upstream="http://localhost:11434/v1")))


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    """A port in use is an error that names another."""
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SettingsError) as caught:
        listen(ServeSettings(port=other.getsockname()[1]))
    assert "--port" in caught.value.hint


def test_an_ipv6_address_is_printed_in_brackets() -> None:
    """An IPv6 address stands in brackets."""
    with listen(ServeSettings(host="127.0.0.1", port=0)) as listener:
        assert format_address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    if socket.has_ipv6:
        try:
            listener = listen(ServeSettings(host="[::1]", port=0))
        except SettingsError:
            pytest.skip("no IPv6 loopback here")
        with listener:
            assert format_address(listener).startswith("http://[::1]:")


def test_small_packets_are_not_held_back() -> None:
    """An accepted connection, once asyncio has it, sends a stream's first event without waiting for
    an acknowledgement.
    """
    with (
        listen(ServeSettings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_server_prints_its_address_and_ends_cleanly(home: Path, ending: signal.Signals) -> None:
    """The process prints its address, keeps what is told, and on a signal closes its store and ends
    with 0.
    """
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(home),
        "ENGRAMS_SERVE__PORT": "0",
        "ENGRAMS_USER": "ann",
    }
    with subprocess.Popen(
        [sys.executable, "-c", RUN],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url = next(word for word in line.split() if word.startswith("http")).removesuffix("/v1")
            assert "no upstream" in line
            for _ in range(200):
                try:
                    answer = httpx2.post(
                        url + "/v1/chat/completions",
                        json={"messages": [{"role": "user", "content": "My dog is called Rex."}]},
                        timeout=120,
                    )
                    break
                except httpx2.ConnectError:
                    continue
            assert answer.status_code == 200
            process.send_signal(ending)
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()  # or leaving the block would wait for ever after a failure
    assert (process.returncode, errors) == (0, "")
    assert not (home / "memory.db-wal").exists()


class HeldEmbedder(HashEmbedder):
    """Embedder that embeds no question until it is told to."""

    def __init__(self) -> None:
        super().__init__(16)
        self.go = threading.Event()

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        assert purpose == "document" or self.go.wait(20)
        return super().embed(texts, purpose)


def test_searches_leave_threads_to_other_requests() -> None:
    """However many searches run and wait, a list is answered meanwhile."""
    embedder = HeldEmbedder()
    with temp_engine(embedder=embedder, user="ada") as engine:
        engine.add("We went to the harbour.", scope=("user", "ada"))
        with running(create_app(engine, engine.settings)) as url, ThreadPoolExecutor(30) as clients:
            asked = [
                clients.submit(
                    httpx2.post, f"{url}/v1/search", json={"query": f"boats {n}"}, timeout=60
                )
                for n in range(30)
            ]
            time.sleep(0.3)
            try:
                assert httpx2.get(f"{url}/v1/memories", timeout=10).status_code == 200
                assert not any(one.done() for one in asked)
            finally:
                embedder.go.set()
            assert {one.result().status_code for one in asked} == {200}


def test_a_head_without_an_end_is_cut_off() -> None:
    """A client that sends headers for ever is disconnected after some of them;
    one whose head comes in pieces is answered.
    """
    with temp_engine() as engine, running(create_app(engine, engine.settings)) as url:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        endless = b"GET /health HTTP/1.1\r\n" + b"x-more: %s\r\n" % (b"y" * 1000) * 10_000
        with (
            socket.create_connection(place, 10) as line,
            pytest.raises((ConnectionResetError, BrokenPipeError)),
        ):
            line.sendall(endless)
        with socket.create_connection(place, 10) as line:
            for piece in (
                b"GET /ready HTTP/1.1\r\n",
                b"host: localhost\r\n",
                b"x: " + b"y" * 10_000,
                b"\r\n",
                b"\r\n",
            ):
                line.sendall(piece)
                time.sleep(0.02)
            assert b" 200 " in line.recv(1000)
