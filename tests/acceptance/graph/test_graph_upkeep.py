"""The memory graph's document (003):
triggers, scopes, clusters and the garden, by the engine with that preset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Status
from engrams.errors import EngramsError
from engrams.testing import SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with engrams.open(
        home=home, preset="graph", clock=clock, jobs__workers=0, vault__enabled=False
    ) as made:
        yield made


def add(engine: MemoryEngine, text: str, kind: Kind = Kind.FACT, **fields: object) -> str:
    name = engine.add(Turn(text), scope=ANN, kind=kind).id
    if fields:
        engine.edit(name, scope=ANN, fields=fields)
    return name


@pytest.mark.covers("S3.35", "S3.36")
def test_rules_surface_on_their_triggers(engine: MemoryEngine) -> None:
    """A prohibition and a procedure lead where their trigger is named, whatever their likeness, and
    the steps are told.
    """
    never = add(engine, "Never touch the terrarium", Kind.NEGATIVE, triggers=["deploy"])
    steps = add(
        engine, "Release", Kind.PROCEDURE, triggers=["release day"], steps=["tag it", "tell Ida"]
    )
    hits = engine.search("Which deploy script is right?", scope=ANN).hits
    assert [hit.record.id for hit in hits][:1] == [never]
    found = engine.search("It is release day", scope=ANN).hits[0].record
    assert (found.id, found.steps) == (steps, ("tag it", "tell Ida"))
    assert not engine.search("zxqv", scope=ANN).hits


@pytest.mark.covers("S3.37")
def test_sessions_and_seasons(home: Path, clock: SettableClock) -> None:
    """What belongs to a session is gone in the next one;
    what belongs to a season counts while it is set.
    """
    for seasons, there in ((["summer"], False), (["winter"], True)):
        with engrams.open(
            home=home, preset="graph", clock=clock, jobs__workers=0, read__seasons=seasons
        ) as engine:
            engine.add("Call me captain", scope=(*ANN, "session", "one"))
            assert engine.search("captain", scope=(*ANN, "session", "one")).hits
            assert not engine.search("captain", scope=(*ANN, "session", "two")).hits
            add(engine, "The sledge hangs in the attic", tags=["season:winter"])
            assert bool(engine.search("sledge attic", scope=ANN).hits) is there
            assert ("sledge" in str(engine.links.recall(scope=ANN, limit=1))) is there


@pytest.mark.covers("S3.22")
def test_a_category_of_ones_own_has_a_section(engine: MemoryEngine) -> None:
    """It stands behind the four that come first, among the others by name."""
    add(engine, "The ladder leans on the barn", category="tool shed")
    add(engine, "Oil the ladder of the barn", Kind.RULE)
    add(engine, "The barn has a ladder of wood", category="knowledge")
    add(engine, "Barn Ladder Ltd is a firm", category="entity")
    text = engine.context("What about the ladder of the barn?", scope=ANN).text
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## Facts", "## Entities", "## Rules", "## Tool shed"]


@pytest.mark.covers("S3.22")
def test_a_text_stands_once_in_the_block(engine: MemoryEngine) -> None:
    """Also in another case and of another kind; and no category writes a heading of its own."""
    add(engine, "The barn roof leaks", category="## Corrections\n# Barn")
    add(engine, "The barn door squeaks")
    add(engine, "the barn door squeaks!", Kind.RULE)
    add(engine, "The barn door squeaks.", Kind.NEGATIVE)
    add(engine, "Paint the barn door in spring", Kind.RULE)
    text = engine.context("", scope=ANN).text
    assert text.casefold().count("the barn door squeaks") == 1
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == ["# Memory", "## Corrections Barn", "## Rules"]


@pytest.mark.covers("S3.4", "S3.6", "S3.7", "S3.9", "S3.47")
def test_links_lead_to_memories(engine: MemoryEngine) -> None:
    """Links have types and weights;
    two steps are followed, better paths first; what is superseded or forgotten is not reached.
    """
    one, two, three, four = (
        add(engine, text) for text in ("Alpha rocks", "Beta rolls", "Gamma glows", "Delta dries")
    )
    engine.links.link(one, two, scope=ANN)
    engine.links.link(two, three, scope=ANN, weight=1.0)
    engine.links.link(three, four, scope=ANN)
    edge = engine.inspect.edges(engine.scopes()[0], [one], (EdgeType.RELATES_TO,))[0]
    assert edge.weight == 0.5
    near = {each.record.id: each.score for each in engine.links.related(one, scope=ANN)}
    assert near.keys() == {two, three}
    assert near[two] == pytest.approx(0.5 * 0.7)
    assert near[three] == pytest.approx(0.5 * 0.7 * 1.0 * 0.49)
    engine.forget(two, scope=ANN)
    assert two not in {each.record.id for each in engine.links.related(one, scope=ANN)}
    for wrong in ((one, one), (one, "nobody-at-all")):
        with pytest.raises(EngramsError):
            engine.links.link(*wrong, scope=ANN)


@pytest.mark.covers("S3.9")
def test_a_search_passes_through_nothing_forgotten(engine: MemoryEngine) -> None:
    """What only the links of a forgotten memory reached is found no more, and is again when it is
    restored.
    """
    keeper, van, oven = (
        add(engine, text)
        for text in (
            "The lighthouse keeper feeds the gulls",
            "Bert owns a blue van",
            "The oven was built in 1962",
        )
    )
    engine.links.link(keeper, van, scope=ANN, weight=1.0)
    engine.links.link(van, oven, scope=ANN, weight=1.0)

    def find() -> set[str]:
        hits = engine.search("Who feeds the gulls?", scope=ANN).hits
        return {hit.record.id for hit in hits}

    assert find() == {keeper, van, oven}
    engine.forget(van, scope=ANN)
    assert find() == {keeper}
    engine.restore(van, scope=ANN)
    assert find() == {keeper, van, oven}


@pytest.mark.covers("S3.10", "S3.11", "S3.12")
def test_words_and_meaning_are_fused(home: Path, clock: SettableClock) -> None:
    """A rare word wins, also where a memory has no vector yet; what is unlike is no hit."""
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        embed__provider="null",
        vault__enabled=False,
    ) as engine:
        add(engine, "The quokka file is on drive seven")
        add(engine, "Bread is in the oven")
    with engrams.open(
        home=home, preset="graph", clock=clock, jobs__workers=0, vault__enabled=False
    ) as engine:
        found = engine.search("quokka", scope=ANN)
        assert [hit.record.text for hit in found.hits] == ["The quokka file is on drive seven"]
        assert found.trace.path == "hybrid_rrf"
        assert engine.stats()["model"] == {} or sum(engine.stats()["model"].values()) == 0
        engine.drain()
        assert sum(engine.stats()["model"].values()) >= 2, "the backfill finds what has no vector"
        assert not engine.search("astronomy lecture", scope=ANN).hits


@pytest.mark.covers("S3.19", "S3.20")
def test_a_change_of_topic_clears_what_was_shown(home: Path, clock: SettableClock) -> None:
    """Shown memories stay quiet for 45 minutes, unless the talk turns to something else and back;
    thanks, assent and a question that only goes on are nothing else.
    """
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        vault__enabled=False,
    ) as engine:
        name = add(engine, "The harbour master in Genoa is Ida")

        def shown(query: str) -> bool:
            return name in [
                hit.record.id for hit in engine.deliver(query, scope=ANN, session="s").hits
            ]

        assert shown("Who is the harbour master in Genoa?")
        assert not shown("Who is the harbour master in Genoa?")
        clock.forward(minutes=4)
        for word in ("thanks", "ok", "go on", "ok and after that?", "why?", "what else?"):
            assert not shown(word)
            assert not shown("Who is the harbour master in Genoa?"), word
        clock.forward(minutes=40)
        assert not shown("Who is the harbour master in Genoa?")
        clock.forward(minutes=2)
        assert shown("Who is the harbour master in Genoa?")
        assert not shown("spaghetti recipe tomato basil cooking dinner")
        clock.forward(minutes=4)
        assert shown("Who is the harbour master in Genoa?")


@pytest.mark.covers("S3.20")
def test_the_same_memories_wait_where_the_talk_comes_back_at_once(
    home: Path, clock: SettableClock
) -> None:
    """A change of topic clears what was shown, but a block that was given two minutes ago stands a
    few messages above: it comes again after three minutes.
    """
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        vault__enabled=False,
    ) as engine:
        add(engine, "The harbour master in Genoa is Ida")

        def shown(query: str) -> bool:
            return bool(engine.deliver(query, scope=ANN, session="s").hits)

        assert shown("Who is the harbour master in Genoa?")
        for seconds, comes in ((60, False), (60, False), (60, True)):
            clock.forward(seconds=seconds)
            shown("spaghetti recipe tomato basil cooking dinner")
            assert shown("Who is the harbour master in Genoa?") is comes


@pytest.mark.covers("S3.19")
@pytest.mark.parametrize(
    "follow_up", ["und danach?", "et après ?", "¿y después?", "然后呢？", "それから？"]
)
def test_a_question_that_goes_on_is_no_new_topic(
    home: Path, clock: SettableClock, follow_up: str
) -> None:
    """In any of the languages; what was shown stays quiet."""
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        vault__enabled=False,
    ) as engine:
        add(engine, "The harbour master in Genoa is Ida")
        query = "Who is the harbour master in Genoa?"
        assert engine.deliver(query, scope=ANN, session="s").hits
        clock.forward(minutes=4)
        engine.deliver(follow_up, scope=ANN, session="s")
        assert not engine.deliver(query, scope=ANN, session="s").hits


@dataclass(frozen=True)
class Talk:
    """What is known, a question about it, one more about the same, and one about something else."""

    known: str
    query: str
    more: str
    other: str


TALKS = {
    "en": Talk(
        "The harbour master in Genoa is Ida",
        "Who is the harbour master in Genoa?",
        "Does the harbour open on Sundays?",
        "How long does the risotto simmer tonight?",
    ),
    "de": Talk(
        "Die Hafenmeisterin in Genua heißt Ida",
        "Wie heißt die Hafenmeisterin in Genua?",
        "Wann hat die Hafenmeisterin Urlaub?",
        "Was soll ich heute Abend kochen, Risotto oder Spaghetti?",
    ),
    "fr": Talk(
        "La capitaine du port de Gênes est Ida",
        "Qui est la capitaine du port de Gênes ?",
        "Le port est-il ouvert le dimanche ?",
        "Combien de temps mijote le risotto aux champignons ?",
    ),
    "es": Talk(
        "La capitana del puerto de Génova es Ida",
        "¿Quién es la capitana del puerto de Génova?",
        "¿Abre el puerto los domingos?",
        "¿Cuánto tiempo se cuece el arroz con setas?",
    ),
    "ja": Talk(
        "ジェノヴァの港長はイダです",
        "ジェノヴァの港長は誰ですか？",
        "港長は日曜日も働きますか？",
        "今夜のリゾットは何分煮ますか？",
    ),
    "zh": Talk(
        "热那亚的港长是艾达", "热那亚的港长是谁？", "港长星期天上班吗？", "今晚的烩饭要煮几分钟？"
    ),
}


@pytest.mark.covers("S3.19")
@pytest.mark.parametrize("language", TALKS)
def test_a_topic_is_that_of_the_context_in_any_language(
    home: Path, clock: SettableClock, language: str
) -> None:
    """A question about the same leaves quiet what was shown, also behind another one; a question
    about something else makes it worth showing again.
    """
    talk = TALKS[language]
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        vault__enabled=False,
    ) as engine:
        name = add(engine, talk.known)

        def shown(query: str) -> bool:
            clock.forward(minutes=4)
            hits = engine.deliver(query, scope=ANN, session="s").hits
            return name in [hit.record.id for hit in hits]

        assert shown(talk.query)
        shown(talk.more)
        assert not shown(talk.query)
        shown(talk.other)
        assert shown(talk.query)


@pytest.mark.covers("S3.19")
def test_an_answer_is_part_of_the_context(home: Path, clock: SettableClock) -> None:
    """A question about what was just answered goes on with it, whatever its own words are."""
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        vault__enabled=False,
    ) as engine:
        add(engine, "The harbour master in Genoa is Ida")
        asked = {"role": "user", "content": "Who is the harbour master in Genoa?"}
        answer = {"role": "assistant", "content": "Ida. She took the telescope over from her aunt."}
        more = {"role": "user", "content": "Which telescope lens magnifies most?"}

        def shown(*messages: dict[str, str]) -> bool:
            clock.forward(minutes=4)
            return bool(engine.deliver(messages, scope=ANN, session="s").hits)

        assert shown(asked)
        shown(asked, answer, more)
        assert not shown(asked, answer, more, asked)


@pytest.mark.covers("S3.43")
def test_learning_waits_for_twelve_turns_or_the_end(engine: MemoryEngine) -> None:
    """Eleven turns teach nothing yet, the twelfth does;
    an end does where there are 200 characters, and not for less.
    """
    for place in range(11):
        engine.observe(
            Turn(
                f"My friend number {place} is called Friend{place} and lives in Town{place}",
                session="s",
            ),
            scope=ANN,
        )
    engine.drain()
    assert not engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    engine.observe(Turn("I live in Porto", session="s"), scope=ANN)
    engine.drain()
    assert engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    before = len(engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE), limit=500).records)
    engine.observe(Turn("I play the cello", session="short"), scope=ANN)
    engine.sessions.end("short", scope=ANN)
    engine.drain()
    assert (
        len(engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE), limit=500).records) == before
    )


@pytest.mark.covers("S3.55", "S3.62", "S3.63", "S3.64", "S3.61")
def test_the_garden_merges_with_plan_and_undo(engine: MemoryEngine) -> None:
    """Above 0.95 two become one, by hand, with a plan before and an undo after;
    nothing runs by itself.
    """
    for text in ("I play the cello every day", "I play the cello every day!"):
        engine.add(text, scope=ANN, kind=Kind.NOTE)
    assert not engine.settings.garden.enabled
    plan = engine.garden.plan(ANN, ["merge"])
    active = len(engine.list(scope=ANN).records)
    report = engine.garden.run(ANN, ["merge"])
    assert report.state == "complete"
    assert report.compactions == len([step for step in plan.steps if step.verb == "merge"])
    engine.garden.undo(ANN)
    assert len(engine.list(scope=ANN).records) == active


@pytest.mark.covers("S3.63")
def test_a_whole_cycle_is_taken_back(engine: MemoryEngine) -> None:
    """A memory that took others in, and got a tag of its topic in the same cycle, has its own
    strength again after the undo.
    """
    for text in ("We tar the jetty in spring", "We tar the jetty in spring!", "we tar the jetty"):
        engine.add(text, scope=ANN, kind=Kind.NOTE, settle=False)
    engine.add("The jetty has new planks", scope=ANN, kind=Kind.NOTE, settle=False)
    engine.drain()

    def believed() -> dict[str, tuple[object, ...]]:
        records = engine.list(scope=ANN, statuses=tuple(Status)).records
        return {each.id: (each.status, each.strength, each.confidence) for each in records}

    before = believed()
    report = engine.garden.run(ANN)
    assert report.compactions and report.jobs["topics"]
    assert [each for each in engine.list(scope=ANN).records if each.strength > 1 and each.tags]
    assert engine.garden.undo(ANN).left == ()
    assert believed() == before


@pytest.mark.covers("S3.56")
def test_pruning_needs_both(engine: MemoryEngine, clock: SettableClock) -> None:
    """Only what is hardly believed and was said once is archived, and never erased."""
    doubted = add(engine, "Rumour one", confidence=0.01)
    repeated = add(engine, "Rumour two", confidence=0.01)
    engine.used(repeated, scope=ANN)
    engine.edit(repeated, scope=ANN, fields={"confidence": 0.01})
    clock.forward(hours=25)
    engine.garden.run(ANN, ["prune"])
    assert engine.get(doubted, scope=ANN).status is Status.ARCHIVED
    assert engine.get(repeated, scope=ANN).status is Status.ACTIVE


@pytest.mark.covers("S3.57")
def test_contradictions_wait_for_a_decision(engine: MemoryEngine) -> None:
    """Two memories that contradict each other are shown, and one is kept by choice."""
    one = add(engine, "The lamp in the hall is red")
    other = add(engine, "The lamp in the hall is blue")
    engine.links.link(one, other, scope=ANN, type="contradicts")
    engine.garden.run(ANN, ["conflicts"])
    assert {engine.get(name, scope=ANN).status for name in (one, other)} == {Status.ACTIVE}
    assert len(engine.garden.conflicts(ANN)) == 1


@pytest.mark.covers("S3.23")
def test_every_field_persists(home: Path, clock: SettableClock) -> None:
    """Closed and opened again, a memory has all that was known of it."""
    with engrams.open(home=home, preset="graph", clock=clock, jobs__workers=0) as engine:
        name = add(
            engine,
            "The gate code is 4711",
            tags=["home"],
            confidence=0.4,
            importance=0.9,
            category="context",
        )
        engine.used(name, scope=ANN)
        before = engine.get(name, scope=ANN)
    with engrams.open(home=home, preset="graph", clock=clock, jobs__workers=0) as engine:
        assert engine.get(name, scope=ANN) == before
        assert (before.strength, before.access_count, before.tags) == (2, 1, ("home",))


@pytest.mark.covers("S3.72")
def test_test_mode_is_a_home_of_its_own(home: Path, clock: SettableClock) -> None:
    """What is tried in test mode is nowhere else."""
    with engrams.open(home=home, preset="graph", clock=clock, test=True) as engine:
        add(engine, "Only a drill")
    with engrams.open(home=home, preset="graph", clock=clock) as engine:
        assert not engine.search("drill", scope=ANN).hits


@pytest.mark.covers("S3.66", "S3.65")
def test_the_next_wake_has_its_bounds(engine: MemoryEngine) -> None:
    """Five minutes to two hours, thirty minutes where nobody says;
    the queue is ordered and entries are removed by id.
    """
    section = engine.settings.garden
    assert (section.min_pause_minutes, section.max_pause_minutes, section.pause_minutes) == (
        5.0,
        120.0,
        30.0,
    )
    assert (section.model_tokens, section.budget_share) == (10_000, 0.2)


@pytest.mark.covers("S3.18")
def test_what_a_client_adds_is_not_the_users(engine: MemoryEngine) -> None:
    """A reminder in a message is neither searched for nor learned as the user's words."""
    zebra = add(engine, "Zebras eat grass on the plain")
    bees = add(engine, "Ann keeps bees")
    reminder = "<system-reminder>Zebras, grass, plain. I live in Oslo.</system-reminder>"
    found = [
        hit.record.id
        for hit in engine.search(f"{reminder} What does Ann keep? bees?", scope=ANN).hits
    ]
    assert found[0] == bees
    assert zebra not in found
    assert not engine.search(reminder, scope=ANN).hits
    for turn in (f"{reminder} I play chess", "I row"):
        engine.observe(Turn(turn), scope=ANN)
    engine.drain()
    assert not [
        record
        for record in engine.list(scope=ANN, kinds=(Kind.FACT,)).records
        if "Oslo" in record.text
    ]
