"""The API on a real socket, shared by a module's tests; each test has a person of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.engine import MemoryEngine
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.rest.mount import RestMount
from engrams.testing import temp_engine


@dataclass(frozen=True)
class Served:
    url: str
    engine: MemoryEngine


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with temp_engine(
        user="nobody", limits__text_bytes=70_000, limits__meta_bytes=2000, limits__results=100
    ) as engine:
        app = create_app(engine, engine.settings, [RestMount(engine, engine.settings)])
        with running(app) as url:
            yield Served(url, engine)


Person = Callable[..., httpx2.Client]


@pytest.fixture
def person(served: Served) -> Iterator[Person]:
    """A client that speaks for one new person, or for the one that is named."""
    clients: list[httpx2.Client] = []

    def make(name: str = "") -> httpx2.Client:
        headers = {"X-Engrams-User": name or "u-" + uuid.uuid4().hex[:12]}
        clients.append(httpx2.Client(base_url=served.url + "/v1", headers=headers, timeout=30))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def api(person: Person) -> httpx2.Client:
    return person()


def add(client: httpx2.Client, text: str, **more: object) -> str:
    """The id of a new memory."""
    answer = client.post("/memories", json={"text": text, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["results"][0]["id"])


def problem(answer: httpx2.Response, status: int) -> dict[str, object]:
    """The body of a failure, in the form that every failure has."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, object] = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "hint"}
    assert body["status"] == status
    return body
