"""The gate of a server that needs keys, in front of a model server whose key is the operator's."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.settings import ServeSettings
from engrams.surfaces.http.listening import format_address, listen
from engrams.surfaces.http.uvicorn_factory import create_server
from engrams.testing import ScriptedModel, temp_engine

SIDEWAYS = (
    "//",
    "///",
    "/ui/",
    "/ui/x",
    "/ui//",
    "/health/",
    "/ready/",
    "//health",
    "/openapi.json/",
    "/%2F",
    "/ui/%2e%2e/v1",
    "/v1/memories/",
)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer=lambda _: "Noted.") as found:
        yield found


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    settings = {
        "require_keys": "always",
        "rate_limit": 5,
        "upstream": model.url + "/v1",
        "upstream_key": "operators",
    }
    with temp_engine(**{f"serve__{name}": value for name, value in settings.items()}) as found:
        yield found


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_nothing_is_forwarded_without_a_key(
    engine: MemoryEngine, model: ScriptedModel, method: str
) -> None:
    """No way of writing an open path reaches the model server; the open paths themselves answer."""
    with running(patient(engine)) as url:
        place = urlsplit(url)
        for path in (*SIDEWAYS, "/", "/health"):
            line = http.client.HTTPConnection(str(place.hostname), place.port)
            line.request(method, path)
            assert line.getresponse().status in (
                {200}
                if method == "GET" and path in ("/", "/health")
                else {200, 401, 404, 405} - ({200} if path in SIDEWAYS else set())
            ), path
            line.close()
    assert not model.requests


def test_a_key_that_may_only_read_forwards_nothing(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """Paths below ours that are nothing are 404, and never the model server's."""
    _, secret = ApiKeyStore.open(engine.settings.home).add(
        "r", Scope(("user", "ann")), ("read",), engine.now()
    )
    with running(patient(engine)) as url:
        for path in ("/v1/memories/a/b/c", "/v1/stats/", "/ui/x"):
            assert httpx2.get(url + path, headers={"x-engrams-key": secret}).status_code == 404, (
                path
            )
    assert not model.requests


@pytest.mark.slow
def test_open_paths_and_wrong_keys_have_limits() -> None:
    """Wrong keys are answered later and later, are counted, and run out like requests without a
    key.
    """
    with temp_engine(serve__require_keys="always", serve__rate_limit=1) as engine:
        _, admin = ApiKeyStore.open(engine.settings.home).add(
            "a", Scope(("user", "ann")), ("admin",), engine.now()
        )
        with running(patient(engine)) as url, httpx2.Client(base_url=url, timeout=30) as client:
            taken = []
            for _ in range(4):
                began = time.monotonic()
                assert (
                    client.get("/v1/stats", headers={"x-engrams-key": "engrams_wrong"}).status_code
                    == 401
                )
                taken.append(time.monotonic() - began)
            assert taken[0] >= 0.1
            assert taken[3] >= 0.4
            assert (
                "engrams_keys_refused_total 4.0"
                in client.get("/metrics", headers={"x-engrams-key": admin}).text
            )
            assert 429 in [client.get("/openapi.json").status_code for _ in range(80)]
            assert client.get("/v1/stats", headers={"x-engrams-key": admin}).status_code in (
                200,
                403,
            )


def test_every_answer_of_ours_tells_browsers_to_be_careful(engine: MemoryEngine) -> None:
    """The page, JSON, and refusals alike; no data of ours is kept in caches."""
    with running(patient(engine)) as url:
        for path in ("/", "/health", "/openapi.json", "/v1/stats", "/v1/models", "/nowhere"):
            told = httpx2.get(url + path, timeout=60).headers
            assert told["x-content-type-options"] == "nosniff", path
            assert "referrer-policy" in told, path
            assert (
                told.get("x-frame-options") == "DENY"
                or "frame-ancestors" in told["content-security-policy"]
            ), path
            assert "json" not in told["content-type"] or "no-store" in told["cache-control"], path
        assert "no-store" in httpx2.get(f"{url}/metrics", timeout=60).headers["cache-control"]


def test_jobs_are_counted_for_their_owner_alone(engine: MemoryEngine) -> None:
    """A key without the right admin sees no number of anybody else's work."""
    keys = ApiKeyStore.open(engine.settings.home)
    _, ann = keys.add("a", Scope(("user", "ann")), ("read",), engine.now())
    _, admin = keys.add("b", Scope(("user", "ann")), ("read", "admin"), engine.now())
    engine.add("I moved to Lisbon in May.", scope=("user", "bob"))
    with running(patient(engine)) as url:
        assert httpx2.get(url + "/v1/jobs", headers={"x-engrams-key": admin}).json()[
            "jobs"
        ] == dict(engine.status()["jobs"])
        assert httpx2.get(url + "/v1/jobs", headers={"x-engrams-key": ann}).json()["jobs"] == {}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\n",
        b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{",
        b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea",
    ],
    ids=["idle", "line", "head", "body", "kept", "next"],
)
@pytest.mark.slow
def test_connections_that_stall_are_closed(sent: bytes) -> None:
    """Idle, with half a head, with half a body, after an answer, and with half of the next request."""
    import threading

    with temp_engine() as engine:
        listener = listen(ServeSettings(port=0))
        server = create_server(patient(engine), ServeSettings(idle_seconds=1, receive_seconds=0.5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        place = urlsplit(format_address(listener))
        thread.start()
        try:
            with socket.create_connection((str(place.hostname), place.port), timeout=30) as line:
                line.sendall(sent)
                while line.recv(65_536):
                    pass
        finally:
            server.should_exit = True
            thread.join(20)
