"""What is learned from use: counts, links, confidence, and questions without an answer."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from engrams import MemoryEngine
from engrams.core import Edge, EdgeType, Kind, Record, Scope, Status
from engrams.errors import ClosedError, NotFoundError
from engrams.ports import CommitResult, RecordQuery, RerankRequest, WriteBatch
from engrams.read.request import visible_scopes
from engrams.testing import HashEmbedder, SettableClock, temp_engine
from engrams.upkeep.usage import usage_tracker
from engrams.upkeep.usage.usage_learning import apply_event, make_pairs

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
KEY = "the spare key is under the blue pot"
CAT = "Felix the cat hates thunder"


def links(engine: MemoryEngine, type: EdgeType, *ids: str) -> tuple[Edge, ...]:
    """Links of that type at these memories."""
    return engine.store.edges(OWNER, ids, (type,))


@pytest.mark.covers("S0.46")
def test_only_what_was_selected_counts_as_used() -> None:
    """Access count and time move for the hits of a search, once each, with no new version and no
    history.
    """
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        key = engine.add(KEY, scope=ANN)
        cat = engine.add(CAT, scope=ANN)
        before = engine.get(key.id, scope=ANN)
        clock.forward(hours=1)
        assert [hit.record.id for hit in engine.search("spare key", scope=ANN, limit=1).hits] == [
            key.id
        ]
        assert engine.get(key.id, scope=ANN).access_count == 0
        engine.search("spare key", scope=ANN, limit=1)
        engine.drain()
        after = engine.get(key.id, scope=ANN)
        assert (after.access_count, after.last_accessed, after.version) == (
            2,
            START + timedelta(hours=1),
            before.version,
        )
        assert len(engine.history(key.id, scope=ANN)) == len(engine.history(cat.id, scope=ANN))
        assert engine.get(cat.id, scope=ANN).access_count == 0


@pytest.mark.covers("S0.48")
def test_explaining_changes_nothing() -> None:
    """Neither does a read of the past, nor any read where counting is off."""
    with temp_engine(
        jobs__workers=0, clock=SettableClock(START), usage__gaps=True, write__extract="off"
    ) as engine:
        key = engine.add(KEY, scope=ANN)
        engine.explain("spare key", scope=ANN)
        engine.explain("What do Mongolian yaks cost?", scope=ANN)
        engine.search("spare key", scope=ANN, as_of=START)
        engine.drain()
        assert engine.get(key.id, scope=ANN).access_count == 0
        assert engine.list(scope=ANN, statuses=tuple(Status)).records == (
            engine.get(key.id, scope=ANN),
        )
    with temp_engine(jobs__workers=0, usage__enabled=False) as engine:
        key = engine.add(KEY, scope=ANN)
        engine.search("spare key", scope=ANN)
        engine.drain()
        assert engine.get(key.id, scope=ANN).access_count == 0


def test_a_context_uses_what_it_shows() -> None:
    """What a prompt got counts, too."""
    with temp_engine(jobs__workers=0) as engine:
        key = engine.add(KEY, scope=ANN)
        assert engine.context("Where is the spare key?", scope=ANN).hits
        engine.drain()
        assert engine.get(key.id, scope=ANN).access_count == 1


@pytest.mark.covers("S0.31")
def test_found_together_is_linked_once_a_pair() -> None:
    """One row in the order of ids; each search adds one to its weight."""
    with temp_engine(
        jobs__workers=0, usage__co_occurs_cosine=0.4, embedder=HashEmbedder()
    ) as engine:
        pot = engine.add("spare key blue pot", scope=ANN)
        two = engine.add("spare key red pot", scope=ANN)
        for _ in range(2):
            engine.search("spare key pot", scope=ANN)
        engine.drain()
        assert [
            (edge.source, edge.target, edge.weight)
            for edge in links(engine, EdgeType.CO_OCCURS, pot.id, two.id)
        ] == [(*sorted((pot.id, two.id)), 2.0)]
        engine.search("spare key pot", scope=ANN)
        engine.drain()
        assert links(engine, EdgeType.CO_OCCURS, pot.id)[0].weight == 3
        engine.purge(pot.id, scope=ANN)
        assert links(engine, EdgeType.CO_OCCURS, two.id) == ()


@pytest.mark.covers("S0.32")
def test_pairs_come_from_all_that_is_near() -> None:
    """0.6 forms one and 0.59 never does, selected or not, and nothing pairs with itself."""
    assert make_pairs({"c": 0.6, "a": 0.9, "b": 0.59}, 0.6) == (("a", "c"),)
    assert make_pairs({"a": 0.9}, 0.6) == ()
    assert len(make_pairs({f"{number:02d}": 1.0 for number in range(40)}, 0.6)) == 66
    with temp_engine(
        jobs__workers=0, usage__co_occurs_cosine=0.4, embedder=HashEmbedder()
    ) as engine:
        pot = engine.add("spare key blue pot", scope=ANN)
        two = engine.add("spare key red pot", scope=ANN)
        far = engine.add("Felix hates thunder", scope=ANN)
        assert len(engine.search("spare key pot", scope=ANN, limit=1).hits) == 1
        engine.drain()
        assert len(links(engine, EdgeType.CO_OCCURS, pot.id, two.id)) == 1
        assert links(engine, EdgeType.CO_OCCURS, far.id) == ()


@pytest.mark.covers("S3.28", "S3.29")
def test_events_move_confidence_and_strength() -> None:
    """Helped:

    + 0.05 and stronger; did not: - 0.1; a judge's yes: + 0.05, its no: - 0.02, which is no access;
      within 0..1.
    """
    record = Record(
        id="a",
        scope=OWNER,
        kind=Kind.FACT,
        text="x",
        recorded_at=START,
        confidence=0.5,
        strength=2,
        access_count=3,
    )
    assert apply_event(record, "used", START) == {
        "confidence": 0.55,
        "strength": 3,
        "access_count": 4,
        "last_accessed": START,
    }
    assert apply_event(record, "unhelpful", START) == {
        "confidence": 0.4,
        "access_count": 4,
        "last_accessed": START,
    }
    assert apply_event(record, "verified", START) == {
        "confidence": 0.55,
        "access_count": 4,
        "last_accessed": START,
    }
    assert apply_event(record, "rejected", START) == {"confidence": 0.48}
    sure = Record(id="a", scope=OWNER, kind=Kind.FACT, text="x", recorded_at=START)
    unsure = Record(
        id="a", scope=OWNER, kind=Kind.FACT, text="x", recorded_at=START, confidence=0.05
    )
    assert apply_event(sure, "used", START)["confidence"] == 1
    assert apply_event(unsure, "unhelpful", START)["confidence"] == 0


@pytest.mark.covers("S3.28", "S3.30")
def test_what_helped_together_is_related() -> None:
    """A new link weighs 0.6, and grows by a tenth, to 1; what did not help is not linked."""
    with temp_engine(jobs__workers=0, usage__related_weight=0.6) as engine:
        pot = engine.add(KEY, scope=ANN)
        two = engine.add(CAT, scope=ANN)
        engine.used([pot.id, two.id], scope=ANN, helpful=False)
        assert engine.get(pot.id, scope=ANN).confidence == pytest.approx(0.9)
        assert links(engine, EdgeType.RELATES_TO, pot.id) == ()
        for wanted in (0.6, 0.7, 0.8, 0.9, 1.0, 1.0):
            engine.used([pot.id, two.id], scope=ANN)
            (edge,) = links(engine, EdgeType.RELATES_TO, pot.id)
            assert edge.weight == pytest.approx(wanted)
        assert engine.get(two.id, scope=ANN).strength == 7
        with pytest.raises(NotFoundError):
            engine.used("nothing-there", scope=ANN)


class Judge:
    """Lets through what speaks of a pot."""

    name = "pot"

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """1 for a pot, else 0."""
        return tuple(float("pot" in text) for text in request.texts)


@pytest.mark.covers("S3.29", "S3.30")
def test_a_judge_moves_confidence_and_relates_what_it_lets_pass() -> None:
    """Verified ones are linked and surer, refused ones a little less sure."""
    with temp_engine(
        jobs__workers=0, usage__related_weight=0.6, rerank__threshold=0.5, embedder=HashEmbedder()
    ) as engine:
        object.__setattr__(engine._components.read_deps, "reranker", Judge())
        names = [
            engine.add(text, scope=ANN).id
            for text in ("spare key blue pot", "spare key red pot", "spare key box")
        ]
        for name in names:
            engine.edit(name, scope=ANN, fields={"confidence": 0.5})
        engine.search("spare key", scope=ANN)
        engine.drain()
        assert [engine.get(name, scope=ANN).confidence for name in names] == pytest.approx(
            [0.55, 0.55, 0.48]
        )
        (edge,) = links(engine, EdgeType.RELATES_TO, *names)
        assert ({edge.source, edge.target}, edge.weight) == ({names[0], names[1]}, 0.6)


@pytest.mark.covers("S3.31")
def test_a_question_without_an_answer_is_kept_for_extraction() -> None:
    """Once, without its secrets, and no search ever finds it;
    where there was nothing at all, or the question names nothing, there is no gap.
    """
    with temp_engine(jobs__workers=0, clock=SettableClock(START), usage__gaps=True) as engine:
        engine.search("What do Mongolian yaks cost?", scope=ANN)
        engine.drain()
        assert engine.list(scope=ANN, statuses=(Status.CANDIDATE,)).records == ()
        engine.add(KEY, scope=ANN)
        for _ in range(2):
            assert engine.search("What do Mongolian yaks cost?", scope=ANN).abstain
        assert engine.search("And what about it?", scope=ANN).abstain
        engine.search("zzz with sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", scope=ANN)
        engine.drain()
        page = engine.store.find(
            RecordQuery(visible_scopes(OWNER), (Kind.GAP,), (Status.CANDIDATE,))
        )
        assert {record.text for record in page.records} >= {"What do Mongolian yaks cost?"}
        assert len([record for record in page.records if "yak" in record.text]) == 1
        assert not [record for record in page.records if "what about" in record.text]
        assert "abcdefghij" not in "".join(record.text for record in page.records)
        assert "Mongolian" not in "".join(
            hit.record.text for hit in engine.search("Mongolian yak", scope=ANN).hits
        )


@pytest.mark.covers("S3.34")
def test_counting_goes_on_in_the_background_and_ends_with_the_engine() -> None:
    """With workers it needs no call;
    without, closing writes what waits; and a closed engine still says so.
    """
    with temp_engine(jobs__workers=1) as engine:
        key = engine.add(KEY, scope=ANN)
        engine.search("spare key", scope=ANN)
        engine._components.usage.close()
        assert engine.get(key.id, scope=ANN).access_count == 1
    with pytest.raises(ClosedError):
        engine.search("spare key", scope=ANN)


def test_searches_that_follow_each_other_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a write it rests, so that what processes keep of their reads holds;
    many uses, or the engine's end, end the pause.
    """
    monkeypatch.setattr(usage_tracker, "_GATHER_SECONDS", 0.0)
    monkeypatch.setattr(usage_tracker, "_REST_SECONDS", 60.0)
    monkeypatch.setattr(usage_tracker, "_HURRY_AT", 3)
    with temp_engine(jobs__workers=1) as engine:
        key = engine.add(KEY, scope=ANN)
        is_written = threading.Event()
        commit = engine.store.commit

        def watch(batch: WriteBatch) -> CommitResult:
            result = commit(batch)
            if batch.uses:
                is_written.set()
            return result

        monkeypatch.setattr(engine._components.usage._store, "commit", watch)
        for searches, counted in ((1, 1), (3, 4)):
            for _ in range(searches):
                engine.search("spare key", scope=ANN)
            assert is_written.wait(30)
            is_written.clear()
            assert engine.get(key.id, scope=ANN).access_count == counted
        engine.search("spare key", scope=ANN)
        assert not is_written.wait(0.3)
        begun = time.monotonic()
    assert time.monotonic() - begun < 30


def test_a_memory_purged_in_between_does_not_matter() -> None:
    """Counting what is gone is counting nothing, and the rest is counted."""
    with temp_engine(jobs__workers=0) as engine:
        key = engine.add(KEY, scope=ANN)
        bens_key = engine.add("the other spare key is with Ben", scope=ANN)
        assert len(engine.search("spare key", scope=ANN).hits) == 2
        engine.purge(key.id, scope=ANN)
        engine.drain()
        assert engine.get(bens_key.id, scope=ANN).access_count == 1
