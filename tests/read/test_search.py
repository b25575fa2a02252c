"""The read flow on a real engine: what is found, in which order, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from engrams.core import Kind, Scope, Status, Turn
from engrams.errors import InputError, NotFoundError, ScopeError
from engrams.ports import Condition, Where
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_what_was_acknowledged_is_found_at_once() -> None:
    """Read your writes: no job has run, and the turn is there by its words."""
    with temp_engine(jobs__workers=0) as engine:
        receipt = engine.observe(Turn("The spare key is under the blue pot"), scope=ANN)[0]
        assert receipt.searchable == ("lexical", "dense")
        assert engine.search("Where is the spare key?", scope=ANN).hits[0].record.id == receipt.id


def test_code_in_a_message_does_not_outweigh_its_prose() -> None:
    """A message with a long listing is as near to a question as its prose alone."""
    prose = "The invoice export of our bakery runs each Friday night"
    code = "\n".join(f"x{n} = load('table_{n}')" for n in range(60))
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        plain = engine.observe(Turn(prose, session="a"), scope=ANN)[0]
        listed = engine.observe(Turn(f"{prose}:\n```python\n{code}\n```", session="b"), scope=ANN)[
            0
        ]
        question = "When do the bakery's bills get exported?"
        near = {hit.record.id: hit.parts["cos"] for hit in engine.search(question, scope=ANN).hits}
        assert near[listed.id] == pytest.approx(near[plain.id], abs=0.01)
        hits = engine.search(f"{question}\n```python\n{code}\n```", scope=ANN).hits
        assert max(hit.parts["cos"] for hit in hits) == pytest.approx(near[plain.id], abs=0.01)


def test_a_question_about_a_course_gets_hits_from_the_whole_time() -> None:
    """Twelve mentions of the garden in one week do not hide the two of later months where the order
    is asked for.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        for day in range(12):
            at = START + timedelta(hours=10 * day)
            engine.observe(
                Turn(f"Garden plan, garden work, bed {day}: roses", session=f"s{day}", at=at),
                scope=ANN,
            )
        late = [
            engine.observe(Turn(text, session=text, at=START + timedelta(days=days)), scope=ANN)[
                0
            ].id
            for text, days in (
                ("The work on the pond in our garden is done", 60),
                ("The garden shed is all that we still have to work on", 120),
            )
        ]
        ids = [
            hit.record.id
            for hit in engine.search(
                "In which order did I plan the work in the garden?", scope=ANN
            ).hits
        ]
        assert set(late) <= set(ids[:6])
        assert not set(late) <= {
            hit.record.id
            for hit in engine.search("What did I plan as work in the garden?", scope=ANN).hits[:6]
        }


@pytest.mark.covers("S2.44")
def test_facts_change_and_the_current_one_comes_first() -> None:
    """After a move the new home leads, the old one is known as of its time, and history tells both."""
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        paris = engine.add("I live in Paris", scope=ANN)
        clock.forward(days=40)
        berlin = engine.add("I moved to Berlin", scope=ANN)
        assert berlin.derived[0].verdict == "replace"
        now = engine.search("Where do I live?", scope=ANN)
        assert now.hits[0].record.id == berlin.id
        assert paris.id not in [hit.record.id for hit in now.hits]
        then = engine.search("Where do I live?", scope=ANN, as_of=START.replace(day=20))
        assert [hit.record.id for hit in then.hits][:1] == [paris.id]
        everything = engine.search("Where do I live?", scope=ANN, history=True)
        status = {hit.record.id: hit.status for hit in everything.hits}
        assert status == {berlin.id: Status.ACTIVE, paris.id: Status.SUPERSEDED}


def test_one_of_many_of_whom_the_same_is_known() -> None:
    """Whose address is asked for is found among any number of newer addresses of others, in
    whatever spelling the name is asked.
    """
    names = [
        "".join(parts)
        for parts in product(
            ("Bar", "Den", "Fal", "Gor", "Hul", "Jem"),
            ("a", "e", "i", "o", "u"),
            ("bin", "del", "mick", "nos"),
            ("a", "o"),
        )
    ]
    with temp_engine(jobs__workers=0) as engine:
        for name in ("Zora", "Öznur"):
            engine.add(f"{name} lives in Tromsø", scope=ANN)
        for name in names:
            engine.add(f"{name} lives in Lima", scope=ANN, settle=False)
        engine.drain(120)
        assert len(engine.list(scope=ANN, kinds=(Kind.FACT,), limit=1000).records) > 210
        for question in ("What is Zora's address?", "What is Oznur's address?"):
            hit = engine.search(question, scope=ANN).hits[0]
            assert "Tromsø" in hit.record.text and hit.parts["fact"] > 0.1, question


