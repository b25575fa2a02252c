"""Searching: what was written is found at once, and only that."""

from __future__ import annotations

import numpy as np
import pytest
from tests.store.make import (
    ALICE,
    BOB,
    MODEL,
    START,
    add,
    at,
    change,
    found,
    reach,
    record,
    seek,
    turn,
    vector,
)

from engrams.core import Kind, Status
from engrams.errors import ClosedError, InputError
from engrams.ports import (
    AsOf,
    CandidateSearchQuery,
    JobClaim,
    NewRecord,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)


@pytest.mark.covers("S4.58")
def test_what_was_written_is_found(store: Store) -> None:
    """A record is found by its words and by its vector right after the write, also after other
    searches.
    """
    tea = record("Alice likes green tea")
    add(store, NewRecord(tea, vector=vector(tea, 1, 0)))
    assert found(store, "tea") == found(store, "", [1, 0]) == {tea.id}
    coffee = record("Alice hates coffee")
    add(store, NewRecord(coffee, vector=vector(coffee, 0, 1)))
    assert found(store, "coffee") == found(store, "", [0, 1]) == {coffee.id}
    assert found(store, "nothing of that sort") == set()


def test_the_same_folding_for_texts_and_queries(store: Store) -> None:
    """Case, accents, inflection and scripts without blanks find each other."""
    many = {
        "Müller": "Die Muller kauften Brötchen",
        "東京": "明日は東京で寿司",
        "running": "She runs every day",
        "МОСКВА": "в Москве",
    }
    records = {query: record(text) for query, text in many.items()}
    add(store, *records.values())
    for query, one in records.items():
        assert found(store, query) == {one.id}, query


@pytest.mark.covers("S1.62")
def test_a_search_stays_with_its_owner(store: Store) -> None:
    """The same words and vectors of another owner are never found."""
    mine = record("secret plan")
    theirs = record("secret plan", BOB)
    add(
        store,
        NewRecord(mine, vector=vector(mine, 1, 0)),
        NewRecord(theirs, vector=vector(theirs, 1, 0)),
    )
    assert set(seek(store, "secret plan", [1, 0])) == {mine.id}
    assert set(seek(store, "secret plan", [1, 0], reach=ScopeReach(BOB, (BOB,)))) == {theirs.id}
    assert set(
        seek(store, "secret plan", [1, 0], reach=ScopeReach(ALICE, (ALICE, BOB), tree=True))
    ) == {mine.id}
    assert set(seek(store, "secret plan", [1, 0], reach=ScopeReach(ALICE, (BOB,)))) == set()


def test_scopes_and_kinds_narrow(store: Store) -> None:
    """A search sees the scopes and kinds asked for."""
    project = ALICE.within("project", "x")
    tea = turn("tea")
    two = record("tea")
    three = record("tea", project)
    add(store, tea, two, three)
    assert found(store, "tea") == {tea.id, two.id}
    assert found(store, "tea", kinds=(Kind.FACT,)) == {two.id}
    assert found(store, "tea", reach=ScopeReach(ALICE, project.chain())) == {
        tea.id,
        two.id,
        three.id,
    }
    assert found(store, "tea", reach=ScopeReach(ALICE, (project,))) == {three.id}


@pytest.mark.parametrize("status", ["candidate", "forgotten", "superseded", "archived"])
def test_a_status_decides(store: Store, status: str) -> None:
    """Only active records are found;
    superseded and archived ones with their history, withdrawn ones never.
    """
    tea = record("tea", status=Status(status), valid_to=at(days=9), ended_at=at(days=9))
    add(store, tea)
    past = status in ("superseded", "archived")
    assert found(store, "tea") == set()
    assert found(store, "tea", history=True) == ({tea.id} if past else set())
    assert found(store, "tea", as_of=AsOf(at(days=1), at(days=1))) == ({tea.id} if past else set())


def test_a_status_that_changes_is_followed(store: Store) -> None:
    """A record that is forgotten leaves the next search, and one that is restored or promoted comes
    back into it.
    """
    tea = record("tea")
    held = record("tea", status=Status.CANDIDATE)
    add(store, tea, held)
    assert found(store, "tea") == {tea.id}
    change(store, tea, status=Status.FORGOTTEN)
    assert found(store, "tea") == set()
    change(store, tea, status=Status.ACTIVE)
    change(store, held, status=Status.ACTIVE)
    assert found(store, "tea") == {tea.id, held.id}


