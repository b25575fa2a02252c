"""The working tier of an engine: what enters, what leaves, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Scope, Status, Tier
from engrams.errors import StoreError
from engrams.ports import WriteBatch
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def opened(**fields: Any) -> Any:
    """An engine on the preset with tiers, its jobs run by hand."""
    return temp_engine(
        **{
            "preset": "cache",
            "jobs__workers": 0,
            "clock": SettableClock(START),
            "embedder": HashEmbedder(),
        }
        | fields
    )


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """Twenty items, no model."""
    with opened() as made:
        yield made


def say(engine: MemoryEngine, text: str, role: Any = "user", **fields: Any) -> str:
    """One turn; its id."""
    return engine.observe(Turn(text, role=role, **fields), scope=ANN)[0].id


def fill(engine: MemoryEngine, number: int, start: int = 0) -> list[str]:
    """Turns about different things."""
    return [
        say(engine, f"parcel{index} stands in room{index} of house{index}")
        for index in range(start, start + number)
    ]


def row(engine: MemoryEngine, id: str) -> Record:
    """The record of that id."""
    return engine.get(id, scope=ANN)


@pytest.mark.covers("S0.7", "S0.11")
def test_what_is_said_is_a_row_of_the_working_tier(engine: MemoryEngine) -> None:
    """With importance 0.5 and its source; not in the recent tier; and found at once."""
    mine = say(engine, "The spare key is under the blue pot")
    answer = say(engine, "I will remember the blue pot", "assistant")
    assert [(row(engine, id).tier, row(engine, id).importance) for id in (mine, answer)] == [
        (Tier.WORKING, 0.5)
    ] * 2
    ring = engine._components.working.ring(OWNER)
    assert [(item.id, item.source) for item in ring.items()] == [(mine, "user"), (answer, "agent")]
    state = engine.tiers.state(ANN)
    assert (state["working"], state["recent"], state["longterm"]) == (2, 0, 0)
    assert engine.search("spare key blue pot", scope=ANN).hits[0].record.id == mine


@pytest.mark.covers("S0.8", "S0.9")
def test_from_half_importance_on_the_oldest_becomes_recent(engine: MemoryEngine) -> None:
    """The 21st turn pushes it out, in its own transaction; 0.5 itself is enough, 0.49 is not, and
    what is put away stays in the journal.
    """
    ids = fill(engine, 20)
    for id, importance in ((ids[1], 0.49), (ids[2], 0.9)):
        engine.edit(id, scope=ANN, fields={"importance": importance})
    assert [item["importance"] for item in engine.tiers.working(ANN)[:3]] == [0.5, 0.49, 0.9]
    assert {row(engine, id).tier for id in ids} == {Tier.WORKING}
    fill(engine, 3, 20)
    assert [(row(engine, id).tier, row(engine, id).status) for id in ids[:3]] == [
        (Tier.RECENT, Status.ACTIVE),
        (Tier.RECENT, Status.ARCHIVED),
        (Tier.RECENT, Status.ACTIVE),
    ]
    assert row(engine, ids[3]).tier is Tier.WORKING
    assert [entry.action for entry in engine.history(ids[1], scope=ANN)] == [
        "add",
        "edit",
        "discard",
    ]
    assert ids[1] not in [
        hit.record.id for hit in engine.search("parcel1 room1 house1", scope=ANN).hits
    ]
    assert ids[1] in [
        hit.record.id for hit in engine.search("parcel1 room1 house1", scope=ANN, history=True).hits
    ]


@pytest.mark.covers("S0.8")
def test_the_size_is_a_setting() -> None:
    """Three hold three; and of ten turns in one write seven go straight through."""
    with opened(tiers__working_size=3) as engine:
        ids = fill(engine, 4)
        assert [row(engine, id).tier for id in ids] == [Tier.RECENT, *[Tier.WORKING] * 3]
        many = engine.observe(
            [Turn(f"box{index} lies on shelf{index} of cellar{index}") for index in range(10)],
            scope=ANN,
        )
        assert [row(engine, receipt.id).tier for receipt in many] == [
            *[Tier.RECENT] * 7,
            *[Tier.WORKING] * 3,
        ]
        assert row(engine, ids[3]).tier is Tier.RECENT
        assert engine.tiers.state(ANN)["working"] == 3


@pytest.mark.covers("S0.10", "S0.46")
def test_recalled_memories_are_copied_in_and_never_stored_again() -> None:
    """A recent one as promoted_l1, one of the long term as promoted_l2;
    being pushed out changes nothing about them.
    """
    with opened(tiers__working_size=3) as engine:
        recent = fill(engine, 4)[0]
        say(engine, "The spare key is under the blue pot")
        say(engine, "Noted: blue pot", "assistant")
        engine.tiers.consolidate(ANN)
        first = say(engine, "Felix the cat hates thunder")
        fill(engine, 3, 40)
        (pair,) = engine.list(scope=ANN, kinds=(Kind.EXCHANGE,), text="spare key").records
        engine.search("spare key blue pot", scope=ANN)
        engine.search("Felix cat thunder", scope=ANN)
        engine.drain()
        ring = engine._components.working.ring(OWNER)
        copies = {item.id: (item.source, item.text) for item in ring.items() if item.is_copy}
        assert copies[first] == ("promoted_l1", "Felix the cat hates thunder")
        assert copies[pair.id] == (
            "promoted_l2",
            "User: The spare key is under the blue pot -> Agent: Noted: blue pot",
        )
        before = [row(engine, id) for id in (first, pair.id, recent)]
        fill(engine, 6, 60)
        assert not [item for item in ring.items() if item.is_copy]
        after = [row(engine, id) for id in (first, pair.id, recent)]
        assert [record.version for record in after] == [record.version for record in before]
        assert len(engine.list(scope=ANN, text="Felix", statuses=tuple(Status)).records) == 1


@pytest.mark.covers("S0.46")
def test_only_what_was_selected_is_kept_at_hand(engine: MemoryEngine) -> None:
    """With its vector, one more use, and as a near one for the next search; what was not selected
    is not, and explaining does nothing.
    """
    fill(engine, 22)
    engine.explain("parcel0 room0 house0", scope=ANN)
    engine.drain()
    assert engine.tiers.state(ANN)["hot"] == 0
    (hit,) = engine.search("parcel0 room0 house0", scope=ANN, limit=1).hits
    engine.drain()
    assert engine._components.working.hot(OWNER).ids() == (hit.record.id,)
    assert row(engine, hit.record.id).access_count == 1
    again = engine.search("parcel0 room0 house0", scope=ANN, limit=1)
    assert again.hits[0].parts["sub_sim"] == pytest.approx(0.736, abs=1e-3)
    assert ("hot", 1) in [(name, count) for name, _, count in again.trace.stages]


@pytest.mark.covers("S0.36", "S0.38")
def test_what_is_at_hand_takes_no_place_from_what_is_not() -> None:
    """A pair of the long term that was used is found without its topic;
    the topic's other rows come besides it.
    """
    with opened(
        tiers__working_size=1, read__routing__per_topic=1, read__limit=6, write__extract="off"
    ) as engine:
        for index in range(3):
            say(engine, f"The spare key number{index} is under the blue pot")
            say(engine, f"Key number{index} noted", "assistant")
        engine.tiers.consolidate(ANN)
        assert engine.tiers.state(ANN)["longterm"] == 3
        first = {
            hit.record.id for hit in engine.search("spare key under the blue pot", scope=ANN).hits
        }
        assert len(first) == 1
        engine.drain()
        second = {
            hit.record.id for hit in engine.search("spare key under the blue pot", scope=ANN).hits
        }
        assert first < second
        engine._components.working.hot(OWNER).drop(list(first))
        assert len(engine.search("spare key under the blue pot", scope=ANN).hits) == 1


@pytest.mark.covers("S0.3", "S0.4")
def test_what_repeats_a_recent_memory_only_counts() -> None:
    """From the cosine on that is a repetition to this model, nothing enters: the recent one is used
    once more. What differs in a number or a negation is no repetition.
    """
    with opened(tiers__working_size=1) as engine:
        first = say(engine, "The meeting about the garden fence is at 10 in the blue room")
        fill(engine, 1)
        before = engine.tiers.state(ANN)["recent"]
        (receipt,) = engine.observe(
            Turn("the meeting about the garden fence is at 10 in the blue room!"), scope=ANN
        )
        assert (receipt.outcome, receipt.id) == ("duplicate", first)
        assert [decision.reason for decision in receipt.decisions] == ["repeats a recent memory"]
        assert engine.tiers.state(ANN)["recent"] == before
        known_row = row(engine, first)
        assert (known_row.access_count, known_row.last_accessed) == (1, START)
        for text in ("at 11 in the blue room", "not at 10 in the blue room"):
            (receipt,) = engine.observe(
                Turn(f"The meeting about the garden fence is {text}"), scope=ANN
            )
            assert (receipt.outcome, row(engine, receipt.id).tier) == ("stored", Tier.WORKING)
        (said,) = engine.observe(
            Turn("The meeting about the garden fence is at 10 in the blue room", role="assistant"),
            scope=ANN,
        )
        assert said.outcome == "stored"


@pytest.mark.covers("S0.1", "S0.2")
def test_a_message_repeats_a_given_fact_where_nothing_has_a_vector(home: Path) -> None:
    """A person who says the words of a fact that the person gave adds nothing; an assistant's do."""
    text = "The canteen serves fish on Fridays."
    options = {"embed__provider": "null", "jobs__workers": 0}
    with engrams.open(home=home, preset="cache", **options) as engine:
        fact_id = engine.add(text, scope=ANN, kind=Kind.FACT).id
        for role in ("user", "assistant"):
            engine.observe([Turn(text, role, session="s")], scope=ANN)
        records = engine.list(scope=ANN).records
        assert {record.id for record in records if record.role == "user"} == {fact_id}
        assert [record.text for record in records if record.role == "assistant"] == [text]


