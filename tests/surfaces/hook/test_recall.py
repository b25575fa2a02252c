"""What an agent's session is given: nothing twice, nothing that it said, and where the last ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import engrams
from engrams import Turn
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event

SHOP = ("user", "ann", "project", "shop")
PORT = "The staging database of the shop listens on port 5433."
QUESTION = "Which port does the staging database use?"


class Session:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".")

    def send(self, session: str, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": session, "cwd": "/src/shop", **values}
        event = parse_event(json.dumps(body).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def ask(self, session: str, prompt: str) -> str:
        return self.send(session, "UserPromptSubmit", prompt=prompt)


@pytest.fixture
def agent(home: Path) -> Session:
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.observe([Turn(PORT, "user", session="old")], scope=SHOP)
        engine.observe(
            [Turn("Deploys to staging go through release.yml only.", "user", session="old")],
            scope=SHOP,
        )
        engine.drain(20)
    return Session(home)


def test_nothing_is_given_twice(agent: Session) -> None:
    """A memory that a session got, at its start or for a prompt, does not come again in it, in any
    process; another session gets it.
    """
    first = agent.ask("s1", QUESTION)
    assert "5433" in first
    assert "5433" not in agent.ask("s1", "And which port was it again for the staging database?")
    assert "5433" in agent.ask("s2", QUESTION)
    start = agent.send("s3", "SessionStart", source="startup")
    asked = agent.ask("s3", "How do we deploy to staging, and which port has the database?")
    lines = [line for line in start.splitlines() if line[:1].isdigit()]
    assert lines and not [
        line
        for line in asked.splitlines()
        if line[2:].strip("- ") in start and line.startswith("- ")
    ]


def test_what_the_session_said_is_not_given_back(agent: Session) -> None:
    """Neither its messages nor what was learned from them, until a compaction took them away."""
    agent.ask("s1", "The cache of the shop is Valkey on port 6380.")
    agent.send("s1", "Stop", last_assistant_message="Understood.")
    question = "Which port has the cache of the shop?"
    assert "6380" not in agent.ask("s1", question)
    assert "6380" in agent.ask("s2", question)
    start = agent.send("s1", "SessionStart", source="compact")
    assert "6380" in start + agent.ask("s1", question)


def test_a_resumed_session_has_its_start(agent: Session) -> None:
    """It gets it again after a compaction, and after a resume only if it changed."""
    start = agent.send("s1", "SessionStart", source="startup")
    assert "release.yml" in start
    assert agent.send("s1", "SessionStart", source="resume") == ""
    assert "release.yml" in agent.send("s1", "SessionStart", source="compact")
    agent.ask("s2", "Use pnpm, not npm.")
    agent.send("s2", "Stop", last_assistant_message="Understood.")
    assert "pnpm" in agent.send("s1", "SessionStart", source="resume")


def test_the_start_says_where_the_last_session_stopped(agent: Session, tmp_path: Path) -> None:
    """The last request that is no order, and the work on it, of this project's last session."""
    agent.ask("s1", "The cart total is wrong when a coupon is applied twice, please fix it.")
    lines = [
        {"type": "user", "message": {"role": "user", "content": "fix it"}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "1",
                        "name": "Edit",
                        "input": {"file_path": "/src/shop/src/cart.ts"},
                    }
                ],
            },
        },
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]},
        },
    ]
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    agent.send("s1", "Stop", transcript_path=str(file))
    agent.ask("s1", "now the build")
    start = agent.send("s2", "SessionStart", source="startup")
    last = start.partition("<last_session")[2]
    assert "coupon is applied twice" in last and "src/cart.ts" in last
    assert "now the build" not in last
    assert agent.send("s3", "SessionStart", source="startup") == start
    assert "<last_session" not in agent.send("s1", "SessionStart", source="compact")


@pytest.mark.parametrize("prompt", ["use that one then", "go on and plan it", "thanks", "ok do it"])
def test_a_vague_prompt_gets_nothing(agent: Session, prompt: str) -> None:
    """What only the conversation explains pulls nothing."""
    assert agent.ask("s1", prompt) == ""


def test_the_start_stays_within_its_budget(agent: Session, home: Path) -> None:
    """However much is known, the text at the start has at most 400 tokens of memories."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for number in range(80):
            rule = f"Module number {number} is only changed by its owners in team {number}."
            engine.add(rule, scope=SHOP, kind="rule")
        start = agent.send("s1", "SessionStart", source="startup").partition("<last_session")[0]
        assert 200 < engine.context("", scope=SHOP, tokens=400).tokens <= 400
    assert len(start) < 400 * 6


def test_a_session_file_holds_no_words(agent: Session, home: Path) -> None:
    """The ids that a session was given are kept, not what they say."""
    agent.ask("s1", QUESTION)
    (file,) = (home / "agent-sessions").iterdir()
    assert "5433" not in file.read_text("utf-8") and json.loads(file.read_text("utf-8"))["ids"]


def test_a_crashed_session_is_taken_in_by_the_next(
    agent: Session, home: Path, tmp_path: Path
) -> None:
    """The answer of a turn whose end never came is stored at the next start in the project, once."""
    file = tmp_path / "t.jsonl"
    answer = "The flaky login test waits for the wrong selector."
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Why is the login test flaky?"}},
        {"type": "assistant", "message": {"role": "assistant", "content": answer}},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    prompt = {"prompt": "Why is the login test flaky?", "transcript_path": str(file)}
    agent.send("crashed", "UserPromptSubmit", **prompt)

    def list_answers() -> list[str]:
        with engrams.open(home=str(home), jobs__workers=0) as engine:
            return [
                record.text
                for record in engine.list(scope=SHOP, session="crashed").records
                if record.role == "assistant"
            ]

    assert list_answers() == []
    for session in ("s2", "s3"):
        agent.send(session, "SessionStart", source="startup")
        assert list_answers() == [answer]
    agent.send("crashed", "Stop", transcript_path=str(file), last_assistant_message=answer)
    assert list_answers() == [answer]
