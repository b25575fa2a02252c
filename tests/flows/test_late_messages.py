"""Messages that arrive after their news: an older conversation that is brought in later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engrams import MemoryEngine, Turn
from engrams.testing import temp_engine

ANN = ("user", "ann")
WINTER = datetime(2026, 1, 10, 9, tzinfo=UTC)
SPRING = datetime(2026, 5, 10, 9, tzinfo=UTC)


def say(memory: MemoryEngine, text: str, at: datetime) -> None:
    memory.observe([Turn(text, session=at.date().isoformat(), at=at)], scope=ANN)
    memory.drain(10)


@pytest.mark.parametrize(
    ("news", "older", "question"),
    [
        ("I sold the Volvo last week.", "I drive a red Volvo.", "What car do I drive?"),
        (
            "We switched the deploys from Tuesday to Thursday.",
            "Deploys happen on Tuesdays.",
            "When do deploys happen?",
        ),
        ("I moved to Berlin.", "I live in Paris.", "Where do I live?"),
    ],
)
def test_what_was_over_when_it_came_is_told_as_over(news: str, older: str, question: str) -> None:
    """Whichever of the two comes first, the older one is not told as if it still held."""
    with temp_engine(jobs__workers=0) as memory:
        say(memory, news, SPRING)
        say(memory, older, WINTER)
        ends = {hit.record.text: hit.tell_end() for hit in memory.search(question, scope=ANN).hits}
    assert ends[older]


def test_news_of_something_else_marks_no_late_message() -> None:
    """What nothing ended stays as it was said, though it comes after later messages."""
    with temp_engine(jobs__workers=0) as memory:
        say(memory, "I sold the piano last week.", SPRING)
        say(memory, "I drive a red Volvo.", WINTER)
        hit = memory.search("What car do I drive?", scope=ANN).hits[0]
    assert hit.record.text == "I drive a red Volvo."
    assert not hit.tell_end()


def test_a_mark_that_was_taken_back_stays_so() -> None:
    """A late message has nothing judged again that came before it."""
    with temp_engine(jobs__workers=0) as memory:
        say(memory, "I drive a red Volvo.", WINTER)
        say(memory, "I sold the Volvo last week.", SPRING)
        volvo = memory.list(scope=ANN, text="red Volvo").records[0]
        memory.restore(volvo.id, scope=ANN)
        say(memory, "I bought the Volvo in 2019.", WINTER.replace(month=2))
        hits = memory.search("What car do I drive?", scope=ANN).hits
    assert not next(hit for hit in hits if hit.record.id == volvo.id).tell_end()


def test_many_late_messages_are_compared_part_by_part() -> None:
    """An older conversation of more messages than one transaction holds is compared whole."""
    older = [f"Box {number} stands in hall {number}." for number in range(60)]
    with temp_engine(jobs__workers=0) as memory:
        say(memory, "I sold the Volvo last week.", SPRING)
        turns = [
            Turn(text, session="old", at=WINTER + timedelta(minutes=minute))
            for minute, text in enumerate([*older, "I drive a red Volvo."])
        ]
        memory.observe(turns, scope=ANN)
        memory.drain(30)
        ends = {
            hit.record.text: hit.tell_end()
            for hit in memory.search("What car do I drive?", scope=ANN).hits
        }
    assert ends["I drive a red Volvo."]
