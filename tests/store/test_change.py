"""Changing records, their life, and the history of both."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.store.make import (
    ALICE,
    BOB,
    START,
    add,
    at,
    batch,
    change,
    found,
    get,
    reach,
    record,
    texts,
    vector,
)

from engrams.core import Evidence, Kind, Scope, Status, Tier
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import NewRecord, RecordChange, RecordQuery, RecordUse, Store


def test_a_change_is_one_version_up(store: Store) -> None:
    """Changed fields are read back and the version grows by one a change."""
    tea = record("Alice likes tea")
    add(store, tea)
    after = change(
        store,
        tea,
        importance=0.9,
        tags=["x"],
        tier="longterm",
        valid_to="2025-05-01",
        meta={"a": 1},
    )
    assert (after.importance, after.tags, after.tier, after.version) == (
        0.9,
        ("x",),
        Tier.LONGTERM,
        2,
    )
    assert (after.valid_to, after.meta) == (
        datetime.fromisoformat("2025-05-01T00:00:00+00:00"),
        {"a": 1},
    )
    assert change(store, tea, text="Alice loves tea").version == 3


def test_a_change_to_the_same_value_is_none(store: Store) -> None:
    """Setting what is already so adds no version and no history."""
    tea = record("Alice likes tea")
    add(store, tea)
    assert change(store, tea, text="Alice likes tea", tags=[]).version == 1
    assert len(store.history(ALICE, tea.id)) == 1


def test_reading_leaves_no_history(store: Store) -> None:
    """Access counts are kept without a new version, so that a read in between spoils no edit."""
    tea = record("Alice likes tea")
    add(store, tea)
    after = change(store, tea, "access", access_count=3, last_accessed=at(days=1))
    assert (after.access_count, after.last_accessed, after.version) == (3, at(days=1), 1)
    assert len(store.history(ALICE, tea.id)) == 1
    assert change(store, tea, expect=1, text="Alice loves tea").version == 2


def test_uses_add_up(store: Store) -> None:
    """Whoever counts them, in whatever order;
    what is purged or unknown counts nothing, and spoils nothing of the batch.
    """
    tea = record("Alice likes tea")
    purged = record("Alice likes mud")
    add(store, tea, purged)
    store.purge(ALICE, [purged.id], START)
    for times, day in ((2, 3), (5, 1)):
        store.commit(
            batch(
                uses=[
                    RecordUse(ALICE, id, times, at(days=day))
                    for id in (purged.id, "01unknown", tea.id)
                ]
            )
        )
    after = get(store, tea)
    assert (after.access_count, after.last_accessed, after.version) == (7, at(days=3), 1)
    assert (get(store, purged).access_count, get(store, purged).last_accessed) == (0, None)
    assert len(store.history(ALICE, tea.id)) == 1
    store.commit(batch(uses=(RecordUse(BOB, tea.id, 1, START),)))
    assert get(store, tea).access_count == 7


def test_the_expected_version_must_be_there(store: Store) -> None:
    """A change that expects another version is a conflict and leaves the record alone, with all of
    its batch.
    """
    first = record("one")
    second = record("two")
    add(store, first, second)
    change(store, first, text="one, changed")
    with pytest.raises(ConflictError) as caught:
        store.commit(
            batch(
                changes=(
                    RecordChange(ALICE, second.id, {"text": "no"}, "edit"),
                    RecordChange(ALICE, first.id, {"text": "late"}, "edit", expect=1),
                )
            )
        )
    assert caught.value.hint
    assert sorted(texts(store)) == ["one, changed", "two"]


def test_two_changes_of_one_batch_expect_the_same_version(store: Store) -> None:
    """Both changes of one record in one write may name the version it had when it was read."""
    first = record("one")
    add(store, first)
    store.commit(
        batch(
            changes=tuple(
                RecordChange(ALICE, first.id, fields, "edit", expect=1)
                for fields in ({"text": "two"}, {"importance": 1.0})
            )
        )
    )
    assert (get(store, first).text, get(store, first).importance, get(store, first).version) == (
        "two",
        1.0,
        3,
    )


@pytest.mark.covers("S1.62")
def test_a_change_needs_the_owner(store: Store) -> None:
    """A record that does not exist, or is another owner's, cannot be changed."""
    tea = record("Alice likes tea")
    add(store, tea)
    for owner, name in ((BOB, tea.id), (ALICE, "nobody"), (ALICE, "")):
        with pytest.raises(NotFoundError):
            store.commit(batch(changes=(RecordChange(owner, name, {"text": "mine"}, "edit"),)))
    assert get(store, tea) == tea


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "other"},
        {"version": 9},
        {"colour": "red"},
        {"hash": "0" * 32},
        {"scope": BOB},
        {"status": "happy"},
        {"status": Status.PURGED},
        {"kind": "poem"},
        {"importance": "high"},
        {"valid_to": "soon"},
        {"recorded_at": None},
        {"tags": "notalist"},
        {"tags": [1]},
        {"strength": 1.5},
        {"meta": {"x": {1}}},
        {"text": None},
        {"text; DROP TABLE records": "x"},
    ],
    ids=str,
)
def test_what_cannot_be_changed_is_refused(store: Store, fields: dict[str, Any]) -> None:
    """Unknown and fixed fields, values of the wrong sort, and another owner's scope are bad input."""
    tea = record("Alice likes tea")
    add(store, tea)
    with pytest.raises(InputError):
        store.commit(batch(changes=(RecordChange(ALICE, tea.id, fields, "edit"),)))
    assert get(store, tea) == tea


