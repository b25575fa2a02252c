"""What the end of a session does: extract, account, promote, drop; each once."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from tests.session.conversation import ALICE, CLIMBING, STATEMENTS, Conversation

import engrams
from engrams import Turn
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import StoreError
from engrams.ports import NewRecord, RecordChange, RecordQuery, WriteBatch
from engrams.testing import ScriptedModel, temp_engine

HELD = "I kind of like jazz."


@pytest.fixture
def talk() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    conversation.close()


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        server.when("The messages:", {"statements": []})
        yield server


def modelled(model: ScriptedModel, **settings: object) -> Conversation:
    return Conversation(
        chat__provider="openai",
        chat__model="m",
        chat__url=model.url,
        chat__retries=0,
        jobs__backoff_seconds=0,
        **settings,
    )


@pytest.mark.covers("S4.20", "S4.21")
def test_one_account_if_there_was_something_in_it(talk: Conversation) -> None:
    """Nothing is written per turn;
    three substantive turns make one account, two and small talk make none.
    """
    talk.say(*CLIMBING[:2], "thanks!", "ok", "lol")
    assert talk.end().ended["episodes"] == [] and talk.episodes() == []
    talk.engine.sessions.begin("t", scope=ALICE, crisis="low")
    talk.say(*CLIMBING, session="t")
    assert talk.episodes() == []
    talk.end("t")
    (episode,) = talk.episodes()
    arc = episode.meta["arc"]
    assert (episode.layer, episode.session) == ("episodic", "t")
    assert len(episode.text) <= 600 and "climbing" in episode.text
    assert arc["themes"] == ["climbing"] and arc["turns"] == len(CLIMBING) and arc["minutes"] == 3.0
    assert set(arc) == {"themes", "mood", "open_loops", "resolved", "minutes", "turns", "crisis"}
    assert arc["crisis"] == "low"


@pytest.mark.covers("S4.21")
def test_a_models_account_is_held_to_its_form(model: ScriptedModel) -> None:
    """Three themes, 600 characters; the crisis level is the caller's, whatever the model says."""
    answer = {
        "themes": ["a", "b", "c", "d"],
        "summary": "x" * 900,
        "mood": {"opened": "tense", "closed": "calm"},
        "crisis": "imminent",
    }
    model.when(
        "Write a short account",
        {**answer, "open_loops": ["buy a rope"], "resolved": ["the hut is booked"]},
    )
    talk = modelled(model)
    talk.say(*CLIMBING)
    talk.engine.sessions.end("s", scope=ALICE, wait=True)
    (episode,) = talk.episodes()
    assert len(episode.text) == 600
    assert episode.tags == ("a", "b", "c")
    assert episode.meta["arc"]["mood"] == {"opened": "tense", "closed": "calm"}
    assert (episode.meta["arc"]["open_loops"], episode.meta["arc"]["crisis"]) == (
        ["buy a rope"],
        "none",
    )
    talk.close()


def test_an_end_that_is_waited_for_waits_for_workers_too(model: ScriptedModel) -> None:
    """Also while a worker learns from the last turns:
    the session has ended when the call returns.
    """
    model.fail("hang", 1, seconds=0.5, when="The messages:")
    settings = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "jobs__workers": 2,
    }
    with temp_engine(**settings) as engine:
        engine.observe([Turn(text, session="s") for text in CLIMBING], scope=ALICE)
        engine.sessions.learn("s", scope=ALICE)
        time.sleep(0.2)
        assert engine.sessions.end("s", scope=ALICE, wait=True).state == "rotation_required"


@pytest.mark.covers("S4.22")
def test_a_summariser_that_fails_does_not_stop_the_end(model: ScriptedModel) -> None:
    """The session ends all the same, with an account by rules."""
    model.fail("http_400", 20, when="Write a short account")
    talk = modelled(model)
    talk.say(*CLIMBING)
    assert talk.engine.sessions.end("s", scope=ALICE, wait=True).state == "rotation_required"
    (episode,) = talk.episodes()
    assert episode.provenance.extractor == "rules"
    talk.close()