def test_a_turn_whose_fact_is_superseded_stays_marked_below_its_successor() -> None:
    """The journal keeps what was said; a reader sees that it no longer holds."""
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        engine.observe(Turn("I live in Paris, as you know", session="a"), scope=ANN)
        engine.drain()
        clock.forward(days=40)
        engine.observe(Turn("I moved to Berlin", session="b"), scope=ANN)
        engine.drain()
        hits = engine.search("Where do I live?", scope=ANN).hits
        assert [(hit.record.text, hit.status) for hit in hits[:2]] == [
            ("I moved to Berlin", Status.ACTIVE),
            ("I live in Paris, as you know", Status.SUPERSEDED),
        ]
        assert hits[1].facts[0].superseded_by == hits[0].facts[0].id


def test_a_fact_and_its_turn_are_one_hit() -> None:
    """What was derived comes with the words it came from, not beside them."""
    with temp_engine(jobs__workers=0) as engine:
        receipt = engine.add("My sister Judith studies law in Lyon", scope=ANN)
        hits = engine.search("What does Judith study?", scope=ANN).hits
        assert [hit.record.id for hit in hits] == [receipt.id]
        assert hits[0].facts


def test_forget_hides_and_restore_brings_back() -> None:
    """A forgotten memory and what was derived from it alone are found by nothing, until restored."""
    with temp_engine(jobs__workers=0) as engine:
        receipt = engine.add("I am allergic to hazelnuts", scope=ANN)
        engine.forget(receipt.id, scope=ANN, reason="wrong")
        assert engine.search("hazelnuts", scope=ANN).hits == ()
        assert engine.search("hazelnuts", scope=ANN, history=True).hits == ()
        assert "hazelnut" not in engine.context("What am I allergic to?", scope=ANN).text
        engine.restore(receipt.id, scope=ANN)
        assert engine.search("hazelnuts", scope=ANN).hits[0].record.id == receipt.id
        assert "hazelnut" in engine.context("What am I allergic to?", scope=ANN).prefix


def test_purge_erases_and_proves_it() -> None:
    """After a purge nothing of the text is left in the home folder, and the answer says so place by
    place.
    """
    with temp_engine(jobs__workers=0) as engine:
        receipt = engine.add("The vault combination is zanzibar 9931", scope=ANN)
        proof = engine.purge(receipt.id, scope=ANN)
        assert proof.removed["records"] >= 1
        assert not any(proof.remaining.values())
        home = engine.settings.home
        engine.close()
        for file in home.rglob("*"):
            if file.is_file():
                assert b"zanzibar" not in file.read_bytes(), file.name


@pytest.mark.covers("S1.62", "S3.38")
def test_scopes_see_themselves_and_what_is_above() -> None:
    """A project sees itself and the owner, never another project or owner;
    the owner sees everything of theirs.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("The owner likes tulips", scope=ANN)
        engine.add("Project X uses tulips", scope=(*ANN, "project", "x"))
        engine.add("Project Y uses tulips", scope=(*ANN, "project", "y"))
        engine.add("Bob hates tulips", scope=("user", "bob"))

        def texts(scope: tuple[str, ...]) -> set[str]:
            return {hit.record.text for hit in engine.search("tulips", scope=scope).hits}

        assert texts((*ANN, "project", "x")) == {"The owner likes tulips", "Project X uses tulips"}
        assert texts(ANN) == {
            "The owner likes tulips",
            "Project X uses tulips",
            "Project Y uses tulips",
        }
        assert texts(("user", "bob")) == {"Bob hates tulips"}
        assert texts(("user", "an")) == set()
        assert texts((*ANN, "project", "unknown")) == {"The owner likes tulips"}


def test_another_owners_id_finds_nothing() -> None:
    """Ids, histories and changes are bound to the owner."""
    with temp_engine(jobs__workers=0) as engine:
        receipt = engine.add("Ann's secret plan", scope=ANN)
        for call in (engine.get, engine.history, engine.forget, engine.restore):
            with pytest.raises(NotFoundError):
                call(receipt.id, scope=("user", "bob"))
        with pytest.raises(NotFoundError):
            engine.edit(receipt.id, scope=("user", "bob"), text="mine now")
        with pytest.raises(ScopeError):
            engine.search("plan", scope=())


def test_filters_narrow_a_search() -> None:
    """Conditions on metadata and fields hold; an unknown field says which there are."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.observe(
            [
                Turn("Pizza with olives", meta={"rating": 5}),
                Turn("Pizza with pineapple", meta={"rating": 1}),
            ],
            scope=ANN,
        )
        good = Where("and", (Condition("meta.rating", "gte", 3),))
        assert [hit.record.text for hit in engine.search("pizza", scope=ANN, where=good).hits] == [
            "Pizza with olives"
        ]
        with pytest.raises(InputError):
            engine.search("pizza", scope=ANN, where=Where("and", (Condition("nonsense", "eq", 1),)))


