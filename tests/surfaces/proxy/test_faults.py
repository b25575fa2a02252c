"""The turn never waits and never fails because of memory."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import apsw
import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import ANSWER, DONE, PATIENCE, Harness, completion, eventually
from tests.surfaces.proxy.raw import Raw, opening, piece, raw_upstream, reply

from engrams.engine import MemoryEngine
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.chat_request import parse_request
from engrams.surfaces.proxy.memory_deadlines import MemoryDeadlines, TimeLimitedEngine
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import HashEmbedder, temp_engine

if TYPE_CHECKING:
    from engrams.ports.models import Floats

REX = "My dog is called Rex and he is a greyhound."


@pytest.fixture
def raw() -> Iterator[Raw]:
    with raw_upstream() as found:
        found.says(reply(completion()))
        yield found


@contextmanager
def proxy(
    engine: MemoryEngine, raw: Raw, patience: MemoryDeadlines = PATIENCE
) -> Iterator[Harness]:
    app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, patience)])
    with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
        yield Harness(url, engine, raw, client, "ann")


def test_a_closed_engine_does_not_fail_the_turn(raw: Raw, caplog: pytest.LogCaptureFixture) -> None:
    """With memory gone the request goes up without it, the answer comes down, the log says what
    failed but not what was said.
    """
    with (
        caplog.at_level(logging.DEBUG),
        temp_engine(serve__upstream=raw.url, serve__upstream_learns=False) as engine,
        proxy(engine, raw) as bench,
    ):
        engine.close()
        answer = bench.ask(REX)
        assert (answer.status_code, answer.headers["x-engrams-memory"]) == (200, "skipped:error")
        raw.says(opening(), piece(b"".join(ANSWER)), piece(b""))
        assert bench.ask(REX, stream=True).content == b"".join(ANSWER)
        health = bench.client.get("/health").json()
        assert (health["status"], health["memory"]["lost"]) == ("degraded", 4)
    assert "ClosedError" in caplog.text
    assert "Rex" not in caplog.text
    assert "Noted" not in caplog.text


def locked(engine: MemoryEngine) -> apsw.Connection:
    """The database as another process holds it for writing;
    it waits for the engine's own jobs first.
    """
    other = apsw.Connection(str(engine.settings.home / "memory.db"))
    other.set_busy_timeout(30_000)
    other.execute("BEGIN IMMEDIATE")
    return other


class Gated(HashEmbedder):
    """An embedder that does not answer a query before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        if purpose == "query":
            self.gate.wait(30)
        return super().embed(texts, purpose)


def test_a_lookup_that_takes_too_long_is_left_behind(raw: Raw) -> None:
    """Past its deadline a lookup is given up:
    the request goes up as it came, and its turns are kept.
    """
    embedder = Gated()
    with (
        temp_engine(
            serve__upstream=raw.url, serve__upstream_learns=False, embedder=embedder
        ) as engine,
        proxy(engine, raw, replace(PATIENCE, lookup=0.01)) as bench,
    ):
        answer = bench.ask(REX)
        assert (answer.status_code, answer.headers["x-engrams-memory"]) == (200, "skipped:timeout")
        assert len(bench.sent()["messages"]) == 1
        assert len(bench.told()) == 2
        embedder.gate.set()


async def test_lookups_do_not_pile_up() -> None:
    """While lookups hang, a request beyond the queue's length is not even tried:
    it goes on at once.
    """
    embedder = Gated()
    with temp_engine(embedder=embedder) as engine:
        recall = TimeLimitedEngine(engine, MemoryDeadlines(lookup=0.01))
        asked = parse_request(
            {},
            b'{"messages": [{"role": "user", "content": "What is my dog called?"}]}',
            engine.settings,
        )
        notes = [
            memory.note
            for memory in await asyncio.gather(*(recall.find_memory(asked) for _ in range(80)))
        ]
        embedder.gate.set()
        await recall.close()
    assert set(notes) == {"skipped:timeout", "skipped:busy"}
    assert recall.counts()["skipped:busy"] == notes.count("skipped:busy")