@pytest.mark.covers("S4.22")
def test_an_account_is_stored_without_its_vector() -> None:
    """An embedder that fails does not stop it; a job comes back for the vector."""
    with ScriptedModel() as server:
        talk = Conversation(embed__provider="openai", embed__model="m", embed__url=server.url)
        server.fail("http_400", 50)
        talk.say(*CLIMBING)
        talk.end()
        (episode,) = talk.episodes()
        assert "embed" in talk.engine.status()["jobs"]
        server.heal()
        talk.engine.retry()
        talk.engine.drain()
        card = talk.engine.embedder.card
        assert talk.engine.store.vectors(Scope(ALICE), [episode.id], card.id).any()
        talk.close()


@pytest.mark.covers("S4.14", "S4.22")
def test_what_was_held_is_promoted_by_the_account(talk: Conversation) -> None:
    """Said once and borne out by the session's theme and summary it becomes a memory;
    beside the point it stays held.
    """
    talk.say(*CLIMBING, HELD)
    assert sorted(talk.held()) == ["I kind of like climbing", "I kind of like jazz"]
    ended = talk.end().ended
    assert talk.held() == ["I kind of like jazz"]
    assert "I kind of like climbing" in talk.facts()
    assert (len(ended["promoted"]), len(ended["held"])) == (1, 1)
    promoted = next(
        record for record in talk.records(*STATEMENTS) if record.text == "I kind of like climbing"
    )
    assert "hold" not in promoted.meta
    assert talk.engine.history(promoted.id, scope=ALICE)[-1].action == "promote"


@pytest.mark.covers("S4.14", "S4.17")
def test_said_twice_is_promoted(talk: Conversation) -> None:
    """Two mentions in one session are support enough, at its end and not before;
    alike ones become one memory.
    """
    talk.say(HELD, "I have been enjoying jazz.")
    assert talk.facts() == []
    talk.end()
    assert len(talk.facts()) == 1 and talk.held() == []
    (fact,) = talk.records(*STATEMENTS)
    assert fact.strength == 2
    assert len(fact.evidence) == 2


@pytest.mark.covers("S4.14")
def test_an_earlier_session_bears_out(talk: Conversation) -> None:
    """Said once in each of two sessions, in other words, it is promoted in the second."""
    talk.say(HELD, session="one")
    talk.end("one")
    assert talk.held() == ["I kind of like jazz"]
    talk.clock.forward(days=1)
    talk.say("I have been enjoying jazz.", session="two")
    talk.end("two")
    assert len(talk.facts()) == 1


@pytest.mark.covers("S4.13")
def test_what_is_held_survives_a_restart(home: object) -> None:
    """Held candidates are rows: another process ends the session and promotes them."""
    talk = Conversation(home=home)
    talk.say(HELD, "I have been enjoying jazz.")
    clock = talk.clock
    talk.close()
    again = Conversation(home=home, clock=clock)
    assert len(again.held()) >= 1
    again.end()
    assert len(again.facts()) == 1
    again.close()


