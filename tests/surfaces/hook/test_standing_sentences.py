"""What a developer says in passing, through the hook: a rule stands at the next start, an order does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run, engrams  # noqa: F401 - a fixture

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
    "where possible use the helpers in src/dates.ts",
    "migrations are written by hand, see docs/migrations.md",
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
    "never seen that error before",
    "what does `satisfies` do in typescript",
    "why does `pnpm gen` touch the generated folder",
    "don't bother with the old tests",
    "change it so every row has its own key",
    "immer noch rot",
    "tiles at zoom 18 come back empty, check atlas/tiles.py",
    "the ingest endpoint drops events when the payload has no tenant id, please look at src/ingest.py",
    "der Bondrucker druckt Umlaute falsch, schau in src/druck/escpos.ts",
    "der Scanner liest EAN-8 nicht, siehe src/scan/barcode.ts",
    "el carrito pierde artículos al recargar, mira src/cart.ts",
    "le panier se vide au rechargement, regarde src/cart.ts",
]


class Agent:
    """Hook of one home, called in a project."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)
        self.folder = folder
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

    def ask(self, prompt: str) -> str:
        """Ask something; return what the prompt is given."""
        return self._send("UserPromptSubmit", prompt=prompt)

    def _send(self, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": f"s{self._session}", **values}
        event = parse_event(json.dumps({**body, "cwd": str(self.folder)}).encode())
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


@pytest.mark.parametrize(
    ("rule", "correction", "former"),
    [
        (
            "and all money is integer cents, never floats",
            "cents only in cart and checkout, Decimal strings in analytics",
            "integer cents",
        ),
        ("tests sit beside the code, foo_test.go style", "tests go into a tests/ folder", "beside"),
        (
            "never use default exports",
            "default exports are fine in pages/, never elsewhere",
            "use default",
        ),
        ("hooks in react components max 5", "max 8 hooks per component", "max 5"),
    ],
)
def test_a_correction_replaces_its_rule_everywhere(
    agent: Agent,
    engrams: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    correction: str,
    former: str,
) -> None:
    """At the start, in a prompt and on the project's page stands the corrected rule alone."""
    agent.say(rule, "add a test for the parser", f"hm no wait, {correction}")
    assert agent.begin() == [correction]
    recalled = agent.ask(f"go on: {rule}")
    assert former not in recalled or "no longer so" in recalled
    monkeypatch.chdir(agent.folder)
    assert engrams("project page", "--yes", "--user", "ann").code == 0
    page = (agent.folder / "MEMORY.md").read_text("utf-8")
    assert correction in page and former not in page


def test_a_correction_leaves_rules_of_something_else(agent: Agent) -> None:
    """A rule stays beside a correction that shares a word with it and says another sort of thing."""
    rules = ["commits are in english", "prs go against develop", "feature flags live in flags.yaml"]
    corrections = [
        "every commit needs a ticket number",
        "every pr needs a changelog line",
        "secrets live in vault",
    ]
    agent.say(*rules, *(f"no wait, {correction}" for correction in corrections))
    assert sorted(agent.begin()) == sorted(rules + corrections)


def test_another_thing_of_the_conversation_is_no_value(agent: Agent) -> None:
    """ "I meant the other file" corrects no word of a rule."""
    agent.say("retries only in the gateway, services fail fast", "no, i meant the other file")
    assert agent.begin() == ["retries only in the gateway, services fail fast"]
