"""Sessions of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from tests.adapters.fresh import read_home, run_example

import engrams
from engrams import MemoryEngine
from engrams.adapters import OpenAIAgentsSession
from engrams.core import Scope
from engrams.errors import StoreError
from engrams.testing import temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "find_flat",
    "arguments": '{"town": "Oslo"}',
}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "Seven flats in Oslo"}
SAID: list[Any] = [
    {"role": "user", "content": "I moved to Oslo in May"},
    CALL,
    RESULT,
    {
        "role": "assistant",
        "type": "message",
        "content": [{"type": "output_text", "text": "There are seven.", "annotations": []}],
    },
]


@contextmanager
def opened_connections() -> Iterator[list[apsw.Connection]]:
    """Collect the connections that are opened meanwhile."""
    opened: list[apsw.Connection] = []
    apsw.connection_hooks.append(opened.append)
    try:
        yield opened
    finally:
        apsw.connection_hooks.remove(opened.append)


@contextmanager
def refusing(opened: list[apsw.Connection], refused: set[tuple[int, str]]) -> Iterator[None]:
    """Let connections fail in actions on something."""

    def decide(action: int, name: str | None, *_: str | None) -> int:
        return apsw.SQLITE_DENY if (action, name) in refused else apsw.SQLITE_OK

    def set_authorizer(decider: apsw.Authorizer | None) -> None:
        for connection in opened:
            with suppress(apsw.ConnectionClosedError):
                connection.authorizer = decider

    set_authorizer(decide)
    try:
        yield
    finally:
        set_authorizer(None)


def lock_file(home: Path) -> None:
    """Take the write lock of a home's file without waiting, and release it."""
    (file,) = home.glob("*.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("BEGIN IMMEDIATE")


def count_open_files(home: Path) -> int:
    return sum(
        os.path.realpath(descriptor).startswith(str(home.resolve()))
        for descriptor in Path("/proc/self/fd").iterdir()
    )


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """An engine whose jobs run when the test says so."""
    with temp_engine(jobs__workers=0) as made:
        yield made


async def test_items_come_back_as_they_were_given(engine: MemoryEngine) -> None:
    """Messages, calls and results come back in order, the latest few by a limit, of this session
    and scope only.
    """
    session = OpenAIAgentsSession("s1", engine, ANN)
    await session.add_items(SAID)
    await session.add_items([{"role": "user", "content": "Where is it?"}])
    await OpenAIAgentsSession("s2", engine, ANN).add_items(
        [{"role": "user", "content": "Another talk"}]
    )
    await OpenAIAgentsSession("s1", engine, BOB).add_items(
        [{"role": "user", "content": "Bob's talk"}]
    )
    await OpenAIAgentsSession("s1", engine, Scope(ANN).within("project", "x")).add_items(
        [{"role": "user", "content": "The project's"}]
    )
    assert await session.get_items() == [*SAID, {"role": "user", "content": "Where is it?"}]
    assert await session.get_items(2) == [SAID[-1], {"role": "user", "content": "Where is it?"}]
    assert await session.get_items(0) == [] and len(await session.get_items(-1)) == 5
    limited = OpenAIAgentsSession("s1", engine, ANN, session_settings=SimpleNamespace(limit=1))
    assert (
        await limited.get_items() == [{"role": "user", "content": "Where is it?"}]
        and len(await limited.get_items(3)) == 3
    )


async def test_what_was_said_is_memory_and_what_tools_did_is_not(engine: MemoryEngine) -> None:
    """A search finds the messages of a session, and neither calls of tools nor their results."""
    await OpenAIAgentsSession("s1", engine, ANN).add_items(SAID)
    texts = [hit.record.text for hit in engine.search("flats in Oslo", scope=ANN, limit=20).hits]
    assert "I moved to Oslo in May" in texts and not any(
        "find_flat" in text or "Seven flats" in text for text in texts
    )
    assert not engine.search("Oslo", scope=BOB).hits


async def test_what_is_removed_is_gone(home: Path) -> None:
    """Popped items and cleared sessions are gone from every read at once;
    when their job has run, no fact and no byte is left.
    """
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        session = OpenAIAgentsSession("s1", engine, ANN)
        await session.add_items(
            [*SAID, {"role": "user", "content": "My password hint is Zanzibar"}]
        )
        engine.drain()
        assert await session.pop_item() == {
            "role": "user",
            "content": "My password hint is Zanzibar",
        }
        assert await session.get_items() == SAID
        await session.clear_session()
        assert await session.get_items() == [] and await session.pop_item() is None
        assert (
            engine.list(scope=ANN).records == ()
            and not engine.search("Oslo", scope=ANN, history=True).hits
        )
        engine.drain()
        assert (
            engine.list(
                scope=ANN, statuses=("active", "archived", "superseded", "forgotten", "candidate")
            ).records
            == ()
        )
    remaining_bytes = read_home(home)
    assert b"Zanzibar" not in remaining_bytes and b"Oslo" not in remaining_bytes


async def test_what_is_forgotten_elsewhere_leaves_the_history(engine: MemoryEngine) -> None:
    """Forgetting a fact takes its words out of the messages that said it;
    a forgotten message is no longer in the history.
    """
    session = OpenAIAgentsSession("s1", engine, ANN)
    await session.add_items(
        [
            {
                "role": "user",
                "content": "I live in Bergen. My sister Lou plays the cello every Sunday.",
            }
        ]
    )
    engine.drain()
    fact = next(
        record
        for record in engine.list(scope=ANN, kinds=("fact",)).records
        if "Bergen" in record.text
    )
    engine.forget(fact.id, scope=ANN)
    (item,) = await session.get_items()
    assert "Bergen" not in str(item) and "cello" in item["content"]
    engine.forget(engine.list(scope=ANN, kinds=("turn",)).records[0].id, scope=ANN)
    assert await session.get_items() == []


async def test_reasoning_goes_with_its_answer(engine: MemoryEngine) -> None:
    """What a model thought comes back with its answer or call, and not where that was purged."""
    session = OpenAIAgentsSession("s", engine, ANN)
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = {"role": "assistant", "content": "The kettle is green."}
    said = [
        {"role": "user", "content": "Look at it."},
        thought,
        call,
        thought,
        answer,
        {"role": "user", "content": "I like that."},
    ]
    await session.add_items(said)
    assert await session.get_items() == said
    (told,) = [turn for turn in engine.list(scope=ANN).records if "kettle" in turn.text]
    engine.purge(told.id, scope=ANN)
    assert await session.get_items() == [said[0], thought, call, said[5]]


async def test_a_cancelled_change_is_made_whole(engine: MemoryEngine) -> None:
    """Whoever cancels a change finds it made when the cancellation comes back;
    one that cannot be made leaves the session usable.
    """
    session = OpenAIAgentsSession("s1", engine, ANN)
    task = asyncio.create_task(
        session.add_items(
            [{"role": "user", "content": f"Sentence number {number}"} for number in range(500)]
        )
    )
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await session.get_items()) == 500
    with pytest.raises(TypeError):
        await session.add_items([{"role": "user", "content": object()}])
    await session.add_items(SAID[:1])
    assert len(await session.get_items()) == 501


