"""Sentences of coding sessions: what is said in passing begins the next session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.agents.__main__ import DATA, find_start, read_sentences

from engrams import Turn
from engrams.core import Kind
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import HookCallOptions, answer_event
from engrams.testing import temp_engine


def test_what_a_field_test_said_is_learned() -> None:
    """Of the conventions that were said in four long sessions nearly all begin the next one, whole;
    orders and questions leave nothing.
    """
    sentences = list(read_sentences(DATA / "passing.txt"))
    missed: list[str] = []
    with temp_engine(write__extract="rules") as engine:
        for number, sentence in enumerate(sentences):
            start = find_start(engine, number, sentence.text)
            is_whole = all(word.lower() in start.lower() for word in sentence.words)
            if bool(start) != bool(sentence.words) or not is_whole:
                missed.append(sentence.text)
    assert len(sentences) >= 55
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("never touch `generated/`, run `pnpm gen` instead", ("`generated/`", "`pnpm gen`")),
        ("never log email addresses", ("email addresses",)),
        ("PRs go against develop, not main", ("develop, not main",)),
        ("tests go next to the file, as `foo.test.ts`", ("`foo.test.ts`",)),
        ("use `git mv` when you move files so history survives", ("`git mv`", "history")),
        ("we squash merge", ("squash",)),
        ("our deploy window is Tuesday and Thursday 10 to 12", ("Tuesday and Thursday",)),
    ],
)
def test_a_convention_begins_the_next_session(
    home: Path, prompt: str, words: tuple[str, ...]
) -> None:
    """Said once to an agent, it is there to the letter, code spans and recurring days too."""
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".", seconds=60.0)

    def send(session: str, name: str, **values: str) -> str:
        body = {"hook_event_name": name, "session_id": session, "cwd": "/src/shop", **values}
        event = parse_event(json.dumps(body).encode())
        assert event is not None
        return answer_event(call, event)

    send("s1", "UserPromptSubmit", prompt=prompt)
    send("s1", "Stop", last_assistant_message="Understood.")
    start = send("s2", "SessionStart")
    assert start and all(word in start for word in words)
    assert "on 24 November" not in start


@pytest.mark.parametrize(
    "prompt",
    [
        "run all tests again",
        "add tests for every reducer",
        "the build is red",
        "update the lockfile",
    ],
)
def test_an_order_or_a_state_is_no_convention(prompt: str) -> None:
    """What is asked for now, or so at the moment, is not told to the next session."""
    with temp_engine(write__extract="rules") as engine:
        assert find_start(engine, 1, prompt) == ""


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("Let's go with Zustand instead of Redux for the cart store", "Zustand instead of Redux"),
        ("we decided against GraphQL because caching was a pain", "against GraphQL"),
        ("Decision: API errors use RFC 9457 problem details", "RFC 9457"),
    ],
)
def test_a_decision_is_told_and_listed_as_such(prompt: str, words: str) -> None:
    """With what it was chosen over and why; "decided against" is no choice of the thing."""
    with temp_engine(write__extract="rules") as engine:
        start = find_start(engine, 1, prompt)
        assert words in start and "DECIDED" not in start
        records = engine.list(scope=("user", "u1", "project", "shop"), kinds=(Kind.RULE,)).records
        assert [record.category for record in records] == ["decision"]


def test_a_correction_stands_in_the_place_of_what_it_corrects() -> None:
    """What a correction says about a thing of the project begins the next session."""
    scope = ("user", "ann", "project", "shop")
    with temp_engine(write__extract="rules") as engine:
        first = find_start(engine, 1, "All money is integer cents, never floats")
        assert "integer cents" in first
        said = "no wait, cents only in cart and checkout, Decimal strings in analytics"
        engine.observe([Turn("All money is integer cents, never floats")], scope=scope)
        engine.observe([Turn(said)], scope=scope)
        engine.drain(20)
        assert "Decimal strings in analytics" in engine.context("", scope=scope).text
        id = engine.add("Cents only in cart and checkout.", scope=scope, kind="correction").id
        engine.edit(id, scope=scope, fields={"category": "project", "subject": "money amounts"})
        assert "Cents only in cart" in engine.context("", scope=scope).text
