"""What others say, tasks and fiction in other languages than English are nobody's facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.core import Status, Turn
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext
from engrams.testing import temp_engine

ME = ("user", "alice")
BEFORE = datetime(2026, 3, 2, 12, tzinfo=UTC)
AFTER = datetime(2026, 9, 7, 12, tzinfo=UTC)


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
        "Übersetze ins Englische: Ich wohne in Paris",
        "Bitte übersetze: „Ich wohne in Paris“",
        "Ich wohne in Paris. Bitte übersetze das ins Englische.",
        "Übersetze ins Englische\nIch wohne in Paris",
        "Mein Kollege meinte: Ich bin nach Hamburg gezogen",
        "Mein Kollege hat gesagt, ich wohne in Paris.",
        "Ich wohne in Paris, sagte Anna.",
        "„Ich wohne in Paris“, sagte Anna.",
        "Korrigiere diesen Satz: Ich wohne in Paris",
        "Sag auf Englisch: ich wohne in Paris",
        "Roman: Ich bin nach Wien gezogen.",
        "Kapitel 3. Ich bin nach Wien gezogen.",
        "Traum: Ich wohne in Rom.",
        "Stell dir vor, ich wohne in Rom.",
        "Spielen wir: Ich wohne in Rom. Ich arbeite bei der NASA.",
        "Im Traum war alles anders, ich wohne in Rom.",
        "Traduis en anglais : j'habite à Paris",
        "Mon collègue a dit : j'habite à Paris",
        "« J'habite à Paris », dit Anna.",
        "Chapitre 3. J'habite à Paris.",
        "Imagine : j'habite à Rome. Je travaille chez Renault.",
        "J'habite à Paris. Traduis en anglais.",
        "Mi jefe dijo: me mudé a Bogotá",
        "Traduce al inglés: vivo en París",
        '"Vivo en París", dijo Ana.',
        "Capítulo 3. Vivo en París",
        "Sueño: vivo en Roma",
        "翻译成英文：我住在巴黎",
        "我同事说：我搬到北京了",
        "小说：我住在巴黎",
        "第三章。我住在巴黎",
        "请写一句话：我住在巴黎",
        "我住在巴黎，翻译成英文",
    ],
)
def test_what_is_not_told_of_the_speaker_is_no_fact(text: str) -> None:
    """Tasks, quotations, hearsay and fiction give no fact of the user."""
    assert read(text) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Kurz gesagt: ich wohne in Köln", "Köln"),
        ("Ich sage dir: ich wohne in Köln", "Köln"),
        ("Schreib dir auf: ich wohne in Köln", "Köln"),
        ("Hallo! Ich wohne in Köln. Kannst du mir einen Text schreiben?", "Köln"),
        ("Mein Kollege meinte: Ich bin fertig.\nIch wohne in Köln.", "Köln"),
        ("Autrement dit : j'habite à Lyon", "Lyon"),
        ("Note : j'habite à Lyon", "Lyon"),
        ("Es decir: vivo en Lima", "Lima"),
        ("Recuerda: vivo en Lima", "Lima"),
        ("我跟你说：我住在北京", "北京"),
        ("记住：我住在北京", "北京"),
    ],
)
def test_what_the_speaker_says_after_a_colon_is_a_fact(text: str, value: str) -> None:
    """A colon alone does not take a statement away from its speaker."""
    assert value in {one.object for one in read(text)}


@pytest.mark.parametrize(
    ("told", "later", "place"),
    [
        ("Ich wohne in Kassel", "Übersetze ins Englische: Ich wohne in Paris", "Kassel"),
        ("Ich wohne in Kassel", "Mein Kollege meinte: Ich bin nach Hamburg gezogen", "Kassel"),
        ("J'habite à Lyon", "Traduis en anglais : j'habite à Paris", "Lyon"),
        ("Vivo en Lima", "Mi jefe dijo: me mudé a Bogotá", "Lima"),
        ("我住在上海", "翻译成英文：我住在巴黎", "上海"),
    ],
)
def test_a_task_or_hearsay_does_not_end_the_true_fact(told: str, later: str, place: str) -> None:
    """The home of the user stays current after a task or a colleague's words."""
    with temp_engine(jobs__workers=0) as memory:
        for text, at in ((told, BEFORE), (later, AFTER)):
            memory.observe([Turn(text, at=at)], scope=ME)
            assert memory.drain(30)
        hits = memory.search(told, scope=ME).hits
        facts = {fact.text: fact.status for hit in hits for fact in hit.facts}
        assert [status for text, status in facts.items() if place in text] == [Status.ACTIVE]
        assert len(facts) == 1
        assert next(hit for hit in hits if hit.record.text == told).status is Status.ACTIVE
        assert place in memory.context(told, scope=ME).text
