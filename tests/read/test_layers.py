"""What the layers preset reads:
quotas, age of episodes, the line of a statement, and the path that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engrams import MemoryEngine
from engrams.core import Evidence, Kind, Layer, Record, Scope, Turn
from engrams.errors import ModelError
from engrams.ports import EmbedderCard, NewRecord, WriteBatch
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def engine(clock: SettableClock) -> Iterator[MemoryEngine]:
    with temp_engine(
        preset="layers",
        sessions__recall=True,
        jobs__workers=0,
        clock=clock,
        embedder=HashEmbedder(64),
    ) as opened:
        yield opened


def put(
    engine: MemoryEngine,
    id: str,
    text: str,
    kind: Kind,
    age: timedelta = timedelta(),
    **fields: object,
) -> Record:
    record = Record(id, OWNER, kind, text, START - age, layer=Layer.EPISODIC, **fields)  # type: ignore[arg-type]
    engine.store.commit(WriteBatch("test", "add", START, puts=(NewRecord(record),)))
    return record


@pytest.mark.covers("S4.34")
def test_five_are_found_of_which_two_episodes_at_most(engine: MemoryEngine) -> None:
    """Without a limit five;
    with one of twenty all statements, and never more than two episodes, the best.
    """
    for n in range(6):
        put(engine, f"e{n}", f"The harbour walk number {n}", Kind.EPISODE)
    for n in range(9):
        put(engine, f"n{n}", f"A harbour note number {n}", Kind.NOTE)
    few = engine.search("harbour", scope=ANN).hits
    assert len(few) == 5
    result = engine.search("harbour", scope=ANN, limit=20)
    kinds = [hit.record.kind for hit in result.hits]
    assert (kinds.count(Kind.EPISODE), kinds.count(Kind.NOTE)) == (2, 9)
    reasons = [row.dropped for row in result.trace.rows if row.dropped]
    assert reasons.count("more than 2 episodes") == 4


@pytest.mark.covers("S4.34", "S4.35")
def test_episodes_of_more_than_thirty_days_are_no_candidates(engine: MemoryEngine) -> None:
    """Thirty days old is found, a moment more is not, however many of those there are:
    they take no place from others.
    """
    put(engine, "edge", "The harbour walk", Kind.EPISODE, 30 * DAY)
    for n in range(200):
        put(
            engine,
            f"old{n:03}",
            f"The harbour walk, and the harbour again {n}",
            Kind.EPISODE,
            30 * DAY + timedelta(seconds=1),
        )
    put(engine, "note", "Something about a harbour", Kind.NOTE, 300 * DAY)
    result = engine.search("harbour walk", scope=ANN, limit=3)
    assert {hit.record.id for hit in result.hits} == {"edge", "note"}
    assert engine.search("harbour", scope=ANN, kinds=(Kind.NOTE,)).hits[0].record.id == "note"


@pytest.mark.covers("S4.35")
def test_the_first_turn_catches_up_with_the_latest_episode_once(engine: MemoryEngine) -> None:
    """However old it is and whatever is asked;
    the second turn does not get it, another conversation does.
    """
    put(engine, "e1", "We planned the trip to Oslo", Kind.EPISODE, 400 * DAY)
    put(engine, "e2", "We packed for Oslo", Kind.EPISODE, 300 * DAY)
    first = engine.deliver("Hello there", scope=ANN, session="s1")
    assert "We packed for Oslo" in first.text
    assert "We planned" not in first.text
    assert "Oslo" not in engine.deliver("Hello there", scope=ANN, session="s1").text
    assert "We packed for Oslo" in engine.deliver("Hello", scope=ANN, session="s2").text
    assert "Oslo" not in engine.deliver("Hello", scope=("user", "bob"), session="s1").text
    with temp_engine(
        preset="layers",
        sessions__recall=True,
        jobs__workers=0,
        delivery__catch_up=False,
        clock=SettableClock(START),
    ) as plain:
        put(plain, "e1", "We packed for Oslo", Kind.EPISODE, 300 * DAY)
        assert "Oslo" not in plain.deliver("Hello there", scope=ANN, session="s1").text


@pytest.mark.covers("S4.36")
def test_a_statement_is_shown_as_its_triple_with_the_quote(engine: MemoryEngine) -> None:
    """ "[category] Subject PREDICATE object - 'quote'", escaped, made when the prompt is;

    the record keeps its parts.
    """
    evidence = (Evidence("my boss is <terrible>", "t1"),)
    triple = {
        "subject": "User",
        "predicate": "worries_about",
        "object": "work",
        "category": "relationship",
    }
    put(engine, "f1", "The user worries about work.", Kind.NOTE, evidence=evidence, **triple)
    text = engine.context("What about work?", scope=ANN).text
    assert "- [relationship] User WORRIES_ABOUT work - 'my boss is &lt;terrible&gt;'" in text
    assert engine.get("f1", scope=ANN).text == "The user worries about work."
    engine.observe(Turn("I work at Kestrel", session="s9"), scope=ANN)
    engine.drain()
    lines = [
        line
        for line in engine.context("Kestrel?", scope=ANN).tail.splitlines()
        if "WORKS_AT" in line
    ]
    assert lines
    assert all(line.startswith("- [") for line in lines)
    with temp_engine(jobs__workers=0) as plain:
        put(plain, "f1", "The user worries about work.", Kind.NOTE, evidence=evidence, **triple)
        assert "The user worries about work." in plain.context("What about work?", scope=ANN).text


class Broken:
    """An embedder that has vectors for what is stored, and fails as soon as somebody asks."""

    card = EmbedderCard("broken", 4, inline=True)

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def embed(self, texts: Sequence[str], purpose: str = "document") -> np.ndarray:
        if purpose == "query":
            raise self._problem
        return np.ones((len(texts), 4), np.float32) / 2


@pytest.mark.covers("S4.37", "S1.52")
@pytest.mark.parametrize(
    "problem", [ModelError("It is away."), RuntimeError("boom")], ids=["ours", "anybody's"]
)
def test_a_read_goes_on_by_words_where_the_embedder_fails(problem: Exception) -> None:
    """No exception: found by words, and the trace says why there is no meaning in it."""
    with temp_engine(
        jobs__workers=0, embedder=Broken(problem), preset="layers", sessions__recall=True
    ) as engine:
        key = engine.add("The spare key is under the blue pot", scope=ANN)
        result = engine.search("Where is the spare key?", scope=ANN)
        assert [hit.record.id for hit in result.hits] == [key.id]
        assert result.trace.path == "token_recall_after_embed_error"
        assert any(note.startswith("the embedder failed: ") for note in result.trace.notes)
        assert "spare key" in engine.context("Where is the spare key?", scope=ANN).text


@pytest.mark.covers("S4.37")
def test_the_path_of_a_read_is_told(engine: MemoryEngine) -> None:
    """Both sources fused by rank, words alone, or nothing there to search."""
    assert engine.search("anything", scope=ANN).trace.path == "skipped_empty_store"
    engine.add("The spare key is under the blue pot", scope=ANN)
    assert engine.search("spare key", scope=ANN).trace.path == "hybrid_rrf"
    assert engine.search("spare key", scope=("user", "bob")).trace.path == "skipped_empty_store"
    with temp_engine(jobs__workers=0, embed__provider="null") as plain:
        plain.add("The spare key is under the blue pot", scope=ANN)
        assert plain.search("spare key", scope=ANN).trace.path == "token_recall"
    with temp_engine(jobs__workers=0) as default:
        default.add("The spare key is under the blue pot", scope=ANN)
        assert default.search("spare key", scope=ANN).trace.path == "hybrid_weighted"