def test_what_the_gate_refuses_does_not_enter(engine: MemoryEngine) -> None:
    """Too short, all stop words, or a failure of the machinery;
    the receipt says why, and the journal has it.
    """
    (short,) = engine.observe(Turn("well"), scope=ANN)
    (noise,) = engine.observe(
        Turn("Connection error: request timed out after 30 s", role="assistant"), scope=ANN
    )
    assert [receipt.decisions[-1].reason for receipt in (short, noise)] == ["stop_words", "noise"]
    assert engine.tiers.state(ANN)["working"] == 0
    assert [row(engine, receipt.id).status for receipt in (short, noise)] == [Status.ARCHIVED] * 2


@pytest.mark.covers("S0.5")
def test_notes_and_imports_do_not_go_through_the_tier(engine: MemoryEngine) -> None:
    """What somebody asks to remember is recent at once, even one word."""
    note = engine.add("Paris", scope=ANN)
    engine.write_turns([Turn("An old message from last year")], OWNER, Kind.TURN, "import")
    assert row(engine, note.id).tier is Tier.RECENT
    assert (engine.tiers.state(ANN)["working"], engine.tiers.state(ANN)["recent"]) == (0, 2)


@pytest.mark.covers("S0.12", "S0.59")
def test_a_new_process_begins_with_empty_hands(home: Path) -> None:
    """What was in the tier when the engine closed has left it by the rules;
    what was recent still is, and nothing is missing.
    """
    fields: dict[str, Any] = {"home": home, "preset": "cache", "jobs__workers": 0}
    with engrams.open(**fields) as engine:
        ids = fill(engine, 21)
        engine.edit(ids[5], scope=ANN, fields={"importance": 0.1})
        engine.search("parcel0 room0 house0", scope=ANN)
        engine.drain()
        assert engine.tiers.state(ANN)["hot"] > 0
    with engrams.open(**fields) as engine:
        state = engine.tiers.state(ANN)
        assert (state["working"], state["hot"], state["recent"]) == (0, 0, 20)
        assert {row(engine, id).status for id in ids if id != ids[5]} == {Status.ACTIVE}
        assert row(engine, ids[5]).status is Status.ARCHIVED