def test_a_record_can_move_within_its_owner(store: Store) -> None:
    """The scope of a record may change as long as its owner does not."""
    tea = record("Alice likes tea")
    add(store, tea)
    project = ALICE.within("project", "x")
    assert change(store, tea, scope=project).scope == project
    assert store.scopes(ALICE) == (project,)


def test_a_new_text_is_found_and_the_old_one_is_not(store: Store) -> None:
    """After an edit the search finds the new words only, and the vector of the old text is gone."""
    tea = record("Alice likes tea")
    add(store, NewRecord(tea, vector=vector(tea, 1, 0)))
    assert found(store, "tea") == found(store, "", [1, 0]) == {tea.id}
    change(store, tea, text="Alice prefers coffee")
    assert found(store, "tea") == set()
    assert found(store, "coffee") == {tea.id}
    assert found(store, "", [1, 0]) == set()
    assert [missing.id for missing in store.missing("tiny", "", 10)] == [tea.id]
    assert texts(store, hashes=(get(store, tea).hash,)) == ["Alice prefers coffee"]
    assert texts(store, hashes=(tea.hash,)) == []


def test_an_edit_with_a_new_vector_keeps_it(store: Store) -> None:
    """A vector that comes with the new text in the same write stays."""
    tea = record("Alice likes tea")
    add(store, NewRecord(tea, vector=vector(tea, 1, 0)))
    store.commit(
        batch(
            changes=(RecordChange(ALICE, tea.id, {"text": "coffee"}, "edit"),),
            vectors=((ALICE, vector(tea, 0, 1)),),
        )
    )
    assert found(store, "", [0, 1]) == {tea.id}


def test_history_tells_everything(store: Store) -> None:
    """Each change is told with its time, actor, reason, and the values before and after, oldest
    first.
    """
    tea = record("Alice likes tea", valid_from=START)
    add(store, tea)
    change(store, tea, "edit", text="Alice likes coffee", when=at(hours=1))
    change(store, tea, "forget", status=Status.FORGOTTEN, when=at(hours=2))
    change(store, tea, "restore", status=Status.ACTIVE, valid_from=at(days=-1), when=at(hours=3))
    first, edit, forget, restore = store.history(ALICE, tea.id)
    assert (first.action, first.before, first.after) == (
        "add",
        {},
        {"text": "Alice likes tea", "kind": "fact", "status": "active"},
    )
    assert (edit.version, edit.at, edit.actor, edit.reason) == (2, at(hours=1), "test", "because")
    assert (edit.before, edit.after) == (
        {"text": "Alice likes tea"},
        {"text": "Alice likes coffee"},
    )
    assert (forget.before["status"], forget.after["status"]) == ("active", "forgotten")
    assert restore.after == {"status": "active", "valid_from": at(days=-1).isoformat()}


@pytest.mark.covers("S1.62")
def test_history_needs_the_owner(store: Store) -> None:
    """Another owner, or an unknown id, has no history."""
    tea = record("Alice likes tea")
    add(store, tea)
    assert store.history(BOB, tea.id) == store.history(ALICE, "nobody") == ()


@pytest.mark.parametrize(
    ("begin", "end", "allowed"),
    [
        ("candidate", "active", True),
        ("candidate", "forgotten", True),
        ("active", "superseded", True),
        ("active", "archived", True),
        ("active", "forgotten", True),
        ("active", "candidate", False),
        ("superseded", "active", True),
        ("superseded", "candidate", False),
        ("archived", "active", True),
        ("archived", "candidate", False),
        ("forgotten", "active", True),
        ("forgotten", "candidate", True),
        ("forgotten", "superseded", True),
    ],
)
def test_a_life_has_an_order(store: Store, begin: str, end: str, allowed: bool) -> None:
    """A status follows only where a record's life leads."""
    tea = record("Alice likes tea", status=Status(begin))
    add(store, tea)
    if allowed:
        assert change(store, tea, status=end).status == end
    else:
        with pytest.raises(InputError):
            change(store, tea, status=end)


def test_a_superseded_record_has_an_end(store: Store) -> None:
    """Superseding without saying when it ended retires the record at the time of the write;
    activating undoes that.
    """
    first = record("one")
    second = record("two")
    add(store, first, second)
    assert change(store, first, status=Status.SUPERSEDED, when=at(days=2)).retired_at == at(days=2)
    assert change(store, first, status=Status.ACTIVE).retired_at is None
    ended = change(
        store,
        second,
        status=Status.SUPERSEDED,
        valid_to=at(days=1),
        ended_at=at(days=2),
        when=at(days=2),
    )
    assert (ended.valid_to, ended.retired_at) == (at(days=1), None)


