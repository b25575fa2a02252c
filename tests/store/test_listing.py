"""Listings: which records, in which order, a page at a time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.store.make import ALICE, BOB, START, add, at, change, get, reach, record, texts, turn

from engrams.core import Evidence, Kind, Layer, Scope, Status, Tier
from engrams.errors import InputError
from engrams.ports import AsOf, RecordQuery, ScopeReach, Store

PROJECT = ALICE.within("project", "x")
DEEP = PROJECT.within("conversation", "c1")


def test_an_empty_store_answers_empty(store: Store) -> None:
    """Every reading of a store that holds nothing gives nothing, without an error."""
    assert (
        store.find(RecordQuery(reach())).records
        == store.get(ALICE, ["x"])
        == store.history(ALICE, "x")
        == ()
    )
    assert (
        store.scopes(None)
        == store.scopes(ALICE)
        == store.missing("m", "", 10)
        == store.outbox(10)
        == ()
    )
    assert (
        store.edges(ALICE, ["x"])
        == store.queue()
        == store.idle(START)
        == store.sessions(reach())
        == ()
    )
    empty = {
        name: {} for name in ("status", "kind", "layer", "tier", "active", "active_layers", "model")
    }
    assert store.counts(None) == store.counts(reach()) == empty
    assert store.survey(reach()).speakers == store.workload() == {}
    assert store.next_due() is store.load(ALICE, "s") is None
    assert store.vectors(ALICE, ["x"], "m").shape == (1, 0)
    assert store.check(False)["ok"]


@pytest.mark.covers("S4.58")
def test_get_keeps_the_order_asked_for(store: Store) -> None:
    """Records come in the order of the ids; unknown ones are left out, repeated ones come again."""
    first = record("one")
    second = record("two")
    add(store, first, second)
    assert [
        found.text for found in store.get(ALICE, [second.id, "nobody", first.id, second.id])
    ] == [
        "two",
        "one",
        "two",
    ]
    assert store.get(ALICE, []) == ()


@pytest.mark.covers("S4.58")
def test_order_and_pages(store: Store) -> None:
    """Every record comes exactly once over the pages of either order;
    equal times keep the order of writing.
    """
    many = [turn(f"t{number:02}", recorded_at=at(minutes=number // 3)) for number in range(20)]
    add(store, *many)
    for order, expected in (("oldest", many), ("newest", many[::-1])):
        seen = []
        after = ""
        while True:
            page = store.find(RecordQuery(reach(), order=order, limit=7, after=after))
            seen += [stored.text for stored in page.records]
            after = page.next
            if not after:
                break
        assert seen == [stored.text for stored in expected]


def test_a_last_full_page_says_so(store: Store) -> None:
    """A page that holds the last record names no next one, even when it is full."""
    add(store, record("one"), record("two"))
    page = store.find(RecordQuery(reach(), limit=2))
    assert (len(page.records), page.next) == (2, "")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_positive(store: Store, limit: int) -> None:
    """A list of nothing is bad input."""
    with pytest.raises(InputError):
        store.find(RecordQuery(reach(), limit=limit))


def test_a_reach_has_a_size(store: Store) -> None:
    """A read of very many scopes at once is refused before the database has to."""
    with pytest.raises(InputError):
        store.find(
            RecordQuery(
                ScopeReach(
                    ALICE,
                    tuple(ALICE.within("c", str(number)) for number in range(1000)),
                    tree=True,
                )
            )
        )


def test_a_foreign_cursor_finds_nothing(store: Store) -> None:
    """An id that is unknown, or another owner's, is no place to go on from."""
    theirs = record("Bob's", BOB)
    add(store, theirs, record("Alice's"))
    for after in (theirs.id, "nobody", "' OR 1=1 --"):
        assert store.find(RecordQuery(reach(), after=after)).records == ()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["turn", "fact", "project"]),
        ({"kinds": (Kind.TURN,)}, ["turn"]),
        ({"kinds": (Kind.FACT, Kind.EPISODE)}, ["fact", "project"]),
        ({"kinds": (Kind.TURN, Kind.FACT)}, ["turn", "fact", "project"]),
        ({"statuses": (Status.CANDIDATE,)}, ["held"]),
        ({"statuses": (Status.ACTIVE, Status.CANDIDATE)}, ["turn", "fact", "project", "held"]),
        ({"statuses": ()}, ["turn", "fact", "project", "held"]),
        ({"statuses": (Status.PURGED,)}, [""]),
        ({"session": "s1"}, ["turn"]),
        ({"session": "s2"}, []),
        ({"subject": "alice"}, ["fact"]),
        ({"subject": "alice", "predicates": ("likes",)}, ["fact"]),
        ({"subject": "alice", "predicates": ("hates",)}, []),
        ({"predicates": ("likes",)}, ["fact"]),
        ({"predicates": ("likes",), "about": ("nobody", "lic")}, ["fact"]),
        ({"predicates": ("likes",), "about": ("alice liddell",)}, ["fact"]),
        ({"predicates": ("likes",), "about": ("%", "bob")}, []),
        ({"external_id": "m1"}, ["turn"]),
        ({"hashes": (record("FACT").hash,)}, ["fact"]),
        ({"hashes": ("0" * 32, record("FACT").hash)}, ["fact"]),
        ({"hashes": ("not hex",)}, []),
        ({"sources": ("t1",)}, ["fact"]),
        ({"sources": ("t0", "t2")}, ["fact", "project"]),
        ({"sources": ("nobody",)}, []),
        ({"text": "FÁCT"}, ["fact"]),
        ({"text": "a whiteboard"}, ["project"]),
        ({"text": "%"}, []),
    ],
    ids=str,
)
def test_each_part_of_a_query_narrows(
    store: Store, filters: dict[str, Any], expected: list[str]
) -> None:
    """Kinds, statuses, session, triple, hash, sender's id, sources and a folded substring each keep
    what matches.
    """
    purged = record("secret")
    add(
        store,
        turn("turn", external_id="m1"),
        record(
            "fact",
            subject="alice",
            predicate="likes",
            evidence=(Evidence("q", "t1"), Evidence("q", "t2")),
        ),
        record("project", PROJECT, caption="A Whiteboard", evidence=(Evidence("q", "t2"),)),
        record("held", status=Status.CANDIDATE),
        record("turn", BOB, kind=Kind.TURN, external_id="m1", session="s1", subject="alice"),
        purged,
    )
    store.purge(ALICE, [purged.id], START)
    assert texts(store, reach=ScopeReach(ALICE, (ALICE,), tree=True), **filters) == expected