@pytest.mark.covers("S3.12")
def test_models_are_kept_apart(store: Store) -> None:
    """A vector of another model is not compared; its record stays findable by its words."""
    tea = record("tea")
    add(store, NewRecord(tea, vector=vector(tea, 1, 0, 0, model="wide")))
    assert found(store, "", [1, 0]) == set()
    assert found(store, "tea", [1, 0]) == {tea.id}
    assert found(store, "", [1, 0, 0], model="wide") == {tea.id}
    add(store, vectors=((ALICE, vector(tea, 1, 0)),))
    assert found(store, "", [1, 0]) == found(store, "", [1, 0, 0], model="wide") == {tea.id}


def test_a_query_of_the_wrong_size_is_refused(store: Store) -> None:
    """A query vector that does not fit the model's is bad input, not a wrong answer."""
    tea = record("tea")
    add(store, NewRecord(tea, vector=vector(tea, 1, 0)))
    with pytest.raises(InputError):
        seek(store, "tea", [1, 0, 0])


def test_a_search_of_nothing(store: Store) -> None:
    """An empty query, an empty store and a query of unknown words answer without candidates that
    score.
    """
    assert seek(store, "") == {}
    add(store, record("tea"))
    assert found(store, "") == found(store, "zzzz") == set()
    assert len(seek(store, "")) == 1


def test_vectors_are_read_back(store: Store) -> None:
    """Vectors come in the order of the ids, zeros for those without, and only the owner's."""
    first = record("one")
    second = record("two")
    third = record("three", BOB)
    add(
        store,
        NewRecord(first, vector=vector(first, 3, 4)),
        second,
        NewRecord(third, vector=vector(third, 1, 0)),
    )
    read = store.vectors(ALICE, [second.id, first.id, third.id, "nobody"], "tiny")
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, [[0, 0], [0.6, 0.8], [0, 0], [0, 0]])
    assert store.vectors(ALICE, [first.id], "unknown").shape == (1, 0)
    assert store.vectors(ALICE, [], "tiny").shape == (0, 2)


def test_a_session_keeps_its_order(store: Store) -> None:
    """Turns of a session stand in the order in which they were said, also in one whose first turn
    was edited since.
    """
    messages = [
        turn(f"{word} word", recorded_at=at(minutes=index))
        for index, word in enumerate(("first", "second", "third"))
    ]
    add(store, *messages)
    change(store, messages[0], text="first word, edited")
    # A window holds the two turns before, with less weight the further they are away.
    pool = store.seek(CandidateSearchQuery(reach(), at(days=1), (("first", 1.0),)))
    assert [pool.ids[index] for index in np.argsort(-pool.bmctx)] == [
        stored.id for stored in messages
    ]
    assert pool.bmctx.min() > 0


@pytest.mark.covers("S4.58")
def test_a_closed_store_says_so(store: Store) -> None:
    """Closing twice is fine; every later call says that the store is closed."""
    store.close()
    store.close()
    calls = [
        lambda: store.commit(WriteBatch("x", "", START)),
        lambda: store.get(ALICE, ["x"]),
        lambda: store.find(RecordQuery(reach())),
        lambda: store.purge(ALICE, ["x"], START),
        lambda: seek(store, "x"),
        lambda: store.counts(None),
        lambda: store.claim(JobClaim("w", START)),
        lambda: store.enqueue([], START) or store.retry([], START),
        lambda: store.load(ALICE, "s"),
        lambda: store.check(False),
    ]
    for call in calls:
        with pytest.raises(ClosedError):
            call()


def test_several_queries_at_once_find_the_same(store: Store) -> None:
    """Pools of queries asked together are those asked one by one;
    a record scored alone has the same score, and no context's.
    """
    messages = [
        turn(text, recorded_at=at(days=index), session="s")
        for index, text in enumerate(["green tea", "black tea", "no coffee", "more tea please"])
    ]
    add(
        store, *(NewRecord(one, vector=vector(one, 1, index)) for index, one in enumerate(messages))
    )
    asked = [
        CandidateSearchQuery(
            reach=reach(),
            now=at(days=365),
            terms=((word, 1.0),),
            vector=np.array([0, 1], np.float32),
            model=MODEL,
            alone=alone,
        )
        for word in ("tea", "coffe", "nothing")
        for alone in (False, True)
    ]
    together = store.seek_all(asked)
    for query, pool in zip(asked, together, strict=True):
        single = store.seek(query)
        assert [*pool.ids] == [*single.ids]
        for name in ("bm", "cos", "bmctx", "cosctx", "bmses"):
            assert np.array_equal(getattr(pool, name), getattr(single, name)), name
    for whole, alone in zip(together[::2], together[1::2], strict=True):
        assert np.array_equal(whole.bm, alone.bm)
        assert np.array_equal(whole.cos, alone.cos)
        assert not alone.bmctx.any()
        assert not alone.cosctx.any()
    assert together[0].bm.any()
    assert together[0].bmctx.any()
    assert store.seek_all([]) == []
