"""Requests about memory in an agent's prompt: done by memory before the model answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import Turn
from engrams.core import Status
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event

SHOP = ("user", "ann", "project", "shop")
PORT = "The staging database of the shop listens on port 5433."


class Agent:
    """One session of Claude Code, which sends its hooks and writes a transcript."""

    def __init__(self, home: Path, transcript: Path, session: str = "s1") -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self.home = home
        self.session = session
        self._transcript = transcript

    def send(self, name: str, **values: str) -> dict[str, Any]:
        """Send an event; return what the agent reads of the hook."""
        body = {"hook_event_name": name, "session_id": self.session, "cwd": "/src/shop", **values}
        event = parse_event(json.dumps(body).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer) if answer else {}

    def say(self, prompt: str, answer: str = "Understood.") -> dict[str, Any]:
        """Say something, and let the agent answer and end its turn."""
        reply = self.send("UserPromptSubmit", prompt=prompt)
        with self._transcript.open("a", encoding="utf-8") as file:
            for role, text in (("user", prompt), ("assistant", answer)):
                line = {"type": role, "message": {"role": role, "content": text}}
                file.write(f"{json.dumps(line)}\n")
        self.send("Stop", transcript_path=str(self._transcript), last_assistant_message=answer)
        return reply

    def list_texts(self, status: Status = Status.ACTIVE) -> list[str]:
        with engrams.open(home=str(self.home), jobs__workers=0) as engine:
            page = engine.list(scope=SHOP, statuses=(status,), limit=100)
            return [record.text for record in page.records]


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.observe([Turn(PORT, "user", session="old")], scope=SHOP)
        engine.drain(20)
    return Agent(home, tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("request_text", "yes", "undo"),
    [
        ("Forget that the staging database listens on port 5433.", "yes", "undo"),
        ("please delete the memory about the staging database port", "yes please", "undo that"),
        ("Vergiss, dass the staging database listens on port 5433.", "ja", "mach das rückgängig"),
    ],
)
def test_a_memory_is_forgotten_and_brought_back(
    agent: Agent, request_text: str, yes: str, undo: str
) -> None:
    """The person and the model are told what memory asks and did; a yes forgets, an undo brings
    back, and neither the requests nor the answers are stored.
    """
    asked = agent.say(request_text, "Shall memory forget the port?")
    assert "port 5433" in asked["systemMessage"]
    assert "port 5433" in asked["hookSpecificOutput"]["additionalContext"]
    assert PORT in agent.list_texts()
    done = agent.say(yes, "The port of the staging database is forgotten.")
    assert done["systemMessage"] and PORT not in agent.list_texts()
    restored = agent.say(undo, "It is back.")
    assert "port 5433" in restored["systemMessage"]
    texts = agent.list_texts()
    assert PORT in texts
    assert not {request_text, yes, undo, "It is back."} & set(texts)
    assert not [text for text in texts if "forgotten" in text or "Shall memory" in text]


def test_a_note_of_work_is_forgotten_with_the_request_that_it_quotes(agent: Agent) -> None:
    """It is no memory of its own to choose, and keeps nothing of what was to be forgotten."""
    told = "the tax rates are kept in src/tax.ts by the finance team"
    agent.say(told)
    with engrams.open(home=str(agent.home), jobs__workers=0) as engine:
        note = Turn(f"The agent changed src/tax.ts for the request: {told}", "tool", session="s1")
        engine.observe([note], scope=SHOP)
    asked = agent.say(f"forget that {told}")
    assert "The agent changed" not in asked["systemMessage"]
    agent.say("yes")
    assert not [text for text in agent.list_texts() if "tax" in text]


@pytest.mark.parametrize(
    "prompt",
    [
        "delete it",
        "undo",
        "yes",
        "remove the memory leak of the staging database",
        "clear everything",
        "forget about the staging database for now",
        "forget it",
        "that's wrong",
        "add a preference for the staging database port",
        "how long does the staging database take?",
        "list my sessions",
        "lösch das",
        "vergiss die staging database",
        "forget everything about the staging tests and start over",
        "ok forget everything we tried",
        "hast du vergessen, die staging database zu starten?",
    ],
)
def test_words_about_the_work_are_the_agents(agent: Agent, prompt: str) -> None:
    """What an agent is told to delete, to undo or to forget is its work, and memory keeps still."""
    assert "systemMessage" not in agent.say(prompt)
    assert PORT in agent.list_texts()


def test_a_yes_or_an_undo_that_comes_later_is_the_agents(agent: Agent) -> None:
    """It answers the prompt before it, which was about something else."""
    agent.say("Forget that the staging database listens on port 5433.")
    agent.say("first run the linter")
    assert "systemMessage" not in agent.say("yes")
    assert PORT in agent.list_texts()
    agent.say("Forget that the staging database listens on port 5433.")
    agent.say("yes")
    agent.say("now rename the module")
    assert "systemMessage" not in agent.say("undo")
    assert PORT not in agent.list_texts()


def test_what_memory_knows_is_listed_and_given_once(agent: Agent) -> None:
    """A list comes instead of recalled memories, and its memories do not come again."""
    reply = agent.say("what do you know about the staging database?")
    assert "5433" in reply["systemMessage"]
    assert reply["hookSpecificOutput"]["additionalContext"].count("5433") == 1
    assert not agent.say("Which port does the staging database of the shop use?")


def test_what_is_not_to_be_saved_has_a_receipt(agent: Agent) -> None:
    """The person is told that it was not stored, and nothing of it is."""
    reply = agent.say("don't remember this: the Porto team will be laid off in March")
    assert reply["systemMessage"]
    assert not [text for text in agent.list_texts() if "Porto" in text]


def test_cursor_gets_the_answer_in_its_form(agent: Agent) -> None:
    """Where a hook has no message for the person, the model is told; and an agent that drops what a
    hook says to a prompt is asked nothing.
    """
    body = {"prompt": "Forget that the staging database listens on port 5433.", "cwd": "/src/shop"}

    def ask(**ids: str) -> dict[str, Any]:
        event = parse_event(json.dumps({**body, **ids}).encode(), "beforeSubmitPrompt")
        assert event is not None
        call = HookCallOptions({"home": str(agent.home), "user": "ann"}, project=".", seconds=60.0)
        return json.loads(answer_event(call, event) or "{}")

    cursor = ask(conversation_id="c1")
    assert "port 5433" in cursor["additional_context"] and "systemMessage" not in cursor
    assert "forget" not in ask(sessionId="c2").get("additionalContext", "").lower()
