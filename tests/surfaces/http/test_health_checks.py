"""Health, readiness and problems."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.http.running import running

import engrams
from engrams import errors
from engrams.engine import MemoryEngine
from engrams.ports import JobClaim, JobFailure, JobSpec
from engrams.program.registry import create_app
from engrams.settings import Settings
from engrams.surfaces.http.health_checks import store_location
from engrams.surfaces.http.problems import status_of, to_problem
from engrams.testing import temp_engine


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        port = upstream.getsockname()[1]
        with temp_engine(
            serve__upstream=f"http://someone:secret@127.0.0.1:{port}/v1",
            serve__upstream_learns=False,
            serve__top_k=3,
        ) as found:
            yield found


@pytest.mark.covers("S2.5")
def test_health_reports_status_store_upstream_and_jobs(engine: MemoryEngine) -> None:
    """Status, store path, base URL without its password, default_top_k, version and jobs are told."""
    with running(create_app(engine, engine.settings)) as url:
        report = httpx2.get(url + "/health").json()
        assert httpx2.get(url + "/ready").json() == {"ready": True}
    assert report["status"] == "ok"
    assert report["memory_store"] == str(engine.settings.home / "memory.db")
    assert report["openai_base_url"] == engine.settings.serve.upstream.replace(
        "someone:secret@", ""
    )
    assert report["default_top_k"] == 3
    assert report["version"] == engrams.__version__
    assert "jobs" in report


def test_a_closed_store_is_not_ready(engine: MemoryEngine) -> None:
    """The process lives, so health answers and says degraded;
    ready is a 503 problem with a hint.
    """
    with running(create_app(engine, engine.settings)) as url:
        engine.close()
        assert httpx2.get(url + "/health").json()["status"] == "degraded"
        answer = httpx2.get(url + "/ready")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert answer.json()["hint"]


def test_health_reports_a_dead_job(engine: MemoryEngine) -> None:
    """Health says that work failed for good and how much of it;
    memory can still be read and written, so it is ready.
    """
    engine.store.enqueue((JobSpec("no-such", "x"),), engine.now())
    job = engine.store.claim(JobClaim("test", engine.now(), kinds=("no-such",)))
    assert job
    engine.store.fail(JobFailure(job.lease, "why", engine.now(), None))
    with running(create_app(engine, engine.settings)) as url:
        report = httpx2.get(url + "/health").json()
        assert httpx2.get(url + "/ready").status_code == 200
    assert (report["status"], report["checks"]["jobs"]["dead"], report["checks"]["jobs"]["ok"]) == (
        "degraded",
        1,
        False,
    )


def test_health_reports_a_full_disk(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room to write, health says so and ready is a 503 problem that says what to do."""
    monkeypatch.setattr("engrams.surfaces.http.health_checks._MIN_FREE_BYTES", 1 << 62)
    with running(create_app(engine, engine.settings)) as url:
        report = httpx2.get(url + "/health").json()
        answer = httpx2.get(url + "/ready")
    assert (report["status"], report["checks"]["disk"]["ok"]) == ("degraded", False)
    assert (answer.status_code, answer.json()["title"]) == (503, "StoreError")
    assert "space" in answer.json()["hint"]


def bind(silent: socket.socket) -> str:
    """Bind a socket that takes no connection, so that nobody else gets its port."""
    silent.bind(("127.0.0.1", 0))
    host, port = silent.getsockname()
    return f"{host}:{port}"


def test_health_names_an_unreachable_model_server() -> None:
    """Each configured model server that takes no connection is named;
    memory works without, so it is ready.
    """
    with (
        socket.socket() as silent,
        temp_engine(
            chat__provider="openai", chat__model="m", chat__url=f"http://{bind(silent)}/v1"
        ) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        report = httpx2.get(url + "/health").json()
        assert httpx2.get(url + "/ready").status_code == 200
    assert (report["status"], report["checks"]["models"]) == (
        "degraded",
        {"ok": False, "chat": "unreachable"},
    )


def test_places_are_shown_without_passwords() -> None:
    """A database address loses its password;
    a path and an incognito store are shown as they are.
    """
    assert (
        store_location(Settings.model_validate({"store": {"url": "postgresql://u:p@ss@h/db"}}))
        == "postgresql://h/db"
    )
    assert (
        store_location(
            Settings.model_validate({"store": {"url": "postgresql://h/db?user=u&password=p"}})
        )
        == "postgresql://h/db"
    )
    assert store_location(Settings(home=Path("/x"))) == "/x/memory.db"
    assert store_location(Settings(incognito=True)) == ":memory:"


def test_every_error_has_a_status() -> None:
    """Each error class maps to a status, an unknown subclass to its parent's, and the body carries
    the hint.
    """
    classes = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EngramsError)
    ]
    assert all(400 <= status_of(kind()) < 600 for kind in classes)

    class Special(errors.NotFoundError):
        pass

    assert to_problem(Special("gone", hint="look")).status_code == 404
    assert b'"hint": "look"' in to_problem(Special("gone", hint="look")).body
