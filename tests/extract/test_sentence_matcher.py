"""Facts in other languages than English are whole, in right grammar, and of the right person."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.core import Status, Turn
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext
from engrams.testing import temp_engine

ME = ("user", "alice")
BEFORE = datetime(2026, 3, 2, 12, tzinfo=UTC)
AFTER = datetime(2026, 11, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Ich trinke keinen Kaffee mehr.",
        "Meine Frau heißt Greta",
        "Mein Bruder wohnt in Köln",
        "Mi hermana vive en Quito",
        "No me gusta el té",
        "Ma sœur habite à Paris",
        "Mon ami habite à Paris",
        "Mein Geburtstag ist am 4. Mai",
        "Meine Adresse ist Hauptstr. 5, 34117 Kassel",
        "Mi dirección es Av. Brasil 120, Lima",
    ],
)
def test_statements_are_the_speakers_own_words(text: str) -> None:
    """Nothing is rewritten; dots of abbreviations and ordinals cut nothing off."""
    candidates = extract_statements(
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
    assert [candidate.text for candidate in candidates] == [text.rstrip(".")]


def test_a_dot_after_a_number_still_ends_a_sentence() -> None:
    """Only where a month or another counted thing follows is it an ordinal."""
    text = (
        "Ich bin 30. Meine Schwester wohnt in Köln. Ich wohne in der Bahnhofstr. 12. Ich mag"
        " Katzen."
    )
    found = extract_statements(
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
    assert [one.object for one in found] == ["30", "Köln", "Bahnhofstr. 12", "Katzen"]


@pytest.mark.parametrize(
    ("told", "later", "outdated"),
    [
        ("Ich wohne in Kassel", "Meine Schwester ist nach Hamburg gezogen", False),
        ("J'habite à Lyon", "Ma sœur a déménagé à Paris", False),
        ("Vivo en Lima", "Mi hermana se mudó a Bogotá", False),
        ("東京に住んでいます", "妹が大阪に引っ越しました", False),
        ("東京に住んでいます", "大阪に引っ越しました", True),
        ("Meine Schwester wohnt in Kassel", "Meine Schwester ist nach Hamburg gezogen", True),
    ],
)
def test_a_relatives_move_outdates_only_what_was_told_of_them(
    told: str, later: str, outdated: bool
) -> None:
    """The user's own home has no mark after somebody else moved."""
    with temp_engine(jobs__workers=0) as memory:
        for text, at in ((told, BEFORE), (later, AFTER)):
            memory.observe([Turn(text, at=at)], scope=ME)
            assert memory.drain(30)
        hit = next(hit for hit in memory.search(told, scope=ME).hits if hit.record.text == told)
        assert (hit.outdated is not None or hit.status is not Status.ACTIVE) == outdated