@pytest.mark.covers("S0.12")
def test_what_a_dead_process_left_behind_is_settled_by_a_sweep(engine: MemoryEngine) -> None:
    """Rows of the working tier that nobody holds become recent after an hour;
    unimportant ones are put away.
    """
    clock: Any = engine._clock
    remaining = say(engine, "The spare key is under the blue pot")
    small = say(engine, "Felix the cat hates thunder")
    engine.edit(small, scope=ANN, fields={"importance": 0.2})
    engine._components.working.ring(OWNER).drain()
    engine.tiers.sweep(ANN)
    assert row(engine, remaining).tier is Tier.WORKING
    clock.forward(minutes=61)
    assert engine.tiers.sweep(ANN)["settled"] == 2
    assert (row(engine, remaining).tier, row(engine, remaining).status) == (
        Tier.RECENT,
        Status.ACTIVE,
    )
    assert row(engine, small).status is Status.ARCHIVED


@pytest.mark.covers("S0.39")
def test_the_last_five_things_said_are_in_every_context(engine: MemoryEngine) -> None:
    """Word by word and in order, whatever the query;
    within the budget; escaped; and not what was forgotten since.
    """
    ids = [
        say(
            engine,
            f"word{index} of the <b>talk</b>\nand more",
            "user" if index % 2 else "assistant",
        )
        for index in range(7)
    ]
    context = engine.context("something else entirely", scope=ANN)
    places = [context.text.find(f"word{index} of the &lt;b&gt;talk") for index in range(7)]
    assert places[:2] == [-1, -1]
    assert places[2:] == sorted(places[2:])
    assert places[2] > 0
    assert engine.counter.count(context.text) == context.tokens
    small = engine.context("something else entirely", scope=ANN, tokens=60)
    assert small.tokens <= 60
    assert "word6" in small.text
    say(engine, "another conversation begins here", session="s2")
    assert "word6" not in engine.context("something else entirely", scope=ANN).text
    say(engine, "word7 comes back to the first one")
    engine.forget(ids[6], scope=ANN)
    assert "word6" not in engine.context("something else entirely", scope=ANN).text
    assert "word" not in engine.context("x", scope=("user", "bob")).text


