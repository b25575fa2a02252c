"""Sentences in other languages than English that are denied, to come or over."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.core import Kind, Status, Turn
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext
from engrams.testing import temp_engine

ME = ("user", "alice")
BEFORE = datetime(2026, 3, 2, 12, tzinfo=UTC)
AFTER = datetime(2026, 11, 9, 12, tzinfo=UTC)


def read(text: str) -> tuple[CandidateStatement, ...]:
    return extract_statements(
        text,
        UtteranceContext(
            speaker="the user",
            subject="user",
            said_at=AFTER,
            source="r1",
            trust=1.0,
            names=frozenset(),
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "Ich bin doch nicht nach Wien gezogen",
        "Ich bin nie nach Wien gezogen",
        "Ich bin fast nach Wien gezogen",
        "Ich habe bei Bosch noch nicht gekündigt",
        "Ich habe kein Auto gekauft",
        "Mein Chef ist nicht Anna",
        "Ich wohne in Wien ab Januar",
        "Ich zog damals nach Wien",
        "No me mudé a Quito al final",
        "No he dejado Telefónica",
        "Casi me mudé a Quito",
        "No soy profesora",
        "A partir de enero vivo en Quito",
        "À partir de janvier, j'habite à Lyon",
        "J'habite à Lyon à partir de janvier",
        "从明年一月起我住在北京",
        "从明年一月起，我住在北京",
        "我2015年搬到北京，住了一年",
        "以前我住在北京",
        "我对花生不过敏",
    ],
)
def test_what_is_denied_to_come_or_over_is_no_fact(text: str) -> None:
    """A denied change, a plan and the past are read as nothing, lest they end what is true."""
    assert [made.predicate for made in read(text) if made.predicate] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ich wohne in Köln, nicht in Bonn", "Köln"),
        ("Nein, ich wohne in Köln", "Köln"),
        ("Ich wohne in Wien, ab Januar arbeite ich bei Bosch", "Wien"),
        ("No, vivo en Lima", "Lima"),
        ("Me mudé a Quito el mes pasado", "Quito"),
        ("Non, j'habite à Lyon depuis 2015", "Lyon"),
        ("我上周搬到北京了", "北京"),
        ("我住在不来梅", "不来梅"),
        ("我住北京", "北京"),
    ],
)
def test_what_holds_is_a_fact_beside_a_negation_or_time(text: str, value: str) -> None:
    """A negation of something else, a contradiction and a time that has begun leave a statement as
    it is.
    """
    assert [one.object for one in read(text) if one.predicate == "lives_in"] == [value]


@pytest.mark.parametrize(
    ("told", "later", "part"),
    [
        ("Ich wohne in Kassel", "Ich bin doch nicht nach Wien gezogen", "Kassel"),
        ("Ich arbeite bei Bosch", "Ich habe bei Bosch noch nicht gekündigt", "Bosch"),
        ("Vivo en Lima", "No me mudé a Quito al final", "Lima"),
        ("J'habite à Nantes", "À partir de janvier, j'habite à Lyon", "Nantes"),
        ("我住在上海", "我2015年搬到北京，住了一年", "上海"),
    ],
)
def test_the_true_fact_stays(told: str, later: str, part: str) -> None:
    """What is denied, to come or over ends no fact and stores none."""
    with temp_engine(jobs__workers=0) as memory:
        for text, at in ((told, BEFORE), (later, AFTER)):
            memory.observe([Turn(text, at=at)], scope=ME)
            assert memory.drain(30)
        facts = {
            fact.text: fact.status
            for fact in memory.list(scope=ME, kinds=(Kind.FACT,)).records
            if fact.predicate
        }
        assert [(part in text, status) for text, status in facts.items()] == [(True, Status.ACTIVE)]


@pytest.mark.parametrize("word", ["vegetariana", "profesora"])
def test_what_somebody_no_longer_is_in_spanish_ends(word: str) -> None:
    """ "Ya no soy …" ends the older statement; the newer one is what holds."""
    told = f"Soy {word}"
    later = f"Ya no soy {word}"
    with temp_engine(jobs__workers=0) as memory:
        for text, at in ((told, BEFORE), (later, AFTER)):
            memory.observe([Turn(text, at=at)], scope=ME)
            assert memory.drain(30)
        hits = {hit.record.text: hit for hit in memory.search(later, scope=ME).hits}
        assert hits[later].status is Status.ACTIVE
        assert told not in {
            fact.text for hit in hits.values() for fact in hit.facts if fact.status is Status.ACTIVE
        }
        shown = [
            line
            for line in memory.context(later, scope=ME).text.splitlines()
            if later in line and f"user: {told}" not in line
        ]
        assert shown and not any("no longer so" in line for line in shown)
