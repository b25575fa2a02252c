"""Sessions as callers lead them: states, tokens, owners, modes of ending."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.session.conversation import ALICE, CLIMBING, Conversation

import engrams
from engrams import Turn
from engrams.core import Scope
from engrams.errors import ConflictError, InputError, NotFoundError, ScopeError
from engrams.ports import SessionRow
from engrams.session.lifecycle import SessionPhase, is_lapsed, state_of
from engrams.session.registry import SessionRegistry
from engrams.testing import SettableClock

BOB = ("user", "bob")


@pytest.fixture
def talk() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    conversation.close()


@pytest.mark.covers("S4.47")
def test_every_state_has_its_error(talk: Conversation) -> None:
    """absent, active, expired, interrupted and ended sessions are told apart, and each that cannot
    go on says why.
    """
    sessions = talk.engine.sessions
    store = talk.engine.store
    assert sessions.state("s", scope=ALICE) == "absent"
    with pytest.raises(NotFoundError, match="no session"):
        sessions.touch("s", scope=ALICE)
    first = sessions.begin("s", scope=ALICE)
    assert first.state == "active"
    talk.clock.forward(minutes=20)
    assert sessions.state("s", scope=ALICE) == "expired_unfinalized"
    with pytest.raises(ConflictError, match="timed out"):
        sessions.touch("s", scope=ALICE)
    row = store.load(Scope(ALICE), "s")
    assert row is not None
    store.save(
        SessionRow(
            id="t",
            scope=Scope(ALICE),
            state="closing",
            started_at=row.started_at,
            last_active=row.last_active,
        )
    )
    assert sessions.state("t", scope=ALICE) == "interrupted"
    with pytest.raises(ConflictError, match="being ended"):
        sessions.touch("t", scope=ALICE)
    assert talk.end().state == "rotation_required"
    with pytest.raises(ConflictError, match="has ended"):
        sessions.touch("s", scope=ALICE)
    with pytest.raises(NotFoundError):
        sessions.end("nobody", scope=ALICE)


@pytest.mark.covers("S4.47")
def test_a_stale_writer_is_refused(talk: Conversation) -> None:
    """Whoever takes a session over gets a new token;
    the one before can neither touch nor end it.
    """
    sessions = talk.engine.sessions
    old = sessions.begin("s", scope=ALICE)
    new = sessions.begin("s", scope=ALICE)
    assert new.token > old.token
    with pytest.raises(ConflictError, match="taken over"):
        sessions.touch("s", scope=ALICE, token=old.token)
    with pytest.raises(ConflictError, match="taken over"):
        sessions.end("s", scope=ALICE, token=old.token)
    next_ = sessions.touch("s", scope=ALICE, token=new.token)
    assert sessions.end("s", scope=ALICE, token=next_.token).state == "rotation_required"


def test_a_word_begins_a_session_and_opens_it_again(talk: Conversation) -> None:
    """A turn that names a session begins it;
    another after its end opens the next part; another owner's is another session.
    """
    talk.say("I live in Paris.")
    assert talk.engine.sessions.state("s", scope=ALICE) == "active"
    assert talk.engine.sessions.state("s", scope=BOB) == "absent"
    talk.end()
    talk.say("I play the oboe.")
    info = talk.engine.sessions.get("s", scope=ALICE)
    assert (info.state, info.turns) == ("active", 1)
    assert [info.id for info in talk.engine.sessions.list(scope=ALICE)] == ["s"]
    assert talk.engine.sessions.list(scope=BOB) == ()


def test_history_opens_no_session(talk: Conversation) -> None:
    """What was said long ago and is told now belongs to no session that goes on."""
    talk.engine.observe(
        Turn("I lived in Rome.", session="s", at=datetime(2020, 1, 1, tzinfo=UTC)), scope=ALICE
    )
    assert talk.engine.sessions.state("s", scope=ALICE) == "absent"


@pytest.mark.parametrize("name", ["", " ", "\0", "x" * 201])
def test_names_that_are_none(talk: Conversation, name: str) -> None:
    """A name without a visible character, or too long is refused."""
    with pytest.raises(InputError):
        talk.engine.sessions.begin(name, scope=ALICE)


@pytest.mark.parametrize("name", ["../x", "a/b", "\u202eabc", "日本語", "🦉", "x\ud800", ":garden"])
def test_any_other_name_is_a_name(talk: Conversation, name: str) -> None:
    """Whatever else a session is called, a turn and the facade mean the same one."""
    talk.engine.observe(Turn("I live in Paris.", session=name), scope=ALICE)
    assert talk.engine.sessions.state(name, scope=ALICE) == "active"


@pytest.mark.covers("S4.43")
def test_the_owner_is_the_user_else_the_session() -> None:
    """The user id owns memory, else the session id;
    without either it is a ValueError, and no default is shared.
    """
    assert SessionRegistry.owner("alice", "t1") == Scope(("user", "alice"))
    assert SessionRegistry.owner("", "t1") == Scope(("session", "t1"))
    for nobody in (("", ""), (" ", "\t")):
        with pytest.raises(ValueError, match="Neither a user") as caught:
            SessionRegistry.owner(*nobody)
        assert isinstance(caught.value, ScopeError) and caught.value.hint


@pytest.mark.covers("S4.44")
def test_a_users_memory_outlives_the_thread(talk: Conversation) -> None:
    """With a user id what one thread learned is found in another; without, the thread owns it."""
    memory = talk.engine
    for user, is_found in (("alice", True), ("", False)):
        memory.add(Turn("I live in Paris.", session="t1"), scope=memory.sessions.owner(user, "t1"))
        assert (
            bool(memory.search("Where do I live?", scope=memory.sessions.owner(user, "t2")).hits)
            is is_found
        )


@pytest.mark.covers("S4.46")
def test_exactly_twenty_minutes_is_over() -> None:
    """A session is over at exactly its limit and not before;
    an unreadable time counts as over; a mix of zones raises.
    """
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    idle = timedelta(minutes=20)
    assert is_lapsed(start, start + idle, idle)
    assert not is_lapsed(start, start + idle - timedelta(microseconds=1), idle)
    assert not is_lapsed(start, start - timedelta(days=1), idle)
    assert is_lapsed("rubbish", start, idle) and is_lapsed(None, start, idle)
    assert not is_lapsed(start.isoformat(), start, idle)
    for mixed in ((start.replace(tzinfo=None), start), (start, start.replace(tzinfo=None))):
        with pytest.raises(InputError):
            is_lapsed(*mixed, idle)
    assert state_of(None, start, idle) is SessionPhase.ABSENT


@pytest.mark.covers("S4.45", "S4.46")
def test_the_sweep_ends_what_is_over_and_nothing_else(talk: Conversation) -> None:
    """At 20 minutes the sweep ends a session, once;
    one that somebody spoke in just then goes on; a dead one holds up no other.
    """
    talk.say(*CLIMBING)
    sessions = talk.engine.sessions
    talk.clock.set(sessions.get("s", scope=ALICE).last_active + timedelta(minutes=19, seconds=59))
    assert sessions.sweep() == 0
    talk.clock.forward(seconds=1)
    assert sessions.sweep() == 1
    talk.engine.observe(Turn("One more thing about climbing.", session="s"), scope=ALICE)
    talk.engine.drain()
    assert sessions.state("s", scope=ALICE) == "active"
    talk.clock.forward(minutes=20)
    talk.engine.drain()
    assert sessions.state("s", scope=ALICE) == "rotation_required"
    assert len(talk.episodes()) == 1
    assert sessions.sweep() == 0
    assert talk.engine.settings.sessions.sweep_seconds == 30


@pytest.mark.covers("S4.45")
def test_however_it_ends_it_ends_once(talk: Conversation) -> None:
    """Explicit end, the sweep, another end and the close of the engine together leave one account."""
    sessions = talk.engine.sessions
    sessions.begin("s", scope=ALICE)
    talk.say(*CLIMBING)
    first = talk.end()
    assert len(first.ended["episodes"]) == 1
    talk.clock.forward(minutes=30)
    talk.engine.drain()
    assert talk.end().ended == first.ended
    assert len(talk.episodes()) == 1


@pytest.mark.covers("S4.45", "S3.60")
def test_a_shutdown_ends_what_was_begun_and_a_crash_is_made_good(home: Path) -> None:
    """A graceful close ends the sessions begun there;
    one whose process just died is ended once by the next that looks.
    """
    clock = SettableClock()
    talk = Conversation(home=home, clock=clock)
    talk.engine.sessions.begin("led", scope=ALICE)
    talk.say(*CLIMBING, session="led")
    talk.say(*CLIMBING[1:], session="heard")
    talk.close()
    again = Conversation(home=home, clock=clock)
    assert again.engine.sessions.state("led", scope=ALICE) == "rotation_required"
    assert again.engine.sessions.state("heard", scope=ALICE) == "active"
    clock.forward(hours=5)
    again.engine.drain()
    assert again.engine.sessions.state("heard", scope=ALICE) == "rotation_required"
    assert sorted(episode.session for episode in again.episodes()) == ["heard", "led"]
    again.close()
    with engrams.open(home=home, clock=clock, jobs__workers=0) as memory:
        assert memory.drain()
        assert len(memory.list(scope=ALICE, kinds=("episode",)).records) == 2


def test_an_expired_session_goes_on_as_its_next_part(talk: Conversation) -> None:
    """Beginning what has lapsed ends it first:
    its account is kept, and the next part starts behind it.
    """
    talk.say(*CLIMBING)
    talk.clock.forward(hours=1)
    part = talk.engine.sessions.begin("s", scope=ALICE)
    assert (part.state, part.turns) == ("active", len(CLIMBING))
    assert len(talk.episodes()) == 1
