"""The stable part of a context: its sections, its order, and whose tokens are whose."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams import MemoryEngine
from engrams.core import LAYER_OF, Kind, Record, Scope, Status, Turn
from engrams.ports import NewRecord, WriteBatch
from engrams.read.excerpts import cut_excerpt
from engrams.read.render import profile_frame
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def fact(id: str, text: str, kind: Kind = Kind.FACT, **fields: object) -> Record:
    stated = {"subject": "user", "category": "identity"} | fields
    return Record(id, OWNER, kind, text, START, layer=LAYER_OF[kind], **stated)  # type: ignore[arg-type]


def put(engine: MemoryEngine, *records: Record) -> None:
    engine.store.commit(
        WriteBatch("test", "add", START, puts=tuple(NewRecord(record) for record in records))
    )


@pytest.mark.covers("S3.22")
def test_the_sections_of_a_block() -> None:
    """Corrections, Facts, Preferences, Entities, then the rest by name;
    numbered; the same text once; nothing said, no block.
    """
    records = [
        fact("1", "Always bow", Kind.RULE),
        fact("2", "Tea first", Kind.PROCEDURE),
        fact("3", "Kestrel is a firm", category="entity"),
        fact("4", "Likes tea", Kind.PREFERENCE),
        fact("5", "Lives in Oslo"),
        fact("6", "Lives in Oslo"),
        fact("7", "Has a cat"),
        fact("8", "Not Bergen, Oslo", Kind.CORRECTION),
    ]
    block = profile_frame(records)
    assert block.splitlines()[1] == "# Memory"
    heads = [line.removeprefix("## ") for line in block.splitlines() if line.startswith("## ")]
    assert heads == ["Corrections", "Facts", "Preferences", "Entities", "Procedures", "Rules"]
    assert block.count("Lives in Oslo") == 1
    assert "1. Lives in Oslo (said 1 March 2026)\n2. Has a cat (said 1 March 2026)" in block
    assert profile_frame([]) == ""


@pytest.mark.covers("S3.22")
def test_what_is_inactive_is_left_out() -> None:
    """Superseded, archived and forgotten facts are in no block, nor those that are only held."""
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        put(engine, fact("kept", "Lives in Oslo"))
        for status in (Status.CANDIDATE, Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN):
            put(engine, fact(status, f"Lives in {status}", status=status))
        prefix = engine.context("Where?", scope=ANN).prefix
        assert "1. Lives in Oslo" in prefix
        assert "2." not in prefix


def test_the_profile_holds_what_bears_on_most_requests() -> None:
    """Name, home and a child's allergy stand before a sum; a car and a taste come when they help."""
    said = [
        "I'm Maya and I live in Lisbon.",
        "My daughter Nora is allergic to hazelnuts.",
        "I drive a Skoda.",
        "I love ramen with soft eggs.",
        "I prefer metric units.",
    ]
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        for text in said:
            engine.observe([Turn(text)], scope=ANN)
        engine.drain(60)
        profile = engine.context("What is 7 times 13?", scope=ANN).text
        assert all(word in profile for word in ("Maya", "Lisbon", "hazelnuts", "metric"))
        assert "Skoda" not in profile
        assert "ramen" not in profile
        assert "I drive a Skoda" in engine.context("Which car do I drive?", scope=ANN).text


@pytest.mark.covers("S1.59")
def test_a_correction_shows_what_to_avoid() -> None:
    """Beside what is right stands what was wrong, escaped like everything."""
    block = profile_frame(
        [
            fact("1", "Use tabs", Kind.CORRECTION, meta={"avoid": "four <b>spaces</b>"}),
            fact("2", "Has a cat"),
        ]
    )
    assert "1. Use tabs (avoid: four &lt;b&gt;spaces&lt;/b&gt;)" in block
    assert block.count("avoid") == 1


