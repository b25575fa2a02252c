"""One write: all of it or nothing, and what it reports."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.make import (
    ALICE,
    BOB,
    START,
    add,
    at,
    batch,
    change,
    get,
    reach,
    record,
    texts,
    turn,
    vector,
)

from engrams.core import (
    Edge,
    EdgeType,
    Evidence,
    Kind,
    Layer,
    Provenance,
    Record,
    Scope,
    Status,
    Tier,
    Vector,
)
from engrams.core.ids import new_id
from engrams.errors import ConflictError, EngramsError, InputError, NotFoundError
from engrams.ports import JobSpec, NewRecord, RecordChange, RecordQuery, Store

FULL = Record(
    id="01full",
    scope=Scope(("user", "alice", "project", "a/b%c")),
    kind=Kind.PROCEDURE,
    text="Deploy with 'make ship' 🚀 — naïve, 東京, שלום",
    recorded_at=START,
    layer=Layer.PROCEDURAL,
    tier=Tier.LONGTERM,
    status=Status.CANDIDATE,
    role="assistant",
    speaker="Ann",
    session="s9",
    external_id="x-1",
    caption="a whiteboard",
    valid_from=at(days=-3, microseconds=7),
    valid_to=at(days=9),
    retired_at=at(days=8),
    ended_at=at(days=7),
    subject="alice",
    predicate="deploys_with",
    object="make ship",
    category="work",
    tags=("a", "b"),
    triggers=("deploy",),
    steps=("one", "two"),
    evidence=(Evidence("make ship", "01turn", "Ann"), Evidence("quote", "01other")),
    provenance=Provenance(
        channel="tool", extractor="rules", prompt="p1", reason="why", files=("a.md", "b.md")
    ),
    importance=0.25,
    confidence=0.75,
    trust=0.125,
    strength=3,
    access_count=5,
    last_accessed=at(days=1),
    superseded_by="01next",
    summary="short",
    version=4,
    meta={"deep": {"list": [1, 2.5, None, True, "x"]}, "ключ": "значение"},
)


def test_every_field_comes_back(store: Store) -> None:
    """A record is read as it was written, in every field."""
    add(store, FULL)
    assert get(store, FULL) == FULL


def test_defaults_come_back(store: Store) -> None:
    """A record with nothing but its text comes back equal."""
    plain = record("Alice likes tea")
    add(store, plain)
    assert get(store, plain) == plain


@given(
    text=st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=200),
    meta=st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
        st.integers(-(2**70), 2**70) | st.text(max_size=4),
    ),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_comes_back(store: Store, text: str, meta: dict[str, Any]) -> None:
    """Whatever characters and numbers a text or its metadata holds, they are read as written."""
    stored = record(text, meta=meta)
    add(store, stored)
    assert get(store, stored) == stored


def test_long_and_odd_texts_come_back(store: Store) -> None:
    """A megabyte, NUL bytes, right-to-left marks and emoji are stored unchanged."""
    odd = [
        record("word " * 200_000),
        record("a\0b"),
        record("\u202eevil\u202c"),
        record("👩‍👩‍👧‍👦" * 50),
        record("   "),
    ]
    add(store, *odd)
    assert [get(store, stored).text for stored in odd] == [stored.text for stored in odd]


@pytest.mark.parametrize(
    "broken",
    [
        record("\ud800 lone"),
        record("ok", speaker="\udfff"),
        record("ok", meta={"x": math.nan}),
        record("ok", meta={"x": {1, 2}}),
        record("ok", importance=math.nan),
        record("ok", importance="high"),
        record("ok", strength=2**80),
    ],
    ids=["surrogate", "surrogate-speaker", "nan-meta", "set-meta", "nan", "text-number", "huge"],
)
@pytest.mark.covers("S4.29")
def test_a_malformed_record_rejects_the_whole_batch(store: Store, broken: Record) -> None:
    """One record that cannot be stored is named as bad input, and nothing of its batch is kept."""
    good = record("Alice likes tea")
    with pytest.raises(InputError):
        add(store, good, broken, jobs=(JobSpec("extract", "k"),))
    assert store.get(ALICE, [good.id]) == ()
    assert store.queue() == ()
    add(store, good)
    assert texts(store) == ["Alice likes tea"]


@pytest.mark.covers("S4.27")
@pytest.mark.parametrize("fault", ["change", "vector", "edge", "lease"])
def test_a_fault_inside_a_write_leaves_neither_half(store: Store, fault: str) -> None:
    """Superseding the old and adding the new happen together:
    a fault anywhere in the batch leaves both undone.
    """
    old = record("Alice lives in Paris")
    new = record("Alice lives in Berlin")
    add(store, old)
    parts: dict[str, Any] = {
        "changes": (
            RecordChange(
                ALICE, old.id, {"status": Status.SUPERSEDED, "superseded_by": new.id}, "supersede"
            ),
        ),
        "edges": (Edge(ALICE, new.id, old.id, EdgeType.SUPERSEDES),),
        "jobs": (JobSpec("embed", "alice"),),
        "outbox": (("file", ALICE, new.id, {}),),
    }
    match fault:
        case "change":
            parts["changes"] += (RecordChange(ALICE, "nobody", {"text": "x"}, "edit"),)
        case "vector":
            parts["vectors"] = ((ALICE, Vector(new.id, "m", 4, b"short")),)
        case "edge":
            parts["edges"] += (Edge(ALICE, new.id, old.id, EdgeType.SUPERSEDES, weight=math.nan),)
        case _:
            parts["finish"] = ("no such lease",)
    with pytest.raises(EngramsError):
        add(store, new, **parts)
    assert get(store, old) == old
    assert store.get(ALICE, [new.id]) == ()
    assert store.edges(ALICE, [old.id]) == ()
    assert store.queue() == ()
    assert store.outbox(10) == ()
    assert [entry.action for entry in store.history(ALICE, old.id)] == ["add"]


@pytest.mark.covers("S4.27", "S4.28")
def test_superseding_is_one_write(store: Store) -> None:
    """The old record points at the new one, stays readable, and is no longer listed as active."""
    old = record("Alice lives in Paris")
    new = record("Alice lives in Berlin")
    add(store, old)
    fields = {
        "status": Status.SUPERSEDED,
        "superseded_by": new.id,
        "valid_to": at(days=1),
        "ended_at": at(days=1),
    }
    add(
        store,
        new,
        changes=(RecordChange(ALICE, old.id, fields, "supersede"),),
        edges=(Edge(ALICE, new.id, old.id, EdgeType.SUPERSEDES),),
    )
    assert texts(store) == ["Alice lives in Berlin"]
    assert get(store, old).superseded_by == new.id
    assert store.edges(ALICE, [old.id])[0].type is EdgeType.SUPERSEDES


def test_an_external_id_is_stored_once(store: Store) -> None:
    """The sender's own id twice in one scope stores nothing the second time and names the record
    that was there.
    """
    first = turn("hello", external_id="m1")
    again = turn("hello again", external_id="m1")
    elsewhere = turn("hello", ALICE.within("conversation", "c2"), external_id="m1")
    bobs = turn("hello", BOB, external_id="m1")
    add(store, first)
    assert add(store, again, elsewhere, bobs).existing == {again.id: first.id}
    assert texts(store) == ["hello"]
    assert get(store, elsewhere).external_id == get(store, bobs).external_id == "m1"


def test_the_same_record_twice_is_stored_once(store: Store) -> None:
    """A record with an id and text that are there stores nothing and strengthens nothing;
    another text with that id is refused.
    """
    first = turn("hello")
    add(store, first)
    for dedup in (False, True):
        result = store.commit(batch(NewRecord(first, dedup=dedup)))
        assert result.existing == {first.id: first.id}
    assert get(store, first).strength == first.strength
    with pytest.raises(ConflictError):
        add(store, replace(turn("another"), id=first.id))


def test_an_external_id_counts_within_one_batch_and_after_forgetting(store: Store) -> None:
    """The same external id twice in one batch is stored once, and a forgotten record still holds
    its own.
    """
    first = turn("one", external_id="m1")
    again = turn("two", external_id="m1")
    assert add(store, first, again).existing == {again.id: first.id}
    change(store, first, status=Status.FORGOTTEN)
    assert add(store, again).existing == {again.id: first.id}


def test_a_duplicate_is_counted_instead(store: Store) -> None:
    """With dedup, a text that differs only in case and blanks strengthens the active record that
    says it.
    """
    first = record("Alice likes green tea")
    again = record("  alice LIKES   green tea")
    add(store, first)
    assert add(store, NewRecord(again, dedup=True)).existing == {again.id: first.id}
    assert get(store, first).strength == 2
    after = store.history(ALICE, first.id)[-1].after
    assert after["strength"] == 2
    (repetition,) = after["meta"]["reinforcements"]
    assert repetition.keys() == {"at", "session"}


@pytest.mark.parametrize("difference", ["scope", "kind", "status", "owner", "text"])
def test_what_is_no_duplicate_is_stored(store: Store, difference: str) -> None:
    """Another scope, kind, owner or text, or a twin that is not active any more, is no duplicate."""
    first = record("Alice likes green tea")
    add(store, first)
    differing = record("Alice likes green tea")
    match difference:
        case "scope":
            differing = replace(differing, scope=ALICE.within("project", "x"))
        case "kind":
            differing = replace(differing, kind=Kind.PREFERENCE)
        case "owner":
            differing = replace(differing, scope=BOB)
        case "text":
            differing = replace(differing, text="Alice likes black tea")
        case _:
            change(store, first, status=Status.FORGOTTEN)
    assert add(store, NewRecord(differing, dedup=True)).existing == {}
    assert get(store, differing) == differing


def test_what_refers_to_a_duplicate_refers_to_the_first(store: Store) -> None:
    """Edges, changes and evidence of a batch that name a put which stored nothing reach the record
    that was there.
    """
    first = turn("I moved to Berlin", external_id="m1")
    again = turn("I moved to Berlin", external_id="m1")
    add(store, first)
    fact = record("Alice lives in Berlin", evidence=(Evidence("moved to Berlin", again.id),))
    add(
        store,
        again,
        fact,
        edges=(Edge(ALICE, fact.id, again.id, EdgeType.DERIVED_FROM),),
        changes=(RecordChange(ALICE, again.id, {"importance": 0.9}, "judge"),),
        outbox=(("file", ALICE, again.id, {}),),
    )
    assert store.edges(ALICE, [first.id])[0].source == fact.id
    assert get(store, fact).evidence[0].source == first.id
    assert get(store, first).importance == 0.9
    assert store.outbox(1)[0].record == first.id


def test_an_id_is_given_once(store: Store) -> None:
    """The same id twice for one owner is a conflict and changes nothing;
    another owner may have it.
    """
    first = record("first", id="01same")
    add(store, first)
    with pytest.raises(ConflictError):
        add(store, record("fine"), record("second", id="01same"))
    assert texts(store) == ["first"]
    add(store, record("Bob's", BOB, id="01same"))
    assert get(store, first).text == "first"


def test_an_empty_batch_does_nothing(store: Store) -> None:
    """A write of nothing is accepted."""
    assert add(store).existing == {}


def test_what_follows_is_written_with_it(store: Store) -> None:
    """What follows from a write is in its transaction, with an actor of its own:
    with a new message only, and both or none.
    """
    message = turn("I live in Porto", external_id="m1")
    fact = record("Alice lives in Porto")
    later = record("Alice has a cat")
    result = add(store, message, then=batch(fact, actor="digest", jobs=(JobSpec("changes", "k"),)))
    assert result.followed and [
        entry.actor for stored in (message, fact) for entry in store.history(ALICE, stored.id)
    ] == ["test", "digest"]
    assert [job.kind for job in store.queue(("waiting",))] == ["changes"]
    again = add(store, replace(message, id=new_id(START)), then=batch(later))
    assert (
        not again.followed
        and again.existing
        and texts(store) == ["I live in Porto", "Alice lives in Porto"]
    )
    wrong = RecordChange(
        owner=ALICE, id=fact.id, fields={"text": "Alice lives in Cork"}, action="edit", expect=7
    )
    with pytest.raises(ConflictError):
        add(store, turn("I moved to Cork", external_id="m2"), then=batch(later, changes=(wrong,)))
    assert texts(store) == ["I live in Porto", "Alice lives in Porto"]


def test_ids_that_clash_with_a_clock_going_backwards(store: Store) -> None:
    """A clock that goes backwards neither loses nor reorders what was written."""
    for step in (0, -10, -20):
        moment = START + timedelta(days=step)
        add(store, record(f"day {step}", id=new_id(moment), recorded_at=moment), at=moment)
    assert texts(store) == ["day -20", "day -10", "day 0"]
    assert texts(store, order="newest") == ["day 0", "day -10", "day -20"]


@pytest.mark.covers("S1.47")
def test_many_threads_write_and_read(store: Store) -> None:
    """Eight threads that write and search at once all finish, none meets a locked database, and
    nothing is lost.
    """
    problems: list[BaseException] = []

    def work(name: str) -> None:
        try:
            scope = Scope(("user", name))
            for step in range(25):
                add(store, turn(f"{name} says {step}", scope, external_id=str(step)))
                assert len(store.find(RecordQuery(reach(scope), limit=50)).records) == step + 1
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(f"u{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert store.counts(None)["status"] == {"active": 200}


def test_one_writer_cannot_spoil_another(store: Store) -> None:
    """Of writes that happen at the same time, those that fail report it themselves and the others
    are kept.
    """
    start = threading.Barrier(12)
    outcomes: dict[int, str] = {}

    def work(number: int) -> None:
        start.wait()
        try:
            match number % 3:
                case 0:
                    add(store, record(f"good {number}"))
                case 1:
                    add(
                        store,
                        record(f"half {number}"),
                        changes=(RecordChange(ALICE, "nobody", {"text": "x"}, "edit"),),
                    )
                case _:
                    add(store, record(f"bad {number}", meta={"x": object()}))
        except EngramsError as problem:
            outcomes[number] = type(problem).__name__
        else:
            outcomes[number] = "ok"

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {0: "ok", 1: NotFoundError.__name__, 2: InputError.__name__}
    assert outcomes == {number: expected[number % 3] for number in range(12)}
    assert sorted(texts(store)) == sorted(f"good {number}" for number in range(0, 12, 3))
    assert store.check(False)["ok"]


def test_a_vector_must_fit_its_model(store: Store) -> None:
    """A vector of the wrong size, for its own claim or for its model, is refused."""
    first = record("one")
    second = record("two")
    add(store, NewRecord(first, vector=vector(first, 1, 0, 0)))
    with pytest.raises(InputError):
        add(store, NewRecord(second, vector=vector(second, 1, 0)))
    with pytest.raises(InputError):
        add(store, NewRecord(second, vector=Vector(second.id, "other", 3, b"1234")))
    assert store.get(ALICE, [second.id]) == ()


def test_a_purged_record_cannot_be_added(store: Store) -> None:
    """Status purged is the end of a record, never its beginning."""
    with pytest.raises(InputError):
        store.commit(batch(record("x", status=Status.PURGED)))