def test_a_new_kind_and_evidence_are_found(store: Store) -> None:
    """What a change sets is what a listing finds."""
    tea = record("Alice likes tea", evidence=(Evidence("tea", "t1"),))
    add(store, tea)
    change(store, tea, kind=Kind.PREFERENCE, evidence=[Evidence("likes tea", "t2")])
    assert (
        texts(store, kinds=(Kind.PREFERENCE,))
        == texts(store, sources=("t2",))
        == ["Alice likes tea"]
    )
    assert texts(store, kinds=(Kind.FACT,)) == texts(store, sources=("t1",)) == []


def test_outbox_keeps_its_order_until_cleared(store: Store) -> None:
    """File-side effects wait in the order they came, and only those carried out leave."""
    one = record("one", Scope(("user", "alice", "project", "x")))
    add(store, one, outbox=tuple(("file", ALICE, one.id, {"step": step}) for step in range(4)))
    first, *rest = store.outbox(10)
    assert (first.topic, first.owner, first.record, first.payload) == (
        "file",
        ALICE,
        one.id,
        {"step": 0},
    )
    store.clear([first.id, rest[1].id, 999])
    assert [entry.payload["step"] for entry in store.outbox(10)] == [1, 3]
    assert len(store.outbox(1)) == 1


@pytest.mark.covers("S3.58", "S4.59")
def test_a_vector_comes_later(store: Store) -> None:
    """Records without a vector are listed for backfill by id and page;
    one that was given is found and leaves the list.
    """
    many = [record(f"fact {number}", id=f"01{number:03}") for number in range(5)]
    held = record("held", status=Status.CANDIDATE)
    bobs = record("Bob's", BOB, id="01002x")
    add(store, *many, held, bobs)
    first = store.missing("tiny", "", 3)
    assert [stored.id for stored in first] == ["01000", "01001", "01002"]
    assert [stored.id for stored in store.missing("tiny", first[-1].id, 10)] == [
        "01002x",
        "01003",
        "01004",
    ]
    add(
        store,
        vectors=(
            (ALICE, vector(many[0], 1, 0)),
            (BOB, vector(bobs, 1, 0)),
            (ALICE, vector(many[1], 1, 0, 0, model="wide")),
        ),
    )
    assert found(store, "", [1, 0]) == {many[0].id}
    assert [stored.id for stored in store.missing("tiny", "", 2)] == ["01001", "01002"]
    assert "01001" not in [stored.id for stored in store.missing("wide", "", 10)]
    assert store.counts(None)["model"] == {"tiny": 2, "wide": 1}


def test_a_vector_needs_its_record(store: Store) -> None:
    """A vector for a record that never was is an error;
    for one that was purged meanwhile it is dropped.
    """
    secret = record("secret")
    with pytest.raises(NotFoundError):
        add(store, vectors=((ALICE, vector(secret, 1, 0)),))
    add(store, secret)
    with pytest.raises(NotFoundError):
        add(store, vectors=((BOB, vector(secret, 1, 0)),))
    store.purge(ALICE, [secret.id], START)
    add(store, vectors=((ALICE, vector(secret, 1, 0)),))
    assert not store.vectors(ALICE, [secret.id], "tiny").any()


def test_find_pages_do_not_skip_what_changes(store: Store) -> None:
    """A record that changes between two pages neither moves nor appears twice."""
    many = [record(f"fact {number}", recorded_at=at(minutes=number)) for number in range(6)]
    add(store, *many)
    page = store.find(RecordQuery(reach=reach(), order="oldest", limit=3))
    change(store, many[1], text="changed")
    second_page = store.find(RecordQuery(reach=reach(), order="oldest", limit=3, after=page.next))
    assert [stored.id for stored in (*page.records, *second_page.records)] == [
        stored.id for stored in many
    ]


def test_changes_are_read_in_their_order(store: Store) -> None:
    """What changed after a change, of one owner, in pages; what was erased comes as a tombstone."""
    one = record("one")
    second = record("two")
    third = record("three")
    bobs = record("of Bob", BOB)
    add(store, one, second, third, bobs)
    first = store.changes(ALICE, 0, 2)
    assert [changed.text for changed in first.records] == ["one", "two"]
    second_page = store.changes(ALICE, first.last, 2)
    assert [changed.text for changed in second_page.records] == ["three"]
    assert (
        store.changes(ALICE, second_page.last, 2).records == ()
        and store.changes(ALICE, second_page.last, 2).last == second_page.last
    )
    change(store, one, text="one, changed")
    store.purge(ALICE, [second.id], at(days=1))
    later = store.changes(ALICE, second_page.last, 10)
    assert [(changed.id, changed.text, changed.status) for changed in later.records] == [
        (one.id, "one, changed", Status.ACTIVE),
        (second.id, "", Status.PURGED),
    ]
    assert (
        store.find_change(ALICE, 0)
        == later.last
        > store.find_change(ALICE, 2)
        > 0
        == store.find_change(ALICE, 3)
    )
