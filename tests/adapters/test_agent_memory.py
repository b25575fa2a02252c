"""Memory for agents: five calls and two tools."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.adapters import AgentMemory
from engrams.core import Kind, Scope, Status
from engrams.errors import InputError, NotFoundError, RefusedError, ScopeError
from engrams.settings import load
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAID = [
    {"id": "m1", "role": "user", "content": "My sister Lou moved to Lisbon in May"},
    {"id": "m2", "role": "assistant", "content": "Noted."},
    {"id": "m3", "role": "tool", "content": "", "tool_call_id": "c"},
]


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """An engine without any model, not even an embedding one."""
    with temp_engine(jobs__workers=0, embed__provider="null") as made:
        yield made


@pytest.fixture
def memory(engine: MemoryEngine) -> AgentMemory:
    """Ann's memory."""
    return AgentMemory(engine, ANN)


@pytest.mark.covers("S1.1")
def test_everything_works_without_models(memory: AgentMemory) -> None:
    """Without a language model, an embedder or files:
    manage, search, flush and format work, and a dream has nothing to do.
    """
    id = memory.manage("I am allergic to peanuts")
    assert memory.search("peanuts allergy")[0]["id"] == id
    assert memory.flush(SAID, "s1") is True and memory.flush([], "s1") is False
    assert "Lisbon" in str(memory.search("Where does my sister Lou live?"))
    assert "peanuts" in memory.format_for_injection() and "peanuts" in memory.format_for_injection(
        "peanuts", 300
    )
    assert memory.dream() is False


@pytest.mark.covers("S1.1")
def test_a_dream_reads_the_notes_that_were_flushed(home: Path) -> None:
    """With files, what was flushed is in the day's note, and a dream brings it into MEMORY.md,
    once.
    """
    arguments_by_name = {
        "home": str(home),
        "jobs.workers": 0,
        "vault.enabled": True,
        "vault.git": False,
        "embed.provider": "null",
    }
    with engrams.open(
        load(arguments_by_name, environ={}).settings, clock=SettableClock(START)
    ) as engine:
        memory = AgentMemory(engine, ANN)
        assert memory.dream() is False
        assert memory.flush(SAID, "s1", "overflow")
        assert memory.dream() is True
        notes = home / "vault" / "memory" / "users" / "ann"
        assert "Lisbon" in (notes / "2026-03-01.md").read_text("utf-8")
        assert "Lisbon" in (notes / "MEMORY.md").read_text("utf-8")
        assert memory.dream() is False


