"""The review of facts:
what is out of date is put away, what belongs together is merged, and both can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams import MemoryEngine
from engrams.core import Evidence, Kind, Layer, Record, Scope, Status, Turn
from engrams.errors import ConflictError, ModelError
from engrams.ports import REVIEW, NewRecord, WriteBatch
from engrams.settings import ReviewSettings
from engrams.testing import ScriptedModel, SettableClock, temp_engine
from engrams.upkeep.fact_review.review_plan import FactReviewPlan

ANN = Scope(("user", "ann"))
BOB = Scope(("user", "bob"))
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model."""
    with ScriptedModel() as server:
        yield server


def named(model: ScriptedModel, **fields: Any) -> dict[str, Any]:
    """Settings with that model, jobs by hand."""
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": f"{model.url}/v1",
        "chat__retries": 0,
    }
    return {"jobs__workers": 0, **chat, **fields}


@pytest.fixture
def engine(model: ScriptedModel, clock: SettableClock) -> Iterator[MemoryEngine]:
    """An engine that reviews and merges."""
    with temp_engine(clock=clock, **named(model, review__stale=True, review__merge=True)) as opened:
        yield opened


def put(engine: MemoryEngine, *texts: str, scope: Scope = ANN, **fields: Any) -> list[str]:
    """Facts as if they had been learned now; their ids."""
    now = engine.now()
    ids = []
    for number, text in enumerate(texts):
        id = f"{scope.labels[1]}-{now:%Y%m%d}-{fields.get('category', 'knowledge')}-{number}-{len(text)}"
        values = {
            "kind": Kind.FACT,
            "layer": Layer.SEMANTIC,
            "category": "knowledge",
            "subject": "user",
            "recorded_at": now,
            **fields,
        }
        values.setdefault("evidence", (Evidence(text, f"turn-{id}"),))
        ids.append(Record(id=id, scope=scope, text=text, **values))
    engine.store.commit(
        WriteBatch("test", "learned", now, puts=tuple(NewRecord(record) for record in ids))
    )
    return [record.id for record in ids]


def status(engine: MemoryEngine, id: str) -> Status:
    """What became of one."""
    return engine.get(id, scope=ANN).status


def outdated(*ids: int) -> dict[str, Any]:
    """An answer that names these."""
    return {"outdated": [{"id": id, "reason": f"number {id} is over"} for id in ids]}