def test_explain_says_why() -> None:
    """The trace names the query's parts, each stage, each candidate's scores and why it was
    dropped.
    """
    with temp_engine(jobs__workers=0) as engine:
        for number in range(5):
            engine.add(f"Fact number {number} about penguins and ice", scope=ANN)
        trace = engine.explain("What about penguins?", scope=ANN, limit=2).trace
        assert [name for name, *_ in trace.stages] == [
            "query",
            "candidates",
            "fuse",
            "expand",
            "join",
            "rerank",
            "diversify",
        ]
        assert sum(row.dropped == "" for row in trace.rows) == 2
        assert all(row.dropped for row in trace.rows[2:])
        assert trace.rows[0].parts["bm"] > 0


def test_abstains_when_nothing_comes_near() -> None:
    """A question about what was never said is marked; one that was said is not."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("We keep the ladder in the shed", scope=ANN)
        assert engine.search("xylophone quartz manifesto", scope=ANN).abstain
        assert not engine.search("Where is the ladder?", scope=ANN).abstain


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我上个月搬到了东京", "东京"),
        ("明日の天気は雨です", "天気"),
        ("서울에서 일하고 있어요", "서울"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("Моя сестра живёт в Казани", "сестра в Казани"),
        ("أعمل في مستشفى القاهرة", "القاهرة"),
        ("Mañana tengo el examen de español", "examen español"),
        ("Wir treffen uns am Brückentor", "bruckentor"),
    ],
)
@pytest.mark.covers("S1.50", "S4.38")
def test_every_script_is_found_by_its_words(text: str, query: str) -> None:
    """Two-character words, other scripts and missing diacritics find their text among others."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("Something else entirely in plain English", scope=ANN)
        receipt = engine.add(text, scope=ANN)
        assert engine.search(query, scope=ANN).hits[0].record.id == receipt.id


def test_hostile_queries_do_no_harm() -> None:
    """Quotes, operators, NUL, lone surrogates, emoji, right-to-left marks and a megabyte:
    an answer or nothing, no error.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("plain text", scope=ANN)
        for query in (
            '" OR 1=1 --',
            "NEAR(a b)",
            "a* ^b -c",
            "\0\0",
            "\ud800",
            "🧠" * 50,
            "\u202eabc",
            "'; DROP TABLE records;",
            "x" * 1_000_000,
        ):
            engine.search(query, scope=ANN)
        assert engine.search("plain", scope=ANN).hits


def test_recency_breaks_ties_only() -> None:
    """Of two equal statements the newer one is shown;
    one that answers worse stays behind, however new.
    """
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock, write__extract="off") as engine:
        engine.observe(Turn("The printer is jammed again", session="a"), scope=ANN)
        clock.forward(days=200)
        engine.observe(Turn("The printer is jammed, again", session="b"), scope=ANN)
        engine.observe(Turn("Lunch was fine", session="c"), scope=ANN)
        hits = engine.search("printer jammed", scope=ANN).hits
        assert hits[0].record.session == "b"
        assert hits[-1].record.session == "c"


def test_kinds_choose() -> None:
    """A search for facts gives facts, not turns."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add("I live in Oslo", scope=ANN)
        result = engine.search("Where do I live?", scope=ANN, kinds=[Kind.FACT])
        assert [hit.record.kind for hit in result.hits] == [Kind.FACT]
        assert result.hits[0].record.scope == Scope(ANN)


def test_a_chain_of_changes_puts_the_last_first() -> None:
    """However the words score, what was superseded stands below what superseded it, all along the
    chain; no circle hangs it.
    """
    with temp_engine(jobs__workers=0) as engine:
        for year, town in enumerate(("Paris", "Oslo", "Lima", "Cairo"), 2018):
            engine.observe(
                Turn(f"I moved to {town}.", at=datetime(year, 3, 2, tzinfo=UTC), session=str(year)),
                scope=ANN,
            )
        engine.drain()
        texts = [hit.record.text for hit in engine.search("Where do I live?", scope=ANN).hits]
        assert texts == [
            "I moved to Cairo.",
            "I moved to Lima.",
            "I moved to Oslo.",
            "I moved to Paris.",
        ]