@pytest.mark.covers("S1.58")
def test_facts_come_by_confidence_and_stop_at_the_first_that_does_not_fit() -> None:
    """In the engine preset nothing less believed slips in behind one that was too long;
    by default it does.
    """
    long = "a word " * 900
    facts = [
        fact("a", "Fact ninety", confidence=0.9),
        fact("b", long, confidence=0.8),
        fact("c", "Fact seventy", confidence=0.7),
    ]
    order = [
        fact("d", "Fact eighty", confidence=0.8),
        fact("e", "Fact sixty", confidence=0.6),
        fact("f", "Fact hundred", confidence=1.0),
    ]
    with temp_engine(preset="engine", jobs__workers=0, clock=SettableClock(START)) as engine:
        put(engine, *order)
        lines = [
            line
            for line in engine.context("?", scope=ANN).prefix.splitlines()
            if "Fact" in line and line[0].isdigit()
        ]
        assert [line.removesuffix(" (said 1 March 2026)") for line in lines] == [
            "1. Fact hundred",
            "2. Fact eighty",
            "3. Fact sixty",
        ]
    for preset, shown in (("engine", False), ("default", True)):
        with temp_engine(preset=preset, jobs__workers=0, clock=SettableClock(START)) as engine:
            put(engine, *facts)
            prefix = engine.context("?", scope=ANN).prefix
            assert "Fact ninety" in prefix
            assert ("Fact seventy" in prefix) is shown


@pytest.mark.covers("S1.58")
def test_corrections_have_five_hundred_tokens_of_their_own() -> None:
    """However sure the facts are, corrections are there;
    and however many corrections, the facts have the rest.
    """
    with temp_engine(preset="engine", jobs__workers=0, clock=SettableClock(START)) as engine:
        corrections = [
            fact(
                f"c{n:03}",
                f"Correction number {n}: it is not so, it is otherwise",
                Kind.CORRECTION,
                confidence=0.1,
            )
            for n in range(90)
        ]
        facts = [
            fact(f"f{n:03}", f"Fact number {n}: something that is so beyond doubt", confidence=1.0)
            for n in range(200)
        ]
        put(engine, *corrections, *facts)
        context = engine.context("", scope=ANN, tokens=2000)
        head, _, rest = context.prefix.partition("## Facts")
        assert head.count("Correction number") > 10
        assert engine.counter.count(head) <= 500
        assert rest.count("Fact number") > 20
        assert context.tokens <= 2000
        small = engine.context("?", scope=ANN, tokens=300)
        assert "Correction number" in small.prefix
        assert small.tokens <= 300


@pytest.mark.covers("S1.12")
def test_hits_are_scored_best_first_and_shown_in_five_hundred_characters() -> None:
    """At most ``limit``; of a long text the part that is about the question."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        for n in range(5):
            engine.add(
                f"Note {n}. "
                + "Nothing of note here. " * 200
                + "The boiler code is 4711. "
                + "More of nothing. " * 200,
                scope=ANN,
            )
        engine.add("A boiler", scope=ANN)
        hits = engine.search("What is the boiler code?", scope=ANN, limit=4).hits
        assert len(hits) == 4
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(0 < len(hit.snippet) <= 500 for hit in hits)
        assert all("boiler" in hit.snippet for hit in hits)
        assert len(engine.search("boiler", scope=ANN, limit=1).hits) == 1


@pytest.mark.parametrize(
    "text", ["x" * 5000, "İ" * 5000, "ß" * 501, "字" * 3000, "😀" * 501, "a\n" * 900, "short", ""]
)
def test_an_excerpt_has_a_size_in_any_script(text: str) -> None:
    """Also where lower case is longer than the text itself, and where no word is found."""
    for words in ([], ["ss"], ["字"], ["nothing"], [""]):
        cut = cut_excerpt(text, words)
        assert len(cut) <= 500
        assert cut == text or "…" in cut


def test_a_profile_is_worked_out_again_when_what_it_holds_has_changed() -> None:
    """The same bytes while nothing changes;
    an edit, a forgetting, a new fact and a purge show at once.
    """
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        scope = ("user", "ada")
        tea = engine.add("Ada likes tea", scope=scope, kind=Kind.FACT)
        engine.add("Ada keeps bees", scope=scope, kind=Kind.FACT)
        first = engine.context("What does Ada like?", scope=scope).prefix
        assert engine.context("What does Ada keep?", scope=scope).prefix == first
        assert "likes tea" in first
        assert "keeps bees" in first
        engine.edit(tea.id, scope=scope, text="Ada likes cocoa")
        edited = engine.context("What does Ada like?", scope=scope).prefix
        assert "cocoa" in edited
        assert "tea" not in edited
        engine.forget(tea.id, scope=scope)
        assert "cocoa" not in engine.context("What does Ada like?", scope=scope).prefix
        rowing = engine.add("Ada rows", scope=scope, kind=Kind.FACT)
        assert "Ada rows" in engine.context("What does Ada like?", scope=scope).prefix
        engine.purge(rowing.id, scope=scope)
        assert "Ada rows" not in engine.context("What does Ada like?", scope=scope).prefix
