"""Defects that a field test of coding agents found, each played through the hook or a tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event


class Agent:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".")
        self._folder = folder
        self._session = 0

    def send(self, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": f"s{self._session}", **values}
        event = parse_event(json.dumps({**body, "cwd": str(self._folder)}).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""

    def say(self, *sentences: str) -> None:
        self._session += 1
        for sentence in sentences:
            self.send("UserPromptSubmit", prompt=sentence)
        self.send("Stop", last_assistant_message="Understood.")

    def begin(self) -> str:
        self._session += 1
        return self.send("SessionStart")


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    home.mkdir(parents=True, exist_ok=True)
    (tmp_path / "shop").mkdir()
    return Agent(home, tmp_path / "shop")


def test_recurring_days_stay_recurring(agent: Agent) -> None:
    """ "Tuesday and Thursday" is no date of this week at the start of the next session."""
    agent.say("our deploy window is Tuesday and Thursday 10 to 12")
    start = agent.begin()
    assert "Tuesday and Thursday" in start
    assert " on 2" not in start.replace("<last_session", "")


def test_code_spans_of_rules_are_kept_to_the_letter(agent: Agent) -> None:
    """The words in backticks are what the rule is about."""
    agent.say(
        "never touch `generated/`, run `pnpm gen` instead",
        "Always run `make test-unit` before committing.",
    )
    start = agent.begin()
    for words in ("`generated/`", "`pnpm gen`", "`make test-unit`"):
        assert words in start
