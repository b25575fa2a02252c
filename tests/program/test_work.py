"""`engrams work` on Postgres:
it does jobs, hears of new ones, is fair, ready when memory is, and drains.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.surfaces.fleet import eventually, process, send, worker

import engrams
from engrams import MemoryEngine, Turn
from engrams.testing import ScriptedModel

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


@pytest.fixture
def url() -> str:
    return postgres.empty_database()


@pytest.fixture
def memory(home: Path, url: str) -> Iterator[MemoryEngine]:
    """An API's engine, which leaves all jobs to others."""
    with engrams.open(home=home, store={"url": url}, jobs__workers=0) as opened:
        yield opened


def say(memory: MemoryEngine, owner: str, *texts: str) -> None:
    """Something to learn from, each in a conversation of its own."""
    for number, text in enumerate(texts):
        memory.observe(
            Turn(text, session=f"{owner}{number}{time.monotonic_ns()}"), scope=("user", owner)
        )


def states(memory: MemoryEngine) -> dict[str, int]:
    """Numbers of jobs by state."""
    found: dict[str, int] = {}
    for counts in memory.status()["jobs"].values():
        for state, number in counts.items():
            found[state] = found.get(state, 0) + number
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def ready(port: int) -> int:
    try:
        return send(f"http://127.0.0.1:{port}", "GET", "/ready", "ann")[0]
    except OSError:
        return 0


@pytest.mark.covers("S1.62")
def test_a_worker_does_what_an_api_left(memory: MemoryEngine, home: Path, url: str) -> None:
    """Jobs that were there and those that come are done;
    a notice brings the next look, long before it would be due.
    """
    say(memory, "ann", "I adopted a beagle called Bruno.")
    with worker(home, url, "--concurrency", "2", jobs__poll_seconds=30):
        eventually(lambda: states(memory).get("waiting", 0) == 0)
        time.sleep(1.5)  # Idle by now: it heard of nothing, and looks again in half a minute.
        begun = time.monotonic()
        say(memory, "bob", "I moved to Lisbon.")
        eventually(
            lambda: states(memory).get("waiting", 0) == 0 and "Lisbon" in facts(memory, "bob")
        )
        assert time.monotonic() - begun < 10
    assert "Bruno" in facts(memory, "ann")


def facts(memory: MemoryEngine, owner: str) -> str:
    return " ".join(
        record.text for record in memory.list(scope=("user", owner), kinds=("fact",)).records
    )


def test_without_notices_it_looks_every_second(memory: MemoryEngine, home: Path, url: str) -> None:
    """Where LISTEN leads nowhere, as behind a pooler, jobs are done all the same."""
    with worker(home, url, store__listen_url="postgresql://127.0.0.1:1/nowhere"):
        time.sleep(0.5)
        say(memory, "ann", "I adopted a beagle called Bruno.")
        eventually(lambda: "Bruno" in facts(memory, "ann"), 10)


@pytest.mark.parametrize("seconds", ["0.5", "20"], ids=["cut", "finished"])
def test_sigterm_drains(memory: MemoryEngine, home: Path, url: str, seconds: str) -> None:
    """A job that is running ends, or goes back to the queue as if nobody had begun it;
    the exit code is 0.
    """
    with ScriptedModel() as model:
        model.fail("hang", seconds=0 if seconds == "0.5" else 2)
        given: dict[str, Any] = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        with engrams.open(
            home=home, store={"url": url}, jobs__workers=0, write__debounce_seconds=0.0, **given
        ) as learning:
            say(learning, "ann", "I sail on Sundays.")
        with worker(
            home, url, sessions__shutdown_seconds=seconds, write__debounce_seconds="0", **given
        ) as running:
            assert model.wait(1, 30)
            begun = time.monotonic()
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
            assert time.monotonic() - begun < 15
    found = {job.kind: job for job in memory.store.queue(("waiting", "running", "dead", "done"))}
    job = found["extract"]
    assert (job.state, job.attempt) == (("waiting", 0) if seconds == "0.5" else ("done", 1))
    assert not memory.store.queue(("running", "dead"))


def test_an_owner_gets_half_of_the_workers(memory: MemoryEngine, home: Path, url: str) -> None:
    """While one owner's many jobs wait, another's is done beside them;
    never more than half of the workers are the first one's.
    """
    with ScriptedModel(answer=lambda _: {"statements": []}) as model:
        model.fail("hang", times=40, seconds=0.4)
        given: dict[str, Any] = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "write__debounce_seconds": 0.0,
        }
        with engrams.open(home=home, store={"url": url}, jobs__workers=0, **given) as learning:
            say(
                learning,
                "ann",
                *(f"I visited town number {number} with my sister." for number in range(12)),
            )
            say(learning, "bob", "I sail on Sundays.")
        most = 0
        left = -1
        with worker(home, url, "--concurrency", "4", **given):
            while left < 0:
                running = [
                    job
                    for job in memory.store.queue(("running",))
                    if job.key.startswith("user/ann")
                ]
                most = max(most, len(running))
                if any(
                    job.key.startswith("user/bob")
                    for job in memory.store.queue(("done",))
                    if job.kind == "extract"
                ):
                    left = len(
                        [
                            job
                            for job in memory.store.queue(("waiting",))
                            if job.key.startswith("user/ann") and job.kind == "extract"
                        ]
                    )
                time.sleep(0.02)
    assert most == 2 and left > 4


def test_ready_says_when_the_schema_fits(memory: MemoryEngine, home: Path, url: str) -> None:
    """503 while tables are another version's or the database does not answer;
    a process that starts then refuses, and says what to do.
    """
    import psycopg

    port = free_port()
    with (
        psycopg.connect(url, autocommit=True) as connection,
        worker(home, url, "--port", str(port)),
    ):
        eventually(lambda: ready(port) == 200)
        (taken,) = connection.execute(
            "DELETE FROM engrams.migrations WHERE number = 2 RETURNING number, name, checksum,"
            " terms"
        ).fetchall()
        try:
            eventually(lambda: ready(port) == 503)
            with pytest.raises(AssertionError), process(home, url, "work") as refused:
                assert refused.wait(60) == 5
        finally:
            connection.execute("INSERT INTO engrams.migrations VALUES (%s, %s, %s, %s)", taken)
        eventually(lambda: ready(port) == 200)
        status, metrics = send(f"http://127.0.0.1:{port}", "GET", "/metrics", "ann")
        assert status == 200 and "engrams_jobs" in metrics
        assert (
            json.loads(send(f"http://127.0.0.1:{port}", "GET", "/health", "ann")[1])["status"]
            == "ok"
        )
