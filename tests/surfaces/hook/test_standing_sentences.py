"""What a developer says in passing, through the hook: a rule stands at the next start, an order does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event

RULES = [
    "retries only in the gateway, services fail fast",
    "we had two outages because of eager loading, so no more eager loading in list endpoints",
    "ok and btw money is stored as cents, ints",
    "dont touch the vendor folder, it gets synced from upstream",
    "the designers hate modals so we dont use them, side panels instead",
    "for animations we take framer, css keyframes are forbidden",
    "the team agreed on trunk based, so short branches, max 2 days",
    "i dont want comments that just repeat the code",
    "if a test needs network mark it with @slow",
    'the word is "tenant" in this codebase, not "customer"',
    "german error texts for customers, english in logs",
    "you can assume python 3.11, no need for compat shims",
]
FOREIGN_RULES = [
    "wir loggen nie personenbezogene daten",
    "bitte keine neuen dependencies ohne rückfrage",
    "bei uns heissen branches immer feat/ oder fix/ plus ticket",
    "aquí siempre usamos pnpm",
    "chez nous les commits sont toujours en anglais",
]
PASSING = [
    "make sure the migration is reversible before you run it",
    "we have 3 customers complaining about the export",
    "every second request gets a 502",
    "we should use redis for that",
    "we release 2.4 next week",
    "all links in the footer are dead",
    "the total never matches the invoice",
    "only the admin page uses the old layout, change that",
    "dont commit yet, i want to look first",
    "when a user logs out clear the cart",
    "i prefer the second version",
    "nothing happens when i click save",
    "wir brauchen noch einen test für den leeren warenkorb",
    "bitte keine änderungen an der api, nur das css",
    "immer noch rot",
]


class Agent:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self._folder = folder
        self._session = 0

    def say(self, *sentences: str) -> None:
        self._session += 1
        for sentence in sentences:
            self._send("UserPromptSubmit", prompt=sentence)
        self._send("Stop", last_assistant_message="Ok.")

    def begin(self) -> list[str]:
        """Begin a session; return the memories that it is given, without what was said last."""
        self._session += 1
        start, _, _ = self._send("SessionStart").partition("<last_session")
        return [line.split(". ", 1)[1] for line in start.splitlines() if line[:1].isdigit()]

    def _send(self, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": f"s{self._session}", **values}
        event = parse_event(json.dumps({**body, "cwd": str(self._folder)}).encode())
        assert event is not None
        answer = answer_event(self._call, event)
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    home.mkdir(parents=True, exist_ok=True)
    (tmp_path / "shop").mkdir()
    return Agent(home, tmp_path / "shop")


def _has(start: list[str], sentence: str) -> bool:
    words = sentence.removeprefix("ok and btw ")
    return any(words in line for line in start)


@pytest.mark.parametrize("rules", [RULES[:6], RULES[6:], FOREIGN_RULES], ids=["a", "b", "foreign"])
def test_a_sentence_that_holds_for_good_stands_at_the_next_start(
    agent: Agent, rules: list[str]
) -> None:
    """The general present, a ban of a kind of thing, or a habit of "us" is a rule, in its own words."""
    agent.say(*rules)
    start = agent.begin()
    assert [rule for rule in rules if not _has(start, rule)] == []


def test_what_belongs_to_the_moment_is_no_rule(agent: Agent) -> None:
    """An order, a state, a plan or a complaint stands at no start, whatever words of rules it has."""
    agent.say(*PASSING)
    assert agent.begin() == []


def test_a_rule_beside_an_order_is_kept_without_it(agent: Agent) -> None:
    """Of an order and a rule in one sentence the rule stands at the next start."""
    agent.say("we never use tabs in yaml, fix the indentation of this one")
    assert agent.begin() == ["we never use tabs in yaml"]
