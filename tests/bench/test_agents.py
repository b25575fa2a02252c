"""Sentences of coding sessions: what is said in passing begins the next session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.agents.__main__ import DATA, find_start, read_sentences

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
    call = HookCallOptions({"home": str(home), "user": "ann"}, project=".")

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