@pytest.mark.parametrize("undone", ["rolled-back", "closed"])
@pytest.mark.parametrize("change", ["add", "pop", "clear"])
async def test_a_change_that_fails_leaves_nothing_half_done(
    home: Path, change: str, undone: str
) -> None:
    """A change whose write fails half way leaves the history and no lock, also where its rollback
    fails; the next one succeeds.
    """
    refused = {(apsw.SQLITE_INSERT, "history")} | (
        {(apsw.SQLITE_TRANSACTION, "ROLLBACK")} if undone == "closed" else set()
    )
    with opened_connections() as opened, engrams.open(home=str(home), jobs__workers=0) as engine:
        session = OpenAIAgentsSession("s1", engine, ANN)
        await session.add_items(SAID)

        async def do() -> None:
            await {
                "add": lambda: session.add_items(SAID[:1]),
                "pop": session.pop_item,
                "clear": session.clear_session,
            }[change]()

        with refusing(opened, refused), pytest.raises(StoreError):
            await do()
        lock_file(home)
        assert await session.get_items() == SAID
        await do()
        assert (
            await session.get_items()
            == {"add": [*SAID, SAID[0]], "pop": SAID[:-1], "clear": []}[change]
        )


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_sessions_of_many_loops_leave_no_file_open(home: Path) -> None:
    """Turns in loops and threads of their own open no more files each time, and closing the engine
    closes all.
    """
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        session = OpenAIAgentsSession("s1", engine, ANN)
        opened = list[int]()
        for number in range(4):
            asyncio.run(session.add_items([{"role": "user", "content": f"Turn {number}"}]))
            assert len(asyncio.run(session.get_items())) == number + 1
            opened.append(count_open_files(home))
        assert opened[0] == opened[-1] > 0
    assert count_open_files(home) == 0


async def test_sessions_of_one_home_write_at_once(home: Path) -> None:
    """Two sessions on one engine and a third on an engine of its own add at the same time;
    each has its own items, whole and in order.
    """
    with (
        engrams.open(home=str(home), jobs__workers=0) as first_engine,
        engrams.open(home=str(home), jobs__workers=0) as another,
    ):
        sessions = [
            OpenAIAgentsSession(f"s{number}", engine, ANN)
            for number, engine in enumerate((first_engine, first_engine, another))
        ]
        said = [
            [
                {"role": "user", "content": f"{session.session_id} says {number}"}
                for number in range(10)
            ]
            for session in sessions
        ]

        async def talk(session: OpenAIAgentsSession, items: list[Any]) -> None:
            for item in items:
                await session.add_items([item])

        await asyncio.gather(*map(talk, sessions, said))
        assert [await session.get_items() for session in sessions] == said


@pytest.mark.slow
def test_the_example_runs_with_the_current_release(tmp_path: Path) -> None:
    """The example runs in a fresh environment of the framework's current release, and recalls the
    earlier conversation.
    """
    assert "allergic to nuts" in run_example("openai_agents", tmp_path)
