"""A later message ends what it is about: not what somebody else changed, and not what it only resembles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engrams
from engrams import Turn
from engrams.core import Hit, Status

ME = ("user", "alice")
SAID = datetime(2025, 3, 3, 12, tzinfo=UTC)
MONTHS = timedelta(days=70)


def is_told_over(home: Path, earlier: str, later: str) -> bool:
    """Say two messages months apart; True if a search shows the earlier closed or marked."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        for at, text in ((SAID, earlier), (SAID + MONTHS, later)):
            memory.observe([Turn(text, at=at, session="s")], scope=ME)
            assert memory.drain(30)
        hits = memory.search(earlier, scope=ME).hits
        return any(_is_over(hit) for hit in hits if hit.record.text == earlier)


def _is_over(hit: Hit) -> bool:
    is_marked = hit.outdated is not None and hit.outdated.is_told
    return hit.status is not Status.ACTIVE or is_marked


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Mein Orthopäde ist Dr. Brandt.", "Meine Cousine hat den Orthopäden gewechselt"),
        ("Abbiamo una Lancia.", "Mia suocera ha venduto la sua Lancia"),
        ("我家有一辆丰田。", "我叔叔的丰田卖掉了"),
        ("I'm a vegetarian.", "My nephew is done with being a vegetarian"),
        ("整骨院は小林先生です。", "母が整骨院を変えました"),
    ],
)
def test_a_change_of_somebody_else_leaves_ones_own_alone(
    tmp_path: Path, earlier: str, later: str
) -> None:
    """What a relative changed casts no doubt on what the speaker said of themselves."""
    assert not is_told_over(tmp_path, earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("My boss is Rosalind.", "Rosalind was promoted to Hull, I report to Emeka now"),
        ("The spare key is under the fern.", "the spare key is not under the fern any more"),
        ("My father lives in Hull.", "Dad moved in with us"),
        ("Frau Adler ist unsere Lehrerin.", "Herr Brandt ist jetzt unsere neue Lehrkraft"),
    ],
)
def test_a_change_of_the_person_that_was_named_is_told(
    tmp_path: Path, earlier: str, later: str
) -> None:
    """News that names whom the earlier message told of, by name or as one calls them, ends it."""
    assert is_told_over(tmp_path, earlier, later)