def test_purging_leaves_no_copy_at_hand(engine: MemoryEngine) -> None:
    """Neither in the tier nor in the hot buffer;
    and a turn that pushes a purged one out does not fail.
    """
    ids = fill(engine, 20)
    engine.search("parcel3 room3 house3", scope=ANN)
    engine.drain()
    engine.purge(ids[3], scope=ANN)
    assert ids[3] not in engine._components.working.hot(OWNER).ids()
    assert engine._components.working.ring(OWNER).get_by_id(ids[3]) is None
    engine.store.purge(OWNER, [ids[0]], START)  # as another process does
    fill(engine, 3, 30)
    assert row(engine, ids[1]).tier is Tier.RECENT


def test_a_write_that_fails_changes_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full:
    what was to be pushed out is still there, and the next write pushes it out.
    """
    ids = fill(engine, 20)
    real = engine.store.commit

    def full(batch: WriteBatch) -> Any:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(engine.store, "commit", full)
    with pytest.raises(StoreError):
        fill(engine, 1, 20)
    assert [item.id for item in engine._components.working.ring(OWNER).items()] == ids
    monkeypatch.setattr(engine.store, "commit", real)
    fill(engine, 1, 20)
    assert row(engine, ids[0]).tier is Tier.RECENT


def test_the_same_turn_twice_is_one_item(engine: MemoryEngine) -> None:
    """A sender's own id that is known already neither enters again nor pushes anything twice."""
    first = say(engine, "The spare key is under the blue pot", external_id="m1")
    assert say(engine, "The spare key is under the blue pot", external_id="m1") == first
    assert engine.tiers.state(ANN)["working"] == 1


def test_scopes_have_tiers_of_their_own(engine: MemoryEngine) -> None:
    """An owner's state counts all of theirs; nobody sees another's."""
    engine.observe(Turn("The project starts in May"), scope=(*ANN, "project", "x"))
    say(engine, "The spare key is under the blue pot")
    engine.observe(Turn("Bob was in Oslo in June"), scope=("user", "bob"))
    sizes = [
        engine.tiers.state(scope)["working"]
        for scope in (ANN, (*ANN, "project", "x"), ("user", "bob"), ("user", "annette"))
    ]
    assert sizes == [2, 1, 1, 0]


def test_without_tiers_everything_is_recent_at_once() -> None:
    """The default: no ring, no jobs, no sweep."""
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        ids = fill(engine, 25)
        assert {row(engine, id).tier for id in ids} == {Tier.RECENT}
        engine.drain()
        state = engine.tiers.state(ANN)
        assert (state["on"], state["working"], state["in_flight"]) == (False, 0, 0)
        assert state["recent"] >= 25
        assert not [
            job for job in engine.store.queue(("waiting",)) if job.kind in engine.tiers.kinds
        ]


def test_age_alone_removes_nothing(engine: MemoryEngine) -> None:
    """A clock that goes backwards neither sweeps nor settles."""
    clock: Any = engine._clock
    ids = fill(engine, 22)
    clock.back(days=400)
    engine.tiers.sweep(ANN)
    assert [row(engine, id).tier for id in ids[:3]] == [Tier.RECENT, Tier.RECENT, Tier.WORKING]
    clock.forward(timedelta(days=400).total_seconds())
