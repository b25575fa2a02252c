"""When a conversation is learned from, and that nothing else depends on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.read.vectors import Angles
from tests.session.conversation import ALICE, Conversation

from engrams import Turn
from engrams.settings import SessionSettings
from engrams.testing import ScriptedModel
from engrams.write.extraction_jobs import due_reason

LONG = "The harbour was quiet and the boats lay still"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        server.when("The messages:", {"statements": []})
        server.when("Write a short account", {"summary": ""})
        yield server


def modelled(model: ScriptedModel, trigger: str, **settings: object) -> Conversation:
    server = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url}
    return Conversation(**server, sessions__trigger=trigger, **settings)


@pytest.mark.covers("S3.43")
def test_twelve_turns_a_change_of_topic_or_the_end() -> None:
    """With 200 characters there:
    twelve turns fire, a change of topic after four does, and so does the end; with less nothing
    does.
    """
    section = SessionSettings()
    turn = "x" * 60
    assert due_reason([turn] * 12, section) == "12 turns"
    assert due_reason([turn] * 11, section) == ""
    assert due_reason([turn] * 4, section, has_new_topic=True) == "topic change"
    assert due_reason([turn] * 3, section, has_new_topic=True) == ""
    assert due_reason(["x" * 200], section, end=True) == "session end"
    assert due_reason(["x" * 199], section, end=True) == ""
    assert due_reason(["x" * 10] * 12, section, has_new_topic=True) == ""


@pytest.mark.covers("S3.43")
def test_a_batch_is_one_extraction_of_twelve_turns(model: ScriptedModel) -> None:
    """Eleven turns call no model, in whatever processes they were told;
    the twelfth makes one call over all of them.
    """
    talk = modelled(model, "batch")
    for number in range(11):
        talk.say(f"{LONG} on day {number}.")
    assert model.requests == []
    talk.say(f"{LONG} on day 11.")
    (request,) = model.requests
    assert "on day 0." in request.prompt and "on day 11." in request.prompt
    talk.say(f"{LONG} on day 12.")
    assert len(model.requests) == 1
    talk.close()


@pytest.mark.covers("S3.43")
def test_the_end_takes_what_gathered_if_it_is_enough(model: ScriptedModel) -> None:
    """At a session's end 200 characters are learned from, fewer are let be."""
    talk = modelled(model, "batch")
    for session, text in (("short", "I like tea a lot."), ("long", f"{LONG}. " * 6)):
        talk.say(text, session=session)
        talk.engine.sessions.end(session, scope=ALICE, wait=True)
    prompts = [request.prompt for request in model.requests if "The messages:" in request.prompt]
    assert len(prompts) == 1 and "harbour" in prompts[0]
    assert "waiting" not in talk.engine.status()["jobs"].get("extract", {})
    talk.close()


@pytest.mark.covers("S3.19", "S3.43")
def test_a_change_of_topic_fires_after_four_turns(model: ScriptedModel) -> None:
    """Four turns of which the last is about something else are learned from;
    four about one thing are not.
    """
    same = [
        f"The boats in the harbour sail in the morning wind, said sailor {name}."
        for name in ("Ann", "Bob", "Cid")
    ]
    talk = modelled(model, "batch")
    talk.say(
        *same, "The boats in the harbour sail in the evening wind, said sailor Dan.", session="one"
    )
    assert model.requests == []
    talk.say(*same, "Please debug my Python unit tests for matrix multiplication.", session="two")
    assert len(model.requests) == 1
    talk.close()


@pytest.mark.covers("S3.19", "S3.43")
@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    "news", ["What is a good recipe for buns?", "I baked forty buns with sugar."]
)
def test_a_question_and_a_slow_embedder_change_the_topic_too(
    model: ScriptedModel, inline: bool, news: str
) -> None:
    """A new topic may begin with a question, which is no statement, and its vector may be missing
    when the turn is stored; an answer of the assistant is about its question.
    """
    embedder = Angles(inline=inline)
    embedder.put(news, plane=1)
    talk = modelled(model, "batch", embedder=embedder)
    said = [f"The boats in the harbour sail in the morning, said sailor {n}." for n in range(4)]
    for text in said:
        embedder.put(text, 0.9)
    talk.say(*said, session="one")
    assert model.requests == []
    talk.engine.observe(
        [
            Turn(news, session="one"),
            Turn("Buns need flour, sugar and time.", role="assistant", session="one"),
        ],
        scope=ALICE,
    )
    talk.engine.drain()
    assert len(model.requests) == 1
    talk.close()


@pytest.mark.covers("S3.43")
@pytest.mark.parametrize(
    ("trigger", "calls"), [("turn", 3), ("quiet", 0), ("auto", 0), ("end", 0), ("manual", 0)]
)
def test_one_setting_covers_the_others(model: ScriptedModel, trigger: str, calls: int) -> None:
    """Each turn, after quiet, at the end or when asked:
    the same turns, learned from at another time.
    """
    talk = modelled(model, trigger)
    for text in ("I live in Paris.", "I play the oboe.", "I work at Acme."):
        talk.engine.observe(Turn(text, session="s"), scope=ALICE)
        talk.engine.drain()
    assert len(model.requests) == calls
    if trigger == "manual":
        talk.engine.sessions.learn("s", scope=ALICE)
        talk.engine.drain()
        assert len(model.requests) == 1
    talk.engine.sessions.end("s", scope=ALICE, wait=True)
    assert sum("The messages:" in request.prompt for request in model.requests) == max(1, calls)
    talk.close()


def test_rules_wait_for_the_end_too() -> None:
    """Without a model the trigger holds as well, and what was said is findable all the while."""
    talk = Conversation(sessions__trigger="end")
    talk.engine.add(Turn("I live in Paris.", session="s"), scope=ALICE)
    talk.say("I play the oboe.")
    assert talk.facts() == []
    assert talk.engine.search("Who plays the oboe?", scope=ALICE).hits
    talk.end()
    assert len(talk.facts()) == 2
    talk.close()


@pytest.mark.covers("S4.2")
def test_nothing_is_extracted_while_an_answer_is_given(model: ScriptedModel) -> None:
    """Observing the turn and its answer calls no model on the path;
    the one extraction comes after both are journaled.
    """
    talk = modelled(model, "turn")
    talk.engine.observe(Turn("I live in Paris.", session="s"), scope=ALICE)
    talk.engine.observe(Turn("Nice.", role="assistant", session="s"), scope=ALICE)
    assert model.requests == []
    talk.engine.drain()
    assert len(model.requests) == 1
    talk.close()
