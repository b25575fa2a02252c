"""Persisted conversations and links between nodes."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from tests.store.make import ALICE, BOB, START, add, at, reach

from engrams.core import Edge, EdgeType
from engrams.errors import ConflictError
from engrams.ports import ScopeReach, SessionRow, Store

CONVERSATION = ALICE.within("conversation", "c1")


def row(name: str, **arguments: Any) -> SessionRow:
    return SessionRow(
        **{
            "id": name,
            "scope": ALICE,
            "state": "active",
            "started_at": START,
            "last_active": START,
            "data": {"n": [1]},
            **arguments,
        }
    )


def test_a_session_comes_back(store: Store) -> None:
    """A saved session is read as it was, with a token that grows with each save."""
    first = store.save(row("s1", scope=CONVERSATION))
    assert first.token == 1
    assert store.load(ALICE, "s1") == first
    second = store.save(
        replace(first, state="closing", last_active=at(seconds=5), data={"summary": "x"}), expect=1
    )
    assert (
        store.load(ALICE, "s1")
        == second
        == replace(
            first, state="closing", last_active=at(seconds=5), data={"summary": "x"}, token=2
        )
    )
    assert store.load(BOB, "s1") is None


def test_the_token_decides(store: Store) -> None:
    """A save that expects another token is a conflict; 0 expects that there is none yet."""
    first = store.save(row("s1"), expect=0)
    store.save(replace(first, state="closing"), expect=1)
    for expect in (0, 1, 3):
        with pytest.raises(ConflictError):
            store.save(replace(first, state="closed"), expect=expect)
    with pytest.raises(ConflictError):
        store.save(row("new"), expect=4)
    loaded = store.load(ALICE, "s1")
    assert loaded is not None
    assert (loaded.state, loaded.token) == ("closing", 2)


def test_one_of_many_wins(store: Store) -> None:
    """Of many that close a session at once, exactly one does."""
    first = store.save(row("s1"))
    won: list[int] = []

    def close(number: int) -> None:
        try:
            store.save(replace(first, state="closing"), expect=1)
        except ConflictError:
            return
        won.append(number)

    threads = [threading.Thread(target=close, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_idle_sessions(store: Store) -> None:
    """Sessions that are not closed and were last active by then, the longest idle first."""
    store.save(row("old", last_active=at(minutes=1)))
    store.save(row("closing", state="closing", last_active=at(minutes=2)))
    store.save(row("bobs", scope=BOB, last_active=at(minutes=3)))
    store.save(row("closed", state="closed", last_active=at(minutes=1)))
    store.save(row("busy", last_active=at(minutes=9)))
    assert [stored.id for stored in store.idle(at(minutes=3))] == ["old", "closing", "bobs"]
    assert [stored.id for stored in store.idle(at(minutes=3), limit=1)] == ["old"]


@pytest.mark.covers("S1.62")
def test_sessions_of_a_reach(store: Store) -> None:
    """The sessions of the scopes asked for, latest first, and nobody else's."""
    store.save(row("a", last_active=at(minutes=1)))
    store.save(row("b", scope=CONVERSATION, last_active=at(minutes=2)))
    store.save(row("c", scope=BOB))
    assert [stored.id for stored in store.sessions(ScopeReach(ALICE, (ALICE,), tree=True))] == [
        "b",
        "a",
    ]
    assert [stored.id for stored in store.sessions(reach())] == ["a"]
    assert [
        stored.id for stored in store.sessions(ScopeReach(ALICE, (ALICE,), tree=True), limit=1)
    ] == ["b"]
    assert store.sessions(ScopeReach(ALICE, (BOB,))) == ()


def link(
    source: str,
    target: str,
    kind: EdgeType = EdgeType.RELATES_TO,
    owner: Any = ALICE,
    **arguments: Any,
) -> Edge:
    return Edge(owner, source, target, kind, **arguments)


def test_edges_at_either_end(store: Store) -> None:
    """Edges that touch any of the nodes come once each, of the types asked for."""
    add(
        store,
        edges=(
            link("a", "b"),
            link("b", "c", EdgeType.SUPERSEDES),
            link("c", "d"),
            link("a", "a"),
            link("a", "b", owner=BOB),
        ),
    )
    assert {(edge.source, edge.target) for edge in store.edges(ALICE, ["b"])} == {
        ("a", "b"),
        ("b", "c"),
    }
    assert {(edge.source, edge.target) for edge in store.edges(ALICE, ["a", "b"])} == {
        ("a", "b"),
        ("b", "c"),
        ("a", "a"),
    }
    assert [edge.type for edge in store.edges(ALICE, ["b"], [EdgeType.SUPERSEDES])] == [
        EdgeType.SUPERSEDES
    ]
    assert store.edges(ALICE, []) == store.edges(ALICE, ["nobody"]) == ()
    assert len(store.edges(BOB, ["a"])) == 1


def test_an_edge_counts(store: Store) -> None:
    """The same edge again adds to its count and takes the new weight;
    unlinking removes it, and what is not there is no error.
    """
    add(store, edges=(link("a", "b", weight=0.5),))
    add(store, edges=(link("a", "b", weight=0.75, count=2), link("a", "b", EdgeType.CO_OCCURS)))
    relates = store.edges(ALICE, ["a"], [EdgeType.RELATES_TO])
    assert [(edge.weight, edge.count) for edge in relates] == [(0.75, 3)]
    add(store, unlink=(link("a", "b"), link("x", "y")))
    assert [edge.type for edge in store.edges(ALICE, ["a"])] == [EdgeType.CO_OCCURS]


def test_an_edge_is_replaced_in_one_write(store: Store) -> None:
    """Unlinking comes before linking, so that one write can set an edge anew."""
    add(store, edges=(link("a", "b", count=5),))
    add(store, unlink=(link("a", "b"),), edges=(link("a", "b", count=1),))
    assert store.edges(ALICE, ["a"])[0].count == 1