@pytest.mark.covers("S4.18")
@pytest.mark.parametrize(
    ("wish", "is_kept"),
    [
        ("Please don't remember this.", False), ("don't save that", False), ("This is off the record.", False),
        ("Never store what I said about music.", False), ("Bitte merk dir das nicht.", False), ("不要记住", False),
        ("Actually, don't save any of this.", False), ("Oh wait, on second thought, don't keep this.", False),
        ("Hmm, please don't remember any of it.", False), ("You know what? Don't save this.", False),
        ("That was private, don't save it.", False), ("Ach, bitte speichere das nicht.", False),
        ("Pensándolo bien, no lo guardes.", False), ("En fait, ne garde pas ça.", False),
        ("算了，不要保存这个", False), ("やっぱり、これは保存しないで", False),
        ("I don't remember that film at all.", True), ("My memory is bad these days.", True), ("We never keep it simple here.", True),
        ("Don't forget this!", True), ("Why don't you save the file first?", True),
    ],
)  # fmt: skip
def test_a_wish_that_nothing_is_saved_drops_what_is_held(
    talk: Conversation, wish: str, is_kept: bool
) -> None:
    """Anywhere in the session the wish drops every held candidate and the account;
    ordinary talk about memory does not.
    """
    talk.say(HELD, wish, "I have been enjoying jazz.", *CLIMBING)
    ended = talk.end().ended
    assert bool(talk.held() or "I kind of like jazz" in talk.facts()) is is_kept
    assert bool(ended["dropped"]) is not is_kept
    assert bool(talk.episodes()) is is_kept


@pytest.mark.covers("S4.19")
def test_nothing_held_is_no_commit(talk: Conversation) -> None:
    """A session without held candidates changes no statement at its end."""
    talk.say("I live in Paris.")
    (before,) = talk.records(*STATEMENTS)
    ended = talk.end().ended
    assert ended["promoted"] == ended["held"] == ended["dropped"] == []
    assert talk.records(*STATEMENTS) == [before]


