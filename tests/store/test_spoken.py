"""Conversations that a write touches, in its own transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.store.make import ALICE, BOB, START, add, at, turn

from engrams.errors import ConflictError
from engrams.ports import RecordQuery, ScopeReach, SessionRow, Store

CONVERSATION = ALICE.within("conversation", "c1")


def spoken(name: str, minute: float = 0, **fields: object) -> SessionRow:
    return replace(
        SessionRow(
            id=name,
            scope=ALICE,
            state="active",
            started_at=at(minutes=minute),
            last_active=at(minutes=minute),
            data={"mode": "local"},
        ),
        **fields,
    )  # type: ignore[arg-type]


def stored(store: Store, name: str = "s1") -> SessionRow:
    row = store.load(ALICE, name)
    assert row is not None
    return row


def test_the_first_word_makes_a_session(store: Store) -> None:
    """A write that names a session stores it with its turns;
    of another owner it is another session.
    """
    add(store, turn("hello"), sessions=(spoken("s1"),))
    assert stored(store) == spoken("s1", token=1)
    add(store, turn("hi", BOB), sessions=(spoken("s1", scope=BOB),))
    assert store.load(BOB, "s1") == spoken("s1", scope=BOB, token=1)


def test_later_words_only_move_its_time(store: Store) -> None:
    """Speaking moves the time of the last word, never back;
    the token, the scope and the data stay.
    """
    add(store, sessions=(spoken("s1"),))
    store.save(replace(stored(store), data={"mode": "local", "n": 1}), expect=1)
    add(store, sessions=(spoken("s1", 5, scope=CONVERSATION),))
    add(store, sessions=(spoken("s1", 3),))
    assert stored(store) == spoken(
        "s1", last_active=at(minutes=5), token=2, data={"mode": "local", "n": 1}
    )


def test_a_word_opens_what_was_closed(store: Store) -> None:
    """Speaking in a closed session opens it again, from now on, and whoever led it before has a
    stale token.
    """
    add(store, sessions=(spoken("s1"),))
    store.save(replace(stored(store), state="closed", data={"start": "x"}), expect=1)
    add(store, sessions=(spoken("s1", 9),))
    assert stored(store) == spoken("s1", 9, token=3, data={"start": "x"})


def test_a_session_is_saved_with_the_rest_or_not_at_all(store: Store) -> None:
    """A row with a token is saved where that token is stored;
    else the whole write is a conflict and nothing of it is stored.
    """
    add(store, sessions=(spoken("s1"),))
    row = stored(store)
    add(store, sessions=(replace(row, state="closing"),))
    assert (stored(store).state, stored(store).token) == ("closing", 2)
    with pytest.raises(ConflictError):
        add(store, turn("lost"), sessions=(replace(row, state="closed"),))
    assert store.find(RecordQuery(ScopeReach(ALICE, (ALICE,)))).records == ()
    with pytest.raises(ConflictError):
        add(store, sessions=(spoken("nobody", token=1),))


def test_a_word_meanwhile_keeps_it_open(store: Store) -> None:
    """A session that somebody spoke in since it was read cannot begin to end;
    one that was about to be closed stays active.
    """
    add(store, sessions=(spoken("s1"),))
    row = stored(store)
    add(store, sessions=(spoken("s1", 1),))
    with pytest.raises(ConflictError):
        add(store, sessions=(replace(row, state="closing"),))
    row = stored(store)
    add(store, sessions=(replace(row, state="closing"),))
    add(store, sessions=(spoken("s1", 2),))
    add(store, sessions=(replace(row, state="closed", token=2, data={"start": "y"}),))
    assert stored(store) == spoken("s1", 2, token=3, data={"start": "y"})
    assert [stored.id for stored in store.idle(START)] == []
    assert [stored.id for stored in store.idle(at(minutes=2))] == ["s1"]