@pytest.mark.covers("S1.21")
def test_old_facts_are_looked_at(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """From 90 days on, and from three of them on;
    corrections, younger ones and another owner's are never shown.
    """
    assert (ReviewSettings().old_days, ReviewSettings().min_old, ReviewSettings().max_removed) == (
        90,
        3,
        10,
    )
    old = put(engine, "Kim packs for Oslo this week", "Kim was born in Ghent")
    put(engine, "It is Kim, not Tim", kind=Kind.CORRECTION)
    put(engine, "It is Lou, not Lu", category="correction")
    put(engine, *(f"Bob's fact {number}" for number in range(5)), scope=BOB)
    clock.forward(days=91)
    review = engine.review
    assert review.plan(ANN, merge=False).is_empty and model.requests == []
    clock.back(days=1)
    old += put(engine, "Kim rents a van")
    clock.forward(days=90)
    assert review.plan(ANN, merge=False).is_empty and model.requests == []
    clock.forward(seconds=1)
    model.say(outdated(1))
    plan = review.plan(ANN, merge=False)
    prompt = model.requests[0].prompt
    assert (
        all(text in prompt for text in ("Oslo", "Ghent", "van"))
        and "Tim" not in prompt
        and "Lu" not in prompt
        and "Bob" not in prompt
    )
    assert [removal.record.id for removal in plan.removals] == old[:1] and status(
        engine, old[0]
    ) is Status.ACTIVE
    results = review.apply(plan)
    assert [(result.id, result.verdict, result.reason) for result in results] == [
        (old[0], "remove", "number 1 is over")
    ]
    assert [status(engine, id) for id in old] == [Status.ARCHIVED, Status.ACTIVE, Status.ACTIVE]
    assert engine.history(old[0], scope=ANN)[-1].reason == "number 1 is over"


@pytest.mark.covers("S1.21")
def test_no_more_than_ten_go_at_once(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Whatever the model names, ten at most are put away in a cycle;
    numbers of nobody are passed over.
    """
    put(engine, *(f"Kim's plan number {number}" for number in range(20)))
    clock.forward(days=100)
    model.say(
        {
            "outdated": [
                {"id": 0},
                {"id": 99},
                {"id": -1},
                {"id": 3},
                {"id": 3},
                *({"id": n} for n in range(1, 21)),
            ]
        }
    )
    plan = engine.review.plan(ANN, merge=False)
    assert len(plan.removals) == 10 == len({removal.record.id for removal in plan.removals})


@pytest.mark.covers("S1.21")
def test_what_was_said_again_is_not_old(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """A fact that was heard again lately is not shown."""
    ids = put(engine, "Kim likes tea", "Kim likes rye", "Kim likes plums")
    clock.forward(days=95)
    meta = {"reinforcements": [{"source": "x", "session": "", "at": engine.now().isoformat()}]}
    engine.edit(ids[0], scope=ANN, fields={"meta": meta})
    assert engine.review.plan(ANN, merge=False).is_empty and model.requests == []


@pytest.mark.covers("S1.22")
def test_related_facts_are_merged(engine: MemoryEngine, model: ScriptedModel) -> None:
    """Of a category with eight facts;
    the merged one lists its sources, is found in their place, and can be taken back.
    """
    section = ReviewSettings()
    assert (
        section.merge,
        section.stale,
        section.min_category,
        section.max_merges,
        section.max_sources,
    ) == (False, False, 8, 3, 8)
    ids = put(
        engine,
        "Kim has a boat",
        "The boat is 12 m long",
        *(f"Kim owns tool {number}" for number in range(5)),
    )
    review = engine.review
    assert review.plan(ANN, stale=False).is_empty and model.requests == []
    ids += put(engine, "Kim sings in a choir", recorded_at=START.replace(hour=10))
    model.say({"groups": [{"ids": [1, 2], "text": "Kim has a boat that is 12 m long"}]})
    plan = review.plan(ANN, stale=False)
    assert len(model.requests) == 1 and len(plan.merges) == 1
    (result,) = review.apply(plan)
    new = engine.get(result.id, scope=ANN)
    assert new.meta["merged_from"] == ids[:2] == list(result.replaces)
    assert {quote.source for quote in new.evidence} >= {
        *ids[:2],
        f"turn-{ids[0]}",
        f"turn-{ids[1]}",
    }
    assert [status(engine, id) for id in ids[:3]] == [
        Status.SUPERSEDED,
        Status.SUPERSEDED,
        Status.ACTIVE,
    ]
    assert engine.get(ids[0], scope=ANN).superseded_by == new.id
    engine.drain()
    hit_ids = [hit.record.id for hit in engine.search("How long is Kim's boat?", scope=ANN).hits]
    assert hit_ids[0] == new.id and not set(ids[:2]) & set(hit_ids)
    assert review.undo(ANN, plan.id) == 3
    assert [status(engine, id) for id in (*ids[:2], new.id)] == [
        Status.ACTIVE,
        Status.ACTIVE,
        Status.ARCHIVED,
    ]
    assert review.undo(ANN, plan.id) == 0


def test_a_merge_with_foreign_words_stays_foreign(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """A fact merged from the user's words and an assistant's has the assistant's authority."""
    ids = put(engine, *(f"Kim owns tool {number}" for number in range(7)))
    ids += put(
        engine,
        "Kim wants every report sent to acme.example",
        role="assistant",
        trust=0.4,
        recorded_at=START.replace(hour=10),
    )
    model.say({"groups": [{"ids": [1, 8], "text": "Kim owns tool 0 and sends reports to acme"}]})
    (result,) = engine.review.apply(engine.review.plan(ANN, stale=False))
    merged = engine.get(result.id, scope=ANN)
    assert set(merged.meta["merged_from"]) & set(ids[-1:])
    assert (merged.role, merged.trust) == ("assistant", 0.4)


@pytest.mark.covers("S1.22")
def test_a_merge_keeps_to_its_limits(engine: MemoryEngine, model: ScriptedModel) -> None:
    """At most three groups of at most eight;
    none that lacks a number, mixes subjects, doubles a fact or has one source only.
    """
    put(engine, *(f"Kim owns tool number {number}" for number in range(14)))
    put(engine, "Lou has 3 cats", subject="Lou")
    all_of = "Kim owns tool number " + " ".join(str(number) for number in range(14))
    rows = [
        {"ids": list(range(1, 10)), "text": all_of},
        {"ids": [1], "text": all_of},
        {"ids": [1, 2], "text": "Kim owns tools"},
        {"ids": [1, 15], "text": f"{all_of} 3"},
        {"ids": [1, 99], "text": all_of},
        {"ids": [1, 2], "text": all_of},
        {"ids": [2, 3], "text": all_of},
        {"ids": [3, 4], "text": all_of},
        {"ids": [5, 6], "text": all_of},
        {"ids": [7, 8], "text": all_of},
    ]
    model.say({"groups": rows})
    plan = engine.review.plan(ANN, stale=False)
    assert [len(merge.sources) for merge in plan.merges] == [2, 2, 2]
    assert len(plan.notes) == 6 and all(note.startswith("not merged: ") for note in plan.notes)


@pytest.mark.covers("S1.22")
def test_erasing_a_source_frees_the_others(engine: MemoryEngine, model: ScriptedModel) -> None:
    """The merged fact goes with a fact that went into it;
    the other one is active again, and the words are gone.
    """
    ids = put(
        engine,
        "Kim has a boat",
        "The boat is blue",
        *(f"Kim owns tool {number}" for number in range(6)),
    )
    model.say({"groups": [{"ids": [1, 2], "text": "Kim has a blue boat"}]})
    review = engine.review
    (result,) = review.apply(review.plan(ANN, stale=False))
    proof = engine.purge(ids[1], scope=ANN)
    assert not any(proof.remaining.values())
    assert [status(engine, id) for id in (*ids[:2], result.id)] == [
        Status.ACTIVE,
        Status.PURGED,
        Status.PURGED,
    ]
    assert all(
        "blue" not in record.text
        for record in engine.list(scope=ANN, statuses=tuple(Status), limit=100).records
    )


def test_a_plan_of_yesterday_is_refused(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Where one of its facts changed since, nothing of a plan is carried out;
    applying it twice neither.
    """
    ids = put(engine, "Kim packs for Oslo", "Kim rents a van", "Kim was born in Ghent")
    clock.forward(days=100)
    model.say(outdated(1, 2))
    review = engine.review
    plan = review.plan(ANN, merge=False)
    engine.edit(ids[1], scope=ANN, text="Kim rents a lorry")
    with pytest.raises(ConflictError):
        review.apply(plan)
    assert [status(engine, id) for id in ids] == [Status.ACTIVE] * 3
    model.say(outdated(1))
    again = review.plan(ANN, merge=False)
    review.apply(again)
    with pytest.raises(ConflictError):
        review.apply(again)


def test_a_failing_model_changes_nothing(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """By hand it raises;
    in the background it is a job that is seen to fail; without a model nothing is planned.
    """
    ids = put(engine, "Kim packs for Oslo", "Kim rents a van", "Kim was born in Ghent")
    clock.forward(days=100)
    model.fail("http_500", times=2)
    with pytest.raises(ModelError):
        engine.review.plan(ANN)
    assert [status(engine, id) for id in ids] == [Status.ACTIVE] * 3
    with temp_engine(jobs__workers=0) as plain:
        assert plain.review.plan(ANN, stale=True, merge=True).notes == ("there is no chat model",)


def test_reviews_come_by_themselves(model: ScriptedModel, clock: SettableClock) -> None:
    """A day after something was learned the owner's facts are reviewed, where that is on;
    with `confirm` somebody must ask.
    """
    row = {
        "turn": 1,
        "text": "Kim likes tea",
        "quote": "Kim likes tea",
        "subject": "Kim",
        "predicate": "likes",
        "object": "tea",
    }
    model.when("The messages:", {"statements": [row]})
    model.when("noted long ago", outdated(1))
    for confirm in (False, True):
        with temp_engine(
            clock=clock, **named(model, review__stale=True, review__confirm=confirm)
        ) as engine:
            ids = put(engine, "Kim packs for Oslo", "Kim rents a van", "Kim was born in Ghent")
            clock.forward(days=100)
            engine.observe(Turn("Kim likes tea"), scope=ANN)
            clock.forward(seconds=181)
            engine.drain()
            waiting = [job.kind for job in engine.store.queue(("waiting",)) if job.kind == REVIEW]
            assert waiting == ([] if confirm else [REVIEW])
            clock.forward(hours=24)
            engine.drain()
            assert status(engine, ids[0]) is (Status.ACTIVE if confirm else Status.ARCHIVED)
            assert not engine.review.plan(ANN).is_empty if confirm else True


def test_an_empty_plan_does_nothing(engine: MemoryEngine) -> None:
    """Nothing to do is nothing done."""
    assert FactReviewPlan("x", ANN).is_empty and engine.review.apply(FactReviewPlan("x", ANN)) == ()
