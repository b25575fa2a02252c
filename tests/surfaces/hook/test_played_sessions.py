"""Defects that played sessions of coding agents found, each through the hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hook.hooked_agent import HookedAgent

import engrams

SHOP = ("user", "ann", "project", "shop")


def speak(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **fields}


def edit(path: Path) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "1", "name": "Edit", "input": {"file_path": str(path)}}
    return [
        speak("assistant", [call]),
        speak("user", [{"type": "tool_result", "tool_use_id": "1"}]),
    ]


def test_what_we_do_is_said_of_the_project(agent: HookedAgent) -> None:
    """ "Our" and "we" mean the project in which they were said, not the person; "my" the person."""
    agent.say(
        "our deploy window is Tuesday and Thursday 10 to 12",
        "my timezone is Europe/Vienna",
    )
    start = agent.begin()
    assert "shop DEPLOY_WINDOW Tuesday and Thursday 10 to 12" in start
    assert "user TIMEZONE Europe/Vienna" in start and "user DEPLOY" not in start


@pytest.mark.parametrize(
    "convention",
    [
        "we dropped Windows support in 2.0, don't add it back",
        "the lamp's protocol version stays at 3 until the factory has new firmware",
        "use conventional commits, like `fix(cart): …`",
        "no unwrap outside of tests, errors go through `thiserror`",
        "releases are cut by Jana on the first Monday of the month",
    ],
)
def test_a_convention_of_a_project_needs_no_word_of_code(
    agent: HookedAgent, convention: str
) -> None:
    """A convention said in passing stands at the next start, in the words in which it was said."""
    agent.say(convention)
    assert f". {convention}\n" in agent.begin()


def test_a_convention_stands_behind_a_task(agent: HookedAgent) -> None:
    """Of a task with its convention the convention is learnt."""
    agent.say("refactor the cart: let's go with Zustand instead of Redux for the cart store")
    assert ". let's go with Zustand instead of Redux for the cart store\n" in agent.begin()


@pytest.mark.parametrize(
    "passing",
    [
        "the invoice tests fail in CI",
        "log the customer id when an invoice is sent",
        "the build is red again",
        "leaflet is killing me, the tiles differ between my mac and the box and it is 900 MB",
    ],
)
def test_a_state_or_a_task_is_no_fact_of_the_project(agent: HookedAgent, passing: str) -> None:
    """A state that passes, a task and a complaint are not told at the next start."""
    agent.say(passing)
    assert "<memory" not in agent.begin()


@pytest.mark.parametrize(
    ("rule", "news"),
    [
        (
            "never touch `generated/`, run `pnpm gen` instead, it's made from api.yaml",
            "from now on we use bun instead of pnpm",
        ),
        (
            "dates are always ISO 8601 in UTC, the helpers are in src/dates.ts",
            "move the price helper into src/price.ts",
        ),
    ],
)
def test_a_rule_outlives_news_of_something_else(agent: HookedAgent, rule: str, news: str) -> None:
    """One common word, or an order of the moment, ends no rule."""
    agent.say(rule)
    agent.say(news)
    assert f". {rule}\n" in agent.begin()


def test_a_tool_that_is_replaced_is_no_rule_any_more(agent: HookedAgent) -> None:
    """The rule of a tool ends when another takes its place."""
    agent.say("we use pnpm here, never npm")
    agent.say("from now on we use bun instead of pnpm")
    start = agent.begin()
    assert ". from now on we use bun instead of pnpm\n" in start
    assert "never npm" not in start


def test_what_the_start_told_of_the_last_session_does_not_come_again(agent: HookedAgent) -> None:
    """A prompt is not given what the start of its session told."""
    task = "add the fee field to the invoice model of the ledger"
    path = agent._folder / "src/invoices.py"
    agent.play([speak("user", task), *edit(path)])
    assert "The agent changed src/invoices.py" in agent.begin()
    assert "src/invoices.py" not in agent.send("UserPromptSubmit", prompt="add a fee table")


def test_an_echo_of_the_agent_is_not_found(agent: HookedAgent, home: Path) -> None:
    """A short answer to a rule repeats it; one to a question, or with a number, tells something."""
    agent.play(
        [
            speak("user", "which date library do the reports use?"),
            speak("assistant", "Luxon, in all reports."),
            speak("user", "no default exports in the analytics export"),
            speak("assistant", "Named exports for the analytics."),
        ]
    )
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        hits = engine.search("Luxon and named exports", scope=SHOP).hits
    texts = [hit.record.text for hit in hits if hit.record.role == "assistant"]
    assert texts == ["Luxon, in all reports."]


def test_the_person_is_told_once(agent: HookedAgent, home: Path) -> None:
    """What is known of the person in the project and beyond stands once at the start of a session."""
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for scope in (SHOP, SHOP[:2]):
            engine.observe([engrams.Turn("I'm Lena.", "user", session="s0")], scope=scope)
            engine.drain(60)
    assert agent.begin().count("Lena —") == 1


def test_a_slip_that_was_corrected_is_not_what_was_said_last(agent: HookedAgent) -> None:
    """The start of the next session tells the words that stand, and the task before them."""
    agent.say(
        "split the importer into a reader and a writer",
        "Priya left, Tomasz does the deploys now",
        "no, I meant Tomek, not Tomasz",
        "summarize yesterday",
    )
    start = agent.begin()
    assert "Tomasz" not in start
    assert "said last: split the importer" in start