@pytest.mark.covers("S1.62", "S4.58")
def test_a_reach_sees_its_scopes_only(store: Store) -> None:
    """Exact scopes show themselves;
    a tree shows what is below it; look-alikes and other owners stay out of sight.
    """
    near = Scope(("user", "alice", "project", "xy"))
    add(
        store,
        record("owner"),
        record("project", PROJECT),
        record("deep", DEEP),
        record("near", near),
        record("odd", Scope(("user", "alice", "project", "x/y"))),
        record("bob", BOB),
        record("bobs project", BOB.within("project", "x")),
        record("alice2", Scope(("user", "alice2"))),
        record("agent", Scope(("alice",))),
    )
    assert texts(store, reach=ScopeReach(ALICE, (ALICE,))) == ["owner"]
    assert texts(store, reach=ScopeReach(ALICE, DEEP.chain())) == ["owner", "project", "deep"]
    assert texts(store, reach=ScopeReach(ALICE, (PROJECT,), tree=True)) == ["project", "deep"]
    assert texts(store, reach=ScopeReach(ALICE, (ALICE,), tree=True)) == [
        "owner",
        "project",
        "deep",
        "near",
        "odd",
    ]
    assert texts(store, reach=ScopeReach(ALICE, (near, DEEP), tree=True)) == ["deep", "near"]
    assert texts(store, reach=ScopeReach(ALICE, ())) == []
    assert texts(store, reach=ScopeReach(ALICE, (BOB,))) == []
    assert texts(store, reach=ScopeReach(ALICE, (BOB,), tree=True)) == []
    assert texts(store, reach=ScopeReach(BOB, (ALICE, PROJECT), tree=True)) == []


@pytest.mark.covers("S1.62", "S4.58")
def test_scopes_counts_and_speakers_of_an_owner(store: Store) -> None:
    """What is known about one owner never counts another's; the administrator sees all."""
    add(
        store,
        turn("a", speaker="Ann"),
        turn("b", speaker="Ann"),
        turn("c", PROJECT, speaker="Bea"),
        turn("d", speaker="Cid", status=Status.CANDIDATE),
        record("e", layer=Layer.SEMANTIC, tier=Tier.LONGTERM),
        turn("f", BOB, speaker="Dan"),
    )
    assert store.scopes(ALICE) == (ALICE, PROJECT)
    assert store.scopes(None) == (ALICE, PROJECT, BOB)
    assert store.survey(reach()).speakers == {"Ann": 2}
    assert store.survey(ScopeReach(ALICE, (ALICE,), tree=True)).speakers == {"Ann": 2, "Bea": 1}
    assert store.speakers(reach()) == {"Ann": 2} and store.speakers(
        ScopeReach(ALICE, (ALICE,), tree=True)
    ) == {"Ann": 2, "Bea": 1}
    assert store.counts(reach()) == {
        "status": {"active": 3, "candidate": 1},
        "kind": {"turn": 3, "fact": 1},
        "layer": {"semantic": 1},
        "tier": {"recent": 3, "longterm": 1},
        "active": {"recent": 2, "longterm": 1},
        "active_layers": {"semantic": 1},
        "model": {},
    }
    assert store.counts(None)["status"] == {"active": 5, "candidate": 1}


