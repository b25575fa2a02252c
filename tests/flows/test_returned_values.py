"""Returns to what was before: "we're back at Hetzner" after a move away from it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engrams import Turn
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")


def find_ends(texts: Sequence[str], question: str) -> dict[str, str]:
    """What a search tells of the end of each message, said two months apart."""
    clock = SettableClock("2026-01-01T09:00")
    with temp_engine(clock=clock, jobs__workers=0) as memory:
        for number, text in enumerate(texts):
            memory.observe([Turn(text, session=str(number))], scope=ANN)
            memory.drain(10)
            clock.forward(days=60)
        hits = memory.search(question, scope=ANN).hits
        return {hit.record.text: hit.tell_end() for hit in hits}


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (
            (
                "We use Postgres for the events.",
                "We migrated the events to MongoDB.",
                "Migrated the events back to Postgres.",
            ),
            "What do we use for events?",
        ),
        (
            (
                "I bank with Sparkasse.",
                "I switched to N26 for banking.",
                "I went back to Sparkasse after all.",
            ),
            "Which bank do I use?",
        ),
        (
            ("I work at Acme.", "I left Acme, I work at Globex now.", "I'm back at Acme now."),
            "Where do I work?",
        ),
        (
            (
                "Der Kurs findet dienstags statt.",
                "Der Kurs ist jetzt donnerstags.",
                "Der Kurs ist wieder dienstags.",
            ),
            "Wann ist der Kurs?",
        ),
        (("I'm vegetarian.", "I eat meat again.", "I'm vegetarian again."), "Do I eat meat?"),
        (("Standup is at 9 now.", "Standup is at 10 again.", "Standup is at 9 again."), "When?"),
    ],
)
def test_what_came_in_between_is_over(texts: Sequence[str], question: str) -> None:
    """The return ends what came in between, and not what has the value to which it returns."""
    former, between, news = texts
    ends = find_ends(texts, question)
    assert news.rstrip(".") in ends[between]
    assert ends.get(news, "") == ""
    assert news.rstrip(".") not in ends.get(former, "")


@pytest.mark.parametrize(
    ("texts", "question", "left"),
    [
        (
            ("I work at Acme.", "I left Acme, I work at Globex now.", "I'm back at Acme."),
            "Where do I work?",
            "Globex",
        ),
        (
            ("I work at Acme.", "I work at Globex.", "I work at Hooli.", "I returned to Acme."),
            "Where do I work?",
            "Hooli",
        ),
        (
            ("Vivo en Sevilla.", "Me he mudado a Málaga.", "He vuelto a Sevilla."),
            "¿Dónde vivo?",
            "Málaga",
        ),
        (
            (
                "Ich arbeite bei Siemens.",
                "Ich arbeite jetzt bei Bosch.",
                "Ich bin wieder bei Siemens.",
            ),
            "Wo arbeite ich?",
            "Bosch",
        ),
        (
            (
                "Je travaille chez Renault.",
                "Je travaille chez Airbus.",
                "Je suis de retour chez Renault.",
            ),
            "Où est-ce que je travaille ?",
            "Airbus",
        ),
        (("我住在上海。", "我搬到北京了。", "我又搬回上海了。"), "我住在哪里？", "北京"),
        (
            ("東京に住んでいます。", "大阪に引っ越しました。", "東京に戻りました。"),
            "どこ？",
            "大阪",
        ),
    ],
)
def test_a_return_told_as_a_note_ends_what_came_in_between(
    texts: Sequence[str], question: str, left: str
) -> None:
    """Notes that were over are returned to as messages are: no fact of what was left holds."""
    clock = SettableClock("2026-01-01T09:00")
    with temp_engine(clock=clock, jobs__workers=0) as memory:
        for text in texts:
            memory.add(text, scope=ANN)
            memory.drain(10)
            clock.forward(days=60)
        facts = memory.list(scope=ANN, kinds=["fact"]).records
        ends = {hit.record.text: hit.tell_end() for hit in memory.search(question, scope=ANN).hits}
    assert [fact.text for fact in facts if fact.object == left] == []
    assert all(end for text, end in ends.items() if left in text)
    assert ends[texts[-1]] == ""


@pytest.mark.parametrize(
    "news",
    [
        "I'm back in Paris for the weekend.",
        "Should I move back to Paris?",
        "I'd never go back to Paris.",
        "If the job falls through I'm back in Paris.",
        "I love Berlin again, Paris less.",
        "Paris is lovely again these days.",
    ],
)
def test_what_is_no_return_ends_nothing(news: str) -> None:
    """A visit, a question, a refusal, a plan and another use of the word leave the home as it is."""
    ends = find_ends(("I live in Paris.", "I moved to Berlin.", news), "Where do I live?")
    assert ends["I moved to Berlin."] == ""


def test_the_fact_of_what_was_left_ends() -> None:
    """Prompts no longer tell the employer in between as a fact."""
    with temp_engine(jobs__workers=0) as memory:
        for text in ("I work at Acme.", "I left Acme, I work at Globex now.", "I'm back at Acme."):
            memory.observe([Turn(text, session="s")], scope=ANN)
            memory.drain(10)
        told = memory.context("Where do I work?", scope=ANN).text
    assert "WORKS_AT Globex" not in told
    assert "I'm back at Acme" in told


def test_long_messages_that_share_words_tell_no_return() -> None:
    """ "Nice to talk again" returns to nothing, whatever a chat was about before."""
    former = (
        "We had a tough battle against a strong team last winter, and talking it through afterwards"
        " helped all of us a lot."
    )
    between = (
        "I now play in a new team, and the wild games against the top clubs are a real buzz, every"
        " single weekend of the month."
    )
    news = (
        "Nice to talk again! The games have been crazy, and we had a real battle against another"
        " team on the last weekend too."
    )
    ends = find_ends((former, between, news), "Which games did we play?")
    assert ends[between] == ""
