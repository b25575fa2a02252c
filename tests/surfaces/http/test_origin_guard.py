"""Web pages are kept out."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from tests.surfaces.http.running import running

from engrams.surfaces.http.origin_guard import OriginGuardMiddleware, host_name, is_loopback


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    app = FastAPI()
    app.add_middleware(
        OriginGuardMiddleware,
        own_host="My.Box.example",
        allowed_hosts=("memory.example.com",),
        allowed_origins=("https://app.example",),
    )

    @app.api_route("/", methods=["GET", "POST"])
    def hello() -> str:
        return "hello"

    with running(app) as found:
        yield found


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8100",
        "localhost",
        "LocalHost:1",
        "[::1]:8100",
        "192.168.0.7",
        "engrams:8100",
        "host.docker.internal:8100",
        "a.localhost",
        "my.box.example",
        "memory.example.com:443",
    ],
)
def test_local_and_own_host_names_are_served(url: str, host: str) -> None:
    """Addresses, bare names, container hosts and the server's own name are served."""
    assert httpx2.get(url, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8100",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "xdocker.internal.evil",
        "a.b.",
    ],
)
def test_foreign_host_names_are_refused(url: str, host: str) -> None:
    """Any other name is refused, as after DNS rebinding."""
    answer = httpx2.get(url, headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden_host")


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "https://127.0.0.1",
        "http://[::1]:5173",
        "app://obsidian.md",
        "vscode-webview://x",
        "chrome-extension://abc",
    ],
)
def test_requests_of_local_pages_are_served(url: str, origin: str) -> None:
    """Pages of this machine and programs with pages of their own are served."""
    assert httpx2.post(url, headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
        "http://192.168.0.9",
        "http://",
        "evil",
    ],
)
def test_requests_of_web_sites_are_refused(url: str, origin: str) -> None:
    """A web site's request, also one that needs no preflight, is refused."""
    answer = httpx2.post(url, headers={"origin": origin, "content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden_origin")


def test_requests_of_its_own_pages_are_served(url: str) -> None:
    """A page served by this very server may ask it."""
    assert (
        httpx2.post(
            url, headers={"host": "192.168.0.7:8100", "origin": "http://192.168.0.7:8100"}
        ).status_code
        == 200
    )


def test_ports_and_brackets_are_no_part_of_a_host_name() -> None:
    """Ports and brackets are no part of a name; loopback is a whole network."""
    assert [host_name(host) for host in ("a:1", "[::1]:1", "::1", "a", "[x")] == [
        "a",
        "::1",
        "::1",
        "a",
        "x",
    ]
    assert all(is_loopback(name) for name in ("localhost", "127.9.9.9", "::1", "a.localhost"))
    assert not any(is_loopback(name) for name in ("0.0.0.0", "10.0.0.1", "localhosts", ""))


def test_allowed_origins_may_read_answers(url: str) -> None:
    """A named site is told so, before it asks and with the answer;
    another one, and one that only looks like it, is not.
    """
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "x-a",
    }
    before = httpx2.options(url, headers=asked)
    assert (before.status_code, before.headers["access-control-allow-origin"]) == (
        204,
        "https://app.example",
    )
    assert (
        "PATCH" in before.headers["access-control-allow-methods"]
        and before.headers["access-control-allow-headers"] == "x-a"
    )
    answer = httpx2.post(url, headers={"origin": "https://app.example"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (
        200,
        "https://app.example",
    )
    assert (
        "etag" in answer.headers["access-control-expose-headers"]
        and "Origin" in answer.headers["vary"]
    )
    for other in (
        "https://app.example.evil.example",
        "http://app.example",
        "https://app.example:444",
    ):
        assert httpx2.post(url, headers={"origin": other}).status_code == 403
    assert (
        "access-control-allow-origin"
        not in httpx2.post(url, headers={"origin": "http://localhost:3000"}).headers
    )


@pytest.mark.parametrize(
    ("mode", "dest", "status"),
    [("no-cors", "image", 403), ("navigate", "iframe", 403), ("navigate", "document", 200)],
)
def test_pictures_and_frames_of_other_sites_are_refused(
    url: str, mode: str, dest: str, status: int
) -> None:
    """They have no origin; a link that somebody follows is served."""
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert httpx2.get(url, headers=headers).status_code == status


def test_two_hosts_are_refused(url: str) -> None:
    """A request with two hosts has none that could be trusted."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        assert connection.recv(100).split()[1] == b"400"