@pytest.mark.covers("S1.1")
def test_no_framework_is_imported() -> None:
    """The calls of an agent bring in no server, no model runtime and no agent framework."""
    code = """
import sys
from engrams.adapters import AgentMemory
from engrams.testing import temp_engine
with temp_engine(jobs__workers=0, embed__provider="null") as engine:
    memory = AgentMemory(engine, ("user", "ann"))
    memory.manage("I am allergic to peanuts")
    memory.search("peanuts")
wrong = {"fastapi", "uvicorn", "mcp", "onnxruntime", "tokenizers", "torch", "langchain", "openai", "transformers"} & set(sys.modules)
sys.exit(str(wrong) if wrong else 0)
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.covers("S1.11")
def test_manage_creates_changes_and_puts_away(engine: MemoryEngine, memory: AgentMemory) -> None:
    """Creating gives a new id;
    changing keeps it, and putting away leaves a tombstone that can be lifted.
    """
    first = memory.manage("The key is under the pot")
    second = memory.manage("Felix the cat hates thunder")
    assert first != second
    assert memory.manage("The key is in the shed", "update", first) == first
    assert engine.get(first, scope=ANN).text == "The key is in the shed"
    assert memory.manage(action="delete", id=second) == second
    assert engine.get(second, scope=ANN).status is Status.FORGOTTEN


@pytest.mark.covers("S1.11")
def test_what_cannot_be_managed_says_why(engine: MemoryEngine, memory: AgentMemory) -> None:
    """An id where there is none yet, none where one is needed, an action that is not permitted:
    each a clear error that changes nothing.
    """
    id = memory.manage("The key is under the pot")
    for arguments, error, hint in (
        (("x y z", "create", id), InputError, "chooses the id"),
        (("x y z", "update", ""), InputError, "id of the memory to update"),
        (("", "delete", ""), InputError, "id of the memory to delete"),
        (("", "create", ""), InputError, "nothing to remember"),
        ((" ", "update", id), InputError, "nothing to remember"),
        (("x", "explode", id), InputError, "no action 'explode'"),
        (("x y z", "update", "01nobody00000000000000nobo"), NotFoundError, "no memory"),
    ):
        with pytest.raises(error, match=hint) as refused:
            memory.manage(*arguments)  # type: ignore[arg-type]
        assert refused.value.hint
    careful = AgentMemory(engine, ANN, permitted=("create",))
    for action in ("update", "delete"):
        with pytest.raises(RefusedError, match=f"may not {action}"):
            careful.manage("x y z", action, id)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        AgentMemory(engine, ANN, permitted=("read",))  # type: ignore[arg-type]
    assert engine.get(id, scope=ANN).version == 1 and len(engine.list(scope=ANN).records) == 1


def test_nothing_outside_of_the_scope_can_be_managed(engine: MemoryEngine) -> None:
    """Another owner's memory, and another conversation's of the same owner, can be neither changed
    nor put away by their ids.
    """
    own_scope = (*ANN, "conversation", "c1")
    other_scope = (*ANN, "conversation", "c2")
    theirs = engine.add("Bob's key", scope=BOB).id
    other_id = engine.add("The key of c2", scope=other_scope).id
    memory = AgentMemory(engine, own_scope)
    for id in (theirs, other_id, "../x", "\0", "%"):
        for action in ("update", "delete"):
            with pytest.raises(NotFoundError):
                memory.manage("x y z", action, id)  # type: ignore[arg-type]
    above = engine.add("Everybody's key", scope=ANN).id
    assert memory.manage("Everybody's key is new", "update", above) == above


@pytest.mark.covers("S1.12")
def test_search_scores_sorts_and_cuts(engine: MemoryEngine) -> None:
    """Results have scores, best first, at most `limit`;
    a snippet has 500 characters at most; other scopes are not seen.
    """
    with temp_engine(jobs__workers=0, embedder=HashEmbedder()) as made:
        memory = AgentMemory(made, ANN)
        for number in range(8):
            memory.manage(f"The spare key number {number} is under a pot in the garden")
        long = memory.manage("The spare key is old. " + "It has a long history. " * 100)
        made.add("Bob's spare key", scope=BOB)
        hits = memory.search("spare key", 5)
        assert len(hits) == 5
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
        snippets = {
            hit["id"]: hit["snippet"] for hit in memory.search("spare key old long history", 20)
        }
        assert len(snippets[long]) == 500 and max(map(len, snippets.values())) == 500
        assert all("Bob" not in text for text in snippets.values())
        assert memory.search("spare key", 0) == [] == memory.search("spare key", -1)


@pytest.mark.covers("S1.13")
def test_the_tools_are_plain_callables(memory: AgentMemory) -> None:
    """Called with plain values they answer with plain values;
    their schema names their parameters, and is JSON.
    """
    created = memory.manage_memory("I am allergic to peanuts")
    assert json.loads(json.dumps(created)) == {"id": created["id"], "action": "create"}
    hits = memory.search_memory("peanuts", 3)
    assert json.loads(json.dumps(hits)) == hits and hits[0]["id"] == created["id"]
    manage, search = (json.loads(json.dumps(schema))["function"] for schema in memory.schemas())
    assert (manage["name"], search["name"]) == ("manage_memory", "search_memory")
    assert list(manage["parameters"]["properties"]) == ["content", "action", "id"]
    assert manage["parameters"]["properties"]["action"]["enum"] == ["create", "update", "delete"]
    assert (
        search["parameters"]["required"] == ["query"]
        and search["description"]
        and manage["description"]
    )


def test_a_wrong_call_of_a_tool_is_answered(memory: AgentMemory) -> None:
    """A tool that a framework calls answers a model's slip with error and hint, as ``call`` does:
    no run ends by it.
    """
    slips = [
        ("", "delete", "nope"),
        ("", "create", ""),
        ("x", "update", ""),
        ("x" * 4_000_000, "create", ""),
    ]
    for content, action, id in slips:
        answer = memory.manage_memory(content, action, id)  # type: ignore[arg-type]
        assert answer["error"] and "hint" in answer


def test_one_statement_of_a_message_is_deleted(engine: MemoryEngine, memory: AgentMemory) -> None:
    """A search shows the facts of a message with ids;
    deleting one leaves what else the message says.
    """
    engine.add("I am allergic to cashews. My dog is called Bruno.", scope=ANN, kind=Kind.TURN)
    facts = [fact for hit in memory.search_memory("cashews") for fact in hit.get("facts", ())]
    memory.manage_memory(
        action="delete", id=next(fact["id"] for fact in facts if "cashews" in fact["text"])
    )
    results = str(
        [
            *memory.search_memory("What am I allergic to?"),
            *memory.search_memory("What is my dog called?"),
        ]
    )
    assert "cashews" not in results and "Bruno" in results


@pytest.mark.covers("S1.13")
def test_an_agent_calls_by_name(engine: MemoryEngine, memory: AgentMemory) -> None:
    """A model's call, arguments as JSON text or object, is answered with JSON;
    what cannot be done says so, and never raises.
    """
    created = json.loads(
        memory.call("manage_memory", '{"content": "I am allergic to peanuts", "id": null}')
    )
    assert (
        json.loads(memory.call("search_memory", {"query": "peanuts", "limit": 1}))[0]["id"]
        == created["id"]
    )
    for name, arguments in (
        ("manage_memory", "{broken"),
        ("manage_memory", "[1]"),
        ("manage_memory", '{"content": 7}'),
        ("manage_memory", '{"content": "x", "force": true}'),
        ("manage_memory", '{"action": "delete"}'),
        ("search_memory", "{}"),
        ("search_memory", '{"query": "x", "limit": true}'),
        ("drop_database", "{}"),
        ("search_memory", None),
    ):
        answer = json.loads(memory.call(name, arguments))  # type: ignore[arg-type]
        assert answer["error"] and answer["hint"], (name, arguments)
    assert (
        AgentMemory(engine, ANN, permitted=()).schemas()[0]["function"]["name"] == "search_memory"
    )
    assert (
        json.loads(memory.call("search_memory", {"query": "\ud800\u202e 记忆", "limit": 3}))
        is not None
    )


@pytest.mark.covers("S1.61")
def test_scopes_are_pairs_of_labels_of_any_number(engine: MemoryEngine) -> None:
    """One pair or many;
    a template is filled when it is called, a missing variable names those given, and a text is one
    label.
    """
    assert Scope.of("shared") == Scope(("shared",))
    deep = tuple(f"l{number}" for number in range(8))
    assert Scope.of(deep).labels == deep
    memory = AgentMemory(
        engine,
        ("memories", "{user_id}", "agent", "{agent}"),
        variables={"user_id": "alice", "agent": "guide"},
    )
    assert memory.scope == Scope(("memories", "alice", "agent", "guide"))
    memory.manage("I am allergic to peanuts")
    assert engine.scopes() == (memory.scope,)
    with pytest.raises(ScopeError, match=r"user_id.*given: agent, name"):
        Scope.of(("memories", "{user_id}"), name="x", agent="y")
    with pytest.raises(ScopeError, match="given: none"):
        AgentMemory(engine, ("memories", "{user_id}"))
    for empty in ("", (), None, ("user", "")):
        with pytest.raises(ScopeError):
            Scope.of(empty)