def test_a_store_that_another_process_holds_does_not_stop_the_stream(raw: Raw) -> None:
    """While the database is locked for writing the answer streams;
    once it is free both turns are there.
    """
    raw.says(opening(), piece(b"".join(ANSWER)), piece(b""))
    with (
        temp_engine(serve__upstream=raw.url, serve__upstream_learns=False) as engine,
        proxy(engine, raw, replace(PATIENCE, journal=0.5)) as bench,
    ):
        bench.ask("I live in Lyon, France.", stream=True)
        eventually(lambda: len(bench.told()) == 2)
        other = locked(engine)
        answer = bench.ask(REX, stream=True)
        assert answer.content.endswith(DONE)
        assert len(bench.told()) == 2
        other.execute("ROLLBACK")
        other.close()
        eventually(lambda: len(bench.told()) == 4)


@pytest.mark.covers("S2.11")
def test_shutdown_waits_for_turns_being_kept(raw: Raw) -> None:
    """A server told to stop while the store is locked stores what was said before it ends."""
    with temp_engine(serve__upstream=raw.url, serve__upstream_learns=False) as engine:
        with proxy(engine, raw, replace(PATIENCE, journal=0.5)) as bench:
            bench.ask("I live in Lyon, France.")
            eventually(lambda: len(bench.told()) == 2)
            other = locked(engine)
            bench.ask(REX)
            free = threading.Timer(0.5, other.execute, ("ROLLBACK",))
            free.start()
        assert len(bench.told()) == 4
        free.join()
        other.close()


@pytest.mark.parametrize("bad", ["x" * 201, "a%00b", "a%0Ab"])
def test_a_hostile_identity_does_not_fail_the_turn(raw: Raw, bad: str) -> None:
    """An id that no scope can hold leaves memory out of the request, and nothing is stored."""
    with (
        temp_engine(serve__upstream=raw.url, serve__upstream_learns=False) as engine,
        proxy(engine, raw) as bench,
    ):
        answer = bench.ask(REX, {"x-engrams-user": bad})
        assert (answer.status_code, answer.headers["x-engrams-memory"]) == (200, "skipped:identity")


def test_a_switched_off_engrams_is_a_plain_proxy(raw: Raw) -> None:
    """With `enabled` false requests and answers pass untouched and nothing is kept."""
    with (
        temp_engine(serve__upstream=raw.url, serve__upstream_learns=False, enabled=False) as engine,
        proxy(engine, raw) as bench,
    ):
        answer = bench.ask(REX)
        assert (answer.content, answer.headers["x-engrams-memory"]) == (
            completion(),
            "skipped:disabled",
        )
        assert bench.told() == []


def test_many_at_once(raw: Raw) -> None:
    """Requests in parallel, of several people, are all answered and all kept, each with its own."""
    with (
        temp_engine(serve__upstream=raw.url, serve__upstream_learns=False) as engine,
        proxy(engine, raw) as bench,
    ):

        def talk(user: str) -> None:
            for number in range(5):
                bench.ask(f"{user} has {number} apples in the cellar.", {"x-engrams-user": user})

        threads = [threading.Thread(target=talk, args=(f"user{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            turns = bench.turns(f"user{number}")
            assert len([turn for turn in turns if turn.role == "user"]) == 5
            assert all(
                turn.text.startswith(f"user{number} ") for turn in turns if turn.role == "user"
            )


def test_an_unreachable_upstream_is_a_502(raw: Raw) -> None:
    """A closed port is an OpenAI-shaped error that names the setting, on every path."""
    with (
        temp_engine(
            serve__upstream="http://127.0.0.1:9/v1",
            serve__upstream_learns=False,
            serve__upstream_key="secret",
        ) as engine,
        proxy(engine, raw) as bench,
    ):
        for answer in (bench.ask(REX), bench.ask(REX, stream=True), bench.client.get("/v1/models")):
            assert answer.status_code == 502
            assert "serve.upstream" in answer.json()["error"]["message"]
            assert "secret" not in answer.text
        assert bench.told() == [("user", REX)]
