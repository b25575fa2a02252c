"""Rules surface when the query names what triggers them; floors and gaps on a real engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from engrams import MemoryEngine
from engrams.core import Kind, Record, Scope, Status
from engrams.ports import EmbedderCard, NewRecord, RecordChange, WriteBatch
from engrams.read.triggers import match_trigger
from engrams.testing import HashEmbedder, SettableClock, temp_engine
from engrams.text.terms import terms, tokens

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def rule(
    engine: MemoryEngine, text: str, *triggers: str, kind: Kind = Kind.NEGATIVE, **fields: object
) -> str:
    """Store a rule with these triggers; its id."""
    name = f"rule{len(text):022d}"
    record = Record(name, OWNER, kind, text, START, triggers=triggers, **fields)  # type: ignore[arg-type]
    engine.store.commit(WriteBatch("test", "rule", START, puts=(NewRecord(record),)))
    return name


@pytest.mark.parametrize(
    ("trigger", "query", "count"),
    [
        ("deploy", "We are deploying on Friday", 1),
        ("force push", "may I force-push this?", 2),
        ("force push", "push it with force", 0),
        ("it is", "what it is like", 2),
        ("over the", "rover there", 0),
        ("素食", "推荐素食餐厅", 3),
        ("Übergabe", "vor der UBERGABE", 1),
        ("", "anything", 0),
        ("   ", "anything", 0),
        ("deploy", "", 0),
        ("🚀", "launch now", 0),
    ],
)
def test_a_trigger_occurs_as_words_in_a_row(trigger: str, query: str, count: int) -> None:
    """Whatever their endings, accents and script; never as part of another word."""
    assert match_trigger(trigger, terms(query), tokens(query)) == count


@pytest.mark.covers("S3.35")
def test_a_negative_memory_surfaces_on_its_trigger_whatever_its_likeness() -> None:
    """It leads every search that names the trigger, above floors and limits, and no other search."""
    with temp_engine(jobs__workers=0, read__min_score=0.9, clock=SettableClock(START)) as engine:
        for number in range(12):
            engine.add(f"The deploy script number {number} lives in the tools folder", scope=ANN)
        name = rule(engine, "Never touch Karl's terrarium", "deploy")
        result = engine.search("Which deploy script is the right one?", scope=ANN, limit=3)
        assert result.hits[0].record.id == name
        assert result.hits[0].parts["trigger"] == 1
        assert not result.abstain
        assert len(engine.search("deploy", scope=ANN, limit=1).hits) == 1
        assert name in [
            hit.record.id for hit in engine.context("deploy today", scope=ANN).hits
        ] or ("terrarium" in engine.context("deploy today", scope=ANN).text)
        assert name not in [
            hit.record.id for hit in engine.search("Where is the tools folder?", scope=ANN).hits
        ]


@pytest.mark.covers("S3.36")
def test_a_procedure_surfaces_on_its_trigger_with_its_steps() -> None:
    """Name, trigger, steps, prerequisites and warnings stay, and the trigger calls it up."""
    extra = {"prerequisites": ["a backup"], "warnings": ["takes an hour"]}
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        name = rule(
            engine,
            "How to move house",
            "database migration",
            kind=Kind.PROCEDURE,
            predicate="move",
            steps=("stop", "copy", "start"),
            meta=extra,
        )
        hit = engine.search("Start the database migrations", scope=ANN).hits[0]
        assert (hit.record.id, hit.record.steps, dict(hit.record.meta)) == (
            name,
            ("stop", "copy", "start"),
            extra,
        )


def test_only_rules_that_hold_surface() -> None:
    """Neither a forgotten rule, nor another owner's, nor one outside what was asked for;
    and none where that is off.
    """
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        name = rule(engine, "Never touch Karl's terrarium", "deploy")
        assert engine.search("deploy", scope=("user", "bob")).hits == ()
        assert engine.search("deploy", scope=ANN, kinds=[Kind.FACT]).hits == ()
        engine.forget(name, scope=ANN)
        assert engine.search("deploy", scope=ANN).hits == ()
        assert engine.get(name, scope=ANN).status is Status.FORGOTTEN
    with temp_engine(jobs__workers=0, read__triggers=0, clock=SettableClock(START)) as engine:
        rule(engine, "Never touch Karl's terrarium", "deploy")
        assert not [
            hit for hit in engine.search("deploy", scope=ANN).hits if "trigger" in hit.parts
        ]


def test_the_most_telling_triggers_come_first_and_not_too_many() -> None:
    """Longer triggers say more; no more rules surface than the setting allows."""
    with temp_engine(jobs__workers=0, read__triggers=2, clock=SettableClock(START)) as engine:
        rule(engine, "a", "deploy")
        rule(engine, "bb", "deploy production")
        rule(engine, "ccc", "deploy production cluster")
        hits = engine.search("deploy production cluster", scope=ANN).hits
        assert [hit.record.text for hit in hits if "trigger" in hit.parts] == ["ccc", "bb"]


@pytest.mark.covers("S3.37")
def test_a_session_scoped_memory_is_gone_from_the_next_session() -> None:
    """What was written into one session's scope is read there, and not in another one of the same
    person.
    """
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        engine.add("For now call me captain", scope=(*ANN, "session", "one"))
        assert engine.search("call me captain", scope=(*ANN, "session", "one")).hits
        assert engine.search("call me captain", scope=(*ANN, "session", "two")).hits == ()


@pytest.mark.covers("S3.37")
def test_a_seasonal_memory_counts_only_in_its_season() -> None:
    """Tagged for a season, it is in no search, no profile and no trigger until that season is set."""
    for seasons, there in (((), False), (("winter",), False), (("winter", "release-week"), True)):
        with temp_engine(
            jobs__workers=0, write__extract="off", read__seasons=seasons, clock=SettableClock(START)
        ) as engine:
            note = engine.add("The deploy room is booked all day", scope=ANN)
            engine.edit(note.id, scope=ANN, fields={"tags": ("season:release-week", "rooms")})
            rule(engine, "Ask before you deploy", "deploy", tags=("season:release-week",))
            engine.add("The deploy room has a window", scope=ANN)
            result = engine.search("deploy room", scope=ANN)
            texts = {hit.record.text for hit in result.hits}
            assert "The deploy room has a window" in texts
            assert ("The deploy room is booked all day" in texts) is there
            assert ("Ask before you deploy" in texts) is there
            assert (
                "Ask before you deploy" in engine.context("anything", scope=ANN).prefix
            ) is there
            assert any("only in season" in row.dropped for row in result.trace.rows) is not there


@pytest.mark.covers("S0.44")
def test_what_is_below_the_dense_floor_is_never_found_and_says_so() -> None:
    """However new and important it is; the trace names the floor."""
    with temp_engine(
        preset="cache", jobs__workers=0, clock=SettableClock(START), embedder=HashEmbedder()
    ) as engine:
        near = engine.add("spare key under the blue pot", scope=ANN)
        engine.add("Felix hates thunder", scope=ANN)
        result = engine.explain("spare key under the pot", scope=ANN)
        assert [hit.record.id for hit in result.hits] == [near.id]
        reasons = {row.text: row.dropped for row in result.trace.rows}
        assert "floor" in reasons["Felix hates thunder"]
        assert reasons["spare key under the blue pot"] == ""


@pytest.mark.covers("S3.13")
def test_hits_behind_a_gap_are_dropped_with_the_reason() -> None:
    """What is close to the best stays, and at least the best."""
    with temp_engine(
        read__cut_ratio=0.9, jobs__workers=0, clock=SettableClock(START), embedder=HashEmbedder()
    ) as engine:
        engine.add("spare key under the blue pot", scope=ANN)
        engine.add("A key is a thing of metal that opens and closes doors", scope=ANN)
        result = engine.explain("spare key under the pot", scope=ANN)
        assert [hit.record.text for hit in result.hits] == ["spare key under the blue pot"]
        assert [row.dropped for row in result.trace.rows] == ["", "behind a gap in the scores"]


@pytest.mark.covers("S3.10")
def test_the_graph_finds_what_words_or_meaning_vouch_for() -> None:
    """Below the floor of likeness, a memory without a word of the query is not found."""
    with temp_engine(
        preset="graph", jobs__workers=0, clock=SettableClock(START), embedder=HashEmbedder()
    ) as engine:
        engine.add("spare key under the blue pot", scope=ANN)
        engine.add("Felix hates thunder", scope=ANN)
        result = engine.explain("spare key under the pot", scope=ANN)
        assert [hit.record.text for hit in result.hits] == ["spare key under the blue pot"]
        assert "floor" in result.trace.rows[1].dropped


class _Same:
    """An embedder to which everything is alike."""

    card = EmbedderCard("same", 4, inline=True)

    def embed(self, texts: Sequence[str], purpose: str = "document") -> np.ndarray:
        return np.full((len(texts), 4), 0.5, np.float32)


@pytest.mark.covers("S3.11")
def test_a_rare_word_wins_without_help_from_the_embedder() -> None:
    """Where all is equally near in meaning the one text with the word is first, by ranks with 60;
    what was superseded is not there.
    """
    with temp_engine(
        preset="graph",
        jobs__workers=0,
        write__extract="off",
        clock=SettableClock(START),
        embedder=_Same(),
    ) as engine:
        assert (engine.settings.read.fusion, engine.settings.read.rrf_k) == ("rrf", 60)
        assert (
            engine.settings.read.limit * engine.settings.read.oversample
            + engine.settings.read.extra_candidates
            >= 45
        )
        for number in range(30):
            engine.add(f"Notes on the garden, part {number}", scope=ANN)
        rare = engine.add("The serial number of the pump is QX7731", scope=ANN)
        forgotten = engine.add("The serial number was QX7731, they said", scope=ANN)
        change = RecordChange(
            OWNER, forgotten.id, {"status": Status.SUPERSEDED, "superseded_by": rare.id}, "replace"
        )
        engine.store.commit(WriteBatch("test", "replace", engine.now(), changes=(change,)))
        result = engine.explain("QX7731", scope=ANN)
        assert result.hits[0].record.id == rare.id
        assert forgotten.id not in {row.id for row in result.trace.rows}