@pytest.mark.covers("S4.19")
def test_earlier_support_that_cannot_be_read_does_not_stop_it(
    talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs no earlier session is promoted all the same."""
    talk.say(HELD, "I have been enjoying jazz.")
    store = talk.engine.store
    plain = type(store).find

    def find(self: object, query: RecordQuery) -> object:
        if (
            query.limit == 1000
            and len(query.statuses) == 2
            and not query.session
            and Kind.FACT in query.kinds
            and not query.subject
        ):
            raise StoreError("The disk is busy.")
        return plain(self, query)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store), "find", find)
    assert talk.end().ended["promoted"]
    monkeypatch.undo()
    assert len(talk.facts()) == 1


@pytest.mark.covers("S4.48")
def test_the_next_part_starts_behind_the_last(model: ScriptedModel) -> None:
    """Turns of a part that was finalised are neither extracted nor accounted for again."""
    model.when("Write a short account", {"summary": "They talked about climbing."})
    talk = modelled(model, sessions__trigger="end")
    talk.say(*CLIMBING)
    talk.engine.sessions.end("s", scope=ALICE, wait=True)
    request_count = len(model.requests)
    talk.say(
        "I play the oboe in an orchestra.",
        "The orchestra meets on Mondays.",
        "Our orchestra needs a new hall.",
    )
    part = talk.engine.sessions.end("s", scope=ALICE, wait=True)
    later = [request.prompt for request in model.requests[request_count:]]
    assert any("oboe" in prompt for prompt in later)
    assert not any(
        re.search(r"(?m)^\[\d+\].*climbing on the long wall", prompt) for prompt in later
    )
    assert part.turns == len(CLIMBING) + 3
    assert len(talk.episodes()) == 2
    talk.close()


@pytest.mark.covers("S4.61")
def test_forgetting_takes_what_is_held_along(talk: Conversation) -> None:
    """A fact that is forgotten during a session does not come back from what was held of it."""
    receipt = talk.engine.add("I like jazz.", scope=ALICE)
    talk.say("The evening was long.")
    fact = next(derived for derived in receipt.derived)
    record = talk.engine.get(fact.id, scope=ALICE)
    twin = Record(
        id="0" * 10 + "h" * 16,
        scope=Scope(ALICE),
        kind=Kind.PREFERENCE,
        text="I kind of like jazz",
        recorded_at=talk.clock(),
        status=Status.CANDIDATE,
        session="s",
        subject=record.subject,
        predicate=record.predicate,
        object=record.object,
        meta={"hold": "commit_at_session_end"},
        strength=2,
    )
    talk.engine.store.commit(WriteBatch("test", "held", talk.clock(), puts=(NewRecord(twin),)))
    talk.engine.forget(fact.id, scope=ALICE)
    assert talk.engine.get(twin.id, scope=ALICE).status is Status.FORGOTTEN
    talk.end()
    assert talk.facts() == []


@pytest.mark.covers("S4.9")
def test_the_unreviewed_wait_for_a_model(model: ScriptedModel) -> None:
    """Held for want of a model's word, a statement stays held at the end without one, and is judged
    where there is one.
    """
    talk = Conversation(write__policy="llm")
    talk.say("I live in Paris.", "I live in Paris.")
    assert talk.end().ended["held"] and talk.facts() == []
    records = talk.records(*STATEMENTS, statuses=(Status.CANDIDATE,))
    assert all(record.meta["review"] for record in records)
    talk.close()


@pytest.mark.covers("S3.31")
def test_open_questions_are_put_before_the_last_extraction(model: ScriptedModel) -> None:
    """Gaps are told to the model that reads a session's remainder;
    one that is answered by then is a gap no longer.
    """
    talk = modelled(model, usage__gaps=True, sessions__trigger="end")
    gap = Record(
        id="0" * 26,
        scope=Scope(ALICE),
        kind=Kind.GAP,
        text="Which orchestra do I play in?",
        recorded_at=talk.clock(),
        status=Status.CANDIDATE,
        session="s",
    )
    talk.engine.store.commit(WriteBatch("test", "asked", talk.clock(), puts=(NewRecord(gap),)))
    quote = "I play in the Riverside Orchestra"
    statement = {
        "turn": 1,
        "text": "The user plays in the Riverside Orchestra.",
        "quote": quote,
        "subject": "user",
        "predicate": "plays",
    }
    model.say(
        {
            "statements": [
                {
                    **statement,
                    "object": "in the Riverside Orchestra",
                    "confidence": 0.9,
                    "kind": "fact",
                }
            ]
        }
    )
    talk.say(f"{quote}.")
    assert model.requests == []
    talk.engine.sessions.end("s", scope=ALICE, wait=True)
    assert "Which orchestra do I play in?" in model.requests[0].prompt
    assert talk.engine.get(gap.id, scope=ALICE).status is Status.ARCHIVED
    talk.close()


def test_a_purge_takes_the_account_that_quotes_it(talk: Conversation) -> None:
    """Erasing a turn erases the account of its session, whose words nobody can take apart again."""
    talk.say(*CLIMBING)
    talk.end()
    turn = next(record for record in talk.records(Kind.TURN) if "Innsbruck" in record.text)
    erased = talk.engine.purge(turn.id, scope=ALICE)
    assert not any(erased.remaining.values())
    assert talk.episodes() == []


def test_a_promoted_statement_meets_what_came_since() -> None:
    """What was held meets what was learned after it:
    the later value of a slot stands, the earlier one is history.
    """
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        memory.observe(Turn("I live in Paris.", session="s"), scope=ALICE)
        memory.drain()
        (paris,) = memory.list(scope=ALICE, kinds=STATEMENTS).records
        fields = {"status": Status.FORGOTTEN}
        memory.store.commit(
            WriteBatch(
                "test",
                "x",
                memory.now(),
                changes=(RecordChange(Scope(ALICE), paris.id, fields, "x"),),
            )
        )
        statement = {
            "status": Status.CANDIDATE,
            "meta": {"hold": "commit_at_session_end"},
            "strength": 2,
        }
        memory.store.commit(
            WriteBatch(
                "test",
                "x",
                memory.now(),
                changes=(RecordChange(Scope(ALICE), paris.id, statement, "x"),),
            )
        )
        memory.observe(Turn("I moved to Berlin.", session="s"), scope=ALICE)
        memory.drain()
        memory.sessions.end("s", scope=ALICE)
        active = [record.text for record in memory.list(scope=ALICE, kinds=STATEMENTS).records]
        assert len(active) == 1 and "Berlin" in active[0]
