"""Session stores of the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.fresh import read_home, run_example

import engrams
from engrams import MemoryEngine
from engrams.adapters import ClaudeSessionStore
from engrams.testing import temp_engine

ANN = ("user", "ann")
MAIN = {"project_key": "p", "session_id": "s"}
SIDE = {**MAIN, "subpath": "subagents/agent-1"}


def entry(uuid: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "s",
        "message": {"role": role, "content": content},
        **more,
    }


SAID = [
    entry("1", "user", "We deploy with make release <system-reminder>Be brief.</system-reminder>"),
    entry(
        "2",
        "assistant",
        [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls zebra"}}],
    ),
    entry("3", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "zebra.txt"}]),
    entry("4", "assistant", [{"type": "text", "text": "Noted: make release."}]),
    {"type": "custom-title", "customTitle": "Zebra deployments", "sessionId": "s"},
]


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """An engine whose jobs run when the test says so."""
    with temp_engine(jobs__workers=0) as made:
        yield made


async def test_transcripts_come_back_whole(engine: MemoryEngine) -> None:
    """Entries come back in order and as they were;
    a repeated one is stored once; sessions and subagents are listed.
    """
    store = ClaudeSessionStore(engine, ANN)
    await store.append(MAIN, SAID)
    await store.append(MAIN, SAID[:1])
    await store.append(SIDE, [entry("1", "user", "Look for zebras")])
    assert (
        await store.load(MAIN) == SAID and await store.load({**MAIN, "session_id": "other"}) is None
    )
    assert [listed["session_id"] for listed in await store.list_sessions("p")] == ["s"]
    assert await store.list_subkeys(MAIN) == ["subagents/agent-1"]


async def test_only_what_people_and_the_agent_said_is_memory(engine: MemoryEngine) -> None:
    """A search finds the user's and the agent's words, without reminders, tools, titles or
    subagents.
    """
    store = ClaudeSessionStore(engine, ANN)
    await store.append(MAIN, SAID)
    await store.append(SIDE, [entry("1", "user", "Look for zebras")])
    found = {
        hit.record.text
        for query in ("How do we deploy?", "zebra", "brief")
        for hit in engine.search(query, scope=ANN).hits
    }
    assert "We deploy with make release" in found and not any(
        "zebra" in text.lower() or "brief" in text for text in found
    )


async def test_a_transcript_goes_on_past_what_was_forgotten(engine: MemoryEngine) -> None:
    """Entries that were forgotten or purged are missing, and the one after them follows the one
    before.
    """
    store = ClaudeSessionStore(engine, ANN)
    roles = ("user", "assistant") * 3
    texts = [
        entry(
            f"{n}",
            role,
            f"This is message {n} of the {role}.",
            parentUuid=f"{n - 1}" if n else None,
        )
        for n, role in enumerate(roles)
    ]
    await store.append(MAIN, texts)
    turns = engine.list(scope=ANN, session="s", order="oldest").records
    engine.forget(turns[2].id, scope=ANN)
    engine.purge(turns[3].id, scope=ANN)
    await store.append(MAIN, [entry("6", "user", "One more message.", parentUuid="5")])
    entries = await store.load(MAIN)
    assert entries is not None and [
        (loaded["uuid"], loaded["parentUuid"]) for loaded in entries
    ] == [
        ("0", None),
        ("1", "0"),
        ("4", "1"),
        ("5", "4"),
        ("6", "5"),
    ]
    engine.restore(turns[2].id, scope=ANN)
    assert [loaded["uuid"] for loaded in await store.load(MAIN) or ()] == [
        "0",
        "1",
        "2",
        "4",
        "5",
        "6",
    ]


async def test_large_entries_are_kept_whole(engine: MemoryEngine) -> None:
    """An entry with half a megabyte of a tool's output comes back as it was."""
    store = ClaudeSessionStore(engine, ANN)
    large = entry("9", "user", [{"type": "tool_result", "content": "line\n" * 100_000}])
    await store.append(MAIN, [large])
    assert await store.load(MAIN) == [large]


async def test_a_deleted_session_is_gone(home: Path) -> None:
    """Deleting a subagent's transcript leaves the others; deleting the session leaves nothing of it
    in the home once its job has run.
    """
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        store = ClaudeSessionStore(engine, ANN)
        await store.append(MAIN, SAID)
        await store.append(SIDE, [entry("1", "user", "Look for zebras")])
        await store.append(
            {**MAIN, "session_id": "kept"}, [entry("1", "user", "The kettle is green")]
        )
        await store.delete(SIDE)
        assert await store.load(SIDE) is None and await store.load(MAIN) == SAID
        await store.append(SIDE, [entry("1", "user", "Look for zebras")])
        await store.delete(MAIN)
        assert await store.load(SIDE) is None and await store.load(MAIN) is None
        assert await store.load(
            {**MAIN, "session_id": "kept"}
        ) is not None and "release" not in str(engine.search("deploy", scope=ANN).hits)
        engine.drain()
    remaining_bytes = read_home(home)
    assert (
        b"zebra" not in remaining_bytes.lower()
        and b"make release" not in remaining_bytes
        and b"kettle" in remaining_bytes
    )


@pytest.mark.slow
def test_the_claude_example_runs(tmp_path: Path) -> None:
    """The example runs in a fresh environment of the SDK's current release, whose own helpers read
    the store.
    """
    printed = run_example("claude", tmp_path)
    assert "Session: We deploy" in printed and "Another session recalls: We deploy" in printed
