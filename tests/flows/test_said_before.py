"""Requests about the message before mean that message: it is forgotten, and can be brought back."""

from __future__ import annotations

import pytest

from engrams.core import Status, Turn
from engrams.testing import temp_engine

_TOLD = "My doctor says I have diabetes."
_SCOPE = ("user", "ann")


@pytest.mark.parametrize(
    "request_text",
    [
        "Don't save my last message.",
        "That was private, don't remember it.",
        "Please forget what I just said.",
        "Forget that.",
        "Delete that last message from your memory.",
        "Vergiss das.",
        "Oublie ça.",
        "Olvida eso.",
    ],
)
def test_the_message_before_is_forgotten(request_text: str) -> None:
    """The message that a request means is not found any more, nor what was learned from it."""
    with temp_engine() as memory:
        told = memory.add(Turn(_TOLD, session="s"), scope=_SCOPE)
        memory.add(Turn("I live in Rome.", session="other"), scope=_SCOPE)
        memory.add(Turn(request_text, session="s"), scope=_SCOPE)
        hits = memory.search("what did my doctor say about diabetes?", scope=_SCOPE).hits
        assert not [hit for hit in hits if "diabetes" in hit.record.text]
        assert "diabetes" not in memory.context("my doctor", scope=_SCOPE).text
        assert memory.restore(told.id, scope=_SCOPE).status is Status.ACTIVE
        assert "Rome" in memory.context("where do I live?", scope=_SCOPE).text


def test_a_message_that_waits_to_be_learned_from_teaches_nothing_once_it_is_forgotten() -> None:
    """A request, or a person, may forget a message before its job has run: nothing is learned."""
    with temp_engine(jobs__workers=0) as memory:
        for session, text in (("s", "I play the cello."), ("t", "I play the oboe.")):
            memory.observe([Turn(text, session=session)], scope=_SCOPE)
        memory.observe([Turn("Don't save my last message.", session="s")], scope=_SCOPE)
        (oboe,) = memory.list(scope=_SCOPE, text="oboe").records
        memory.forget(oboe.id, scope=_SCOPE)
        memory.drain(10)
        assert memory.list(scope=_SCOPE, statuses=(Status.ACTIVE,)).records == ()


def test_a_request_in_one_write_with_its_message() -> None:
    """A request that comes with the message in one write means it too."""
    with temp_engine() as memory:
        turns = [Turn(_TOLD, session="s"), Turn("Noted.", role="assistant", session="s")]
        memory.observe([*turns, Turn("Forget that.", session="s")], scope=_SCOPE)
        memory.drain(10)
        hits = memory.search("diabetes", scope=_SCOPE).hits
        assert not [hit for hit in hits if hit.record.text == _TOLD]


@pytest.mark.parametrize(
    "text",
    [
        "Forget I said that I have diabetes.",
        "Keep this out of your memory: I have diabetes.",
        "Don't save this: my neighbour has diabetes.",
    ],
)
def test_a_request_with_its_own_words_means_these(text: str) -> None:
    """A request that says what it is about is not stored, and the message before stays."""
    with temp_engine() as memory:
        memory.add(Turn("I live in Rome.", session="s"), scope=_SCOPE)
        assert memory.add(Turn(text, session="s"), scope=_SCOPE).outcome == "unsaved"
        assert memory.list(scope=_SCOPE, text="diabetes").records == ()
        assert "Rome" in memory.context("where do I live?", scope=_SCOPE).text


def test_another_speaker_takes_nothing_back() -> None:
    """A request means its own speaker's last message, in its own conversation."""
    with temp_engine() as memory:
        memory.add(Turn(_TOLD, session="s"), scope=_SCOPE)
        memory.add(Turn("Forget that.", session="s", speaker="Mallory"), scope=_SCOPE)
        memory.add(Turn("Forget that.", session="t"), scope=_SCOPE)
        assert memory.search("diabetes", scope=_SCOPE).hits[0].record.text == _TOLD