def test_counts_follow_changes(store: Store) -> None:
    """Counts, scopes and speakers follow edits, moves, forgetting and purging."""
    first = turn("a", speaker="Ann")
    add(store, first)
    change(store, first, speaker="Bea", scope=PROJECT, tier="longterm")
    assert store.scopes(ALICE) == (PROJECT,)
    assert store.survey(ScopeReach(ALICE, (PROJECT,))).speakers == {"Bea": 1}
    change(store, first, status=Status.FORGOTTEN)
    assert store.survey(ScopeReach(ALICE, (PROJECT,))).speakers == {}
    store.purge(ALICE, [first.id], START)
    assert store.counts(None) == {
        "status": {"purged": 1},
        "kind": {},
        "layer": {},
        "tier": {},
        "active": {},
        "active_layers": {},
        "model": {},
    }
    assert store.scopes(None) == ()


PARIS = {
    "valid_from": at(days=0),
    "valid_to": at(days=100),
    "ended_at": at(days=110),
    "recorded_at": at(days=1),
}
"""True until day 100, which was learned on day 110."""


@pytest.mark.parametrize(
    ("valid", "known", "expected"),
    [
        (50, 50, True),
        (50, 120, True),
        (105, 105, True),
        (105, 109.9, True),
        (105, 110, False),
        (100, 120, False),
        (99.9, 120, True),
        (50, 0.5, False),
        (50, 1, True),
        (-1, 50, False),
        (0, 50, True),
        (None, None, False),
        (50, None, True),
        (None, 50, True),
    ],
)
def test_as_of_sees_what_was_true_as_known(
    store: Store, clock: Any, valid: float | None, known: float | None, expected: bool
) -> None:
    """A record counts while it was true, as far as that was known;
    an end is unknown until it is learned.
    """
    paris = record("Paris", **PARIS)
    add(store, paris)
    change(store, paris, status=Status.SUPERSEDED)
    clock.now = at(days=365)
    point = AsOf(
        None if valid is None else at(days=valid), None if known is None else at(days=known)
    )
    assert texts(store, as_of=point) == (["Paris"] if expected else [])


def test_as_of_and_retired_records(store: Store) -> None:
    """What was retired still counts for a time before that, and records without times count always."""
    add(
        store,
        record("retired", retired_at=at(days=5)),
        record("plain"),
        record("early", recorded_at=at(days=-9)),
    )
    assert texts(store, as_of=AsOf(known=at(days=4))) == ["early", "retired", "plain"]
    assert texts(store, as_of=AsOf(known=at(days=5))) == ["early", "plain"]
    assert texts(store, as_of=AsOf(known=at(days=-1))) == ["early"]


@pytest.mark.parametrize("status", ["candidate", "forgotten"])
def test_as_of_never_sees_what_was_withdrawn(store: Store, status: str) -> None:
    """Held and forgotten records are not part of the past that a read may see;
    archived ones are.
    """
    hidden = record("hidden", status=Status(status))
    archived = record("kept", status=Status.ARCHIVED)
    add(store, hidden, archived)
    assert texts(store, as_of=AsOf(at(days=1), at(days=1))) == ["kept"]
    assert get(store, hidden).status == status


def test_a_query_for_a_naive_time_is_utc(store: Store) -> None:
    """Times without a zone are taken as UTC."""
    add(store, record("plain"))
    assert texts(store, as_of=AsOf(known=START.replace(tzinfo=None))) == ["plain"]


ODD = 'The "PIN" is\n4821\\7 — señor 😀'


def test_what_a_record_says_is_found_letter_by_letter(store: Store) -> None:
    """In every text of it, within longer words and lines, in other letters not, and in its history
    where asked for.
    """
    messages = [
        record(f"before{ODD}after"),
        record("a", caption=ODD),
        record("b", summary=f"x {ODD}"),
        record("c", steps=("first", f"then {ODD}!")),
        record("d", evidence=(Evidence(f"quote: {ODD}", "s", "ada"),)),
        record("e", status=Status.FORGOTTEN, summary=ODD),
    ]
    others = [
        record(ODD.upper()),
        record(ODD.replace("\n", " ")),
        record(ODD[:-1]),
        record(ODD, scope=BOB),
        record("100% _ ' ?"),
    ]
    late = record(f"once: {ODD}")
    add(store, *messages, *others, late)
    change(store, late, text="something else")
    filters: dict[str, Any] = {"statuses": tuple(Status), "saying": ("not there", ODD)}
    assert texts(store, **filters) == [stored.text for stored in messages]
    assert texts(store, **filters, formerly=True) == [
        *(stored.text for stored in messages),
        "something else",
    ]
    assert texts(store, saying=("100% _ ' ?",)) == ["100% _ ' ?"]
    assert (
        len(
            texts(
                store,
                **{**filters, "saying": (*(f"no such text {n}" for n in range(99)), ODD)},
                formerly=True,
            )
        )
        == len(messages) + 1
    )
