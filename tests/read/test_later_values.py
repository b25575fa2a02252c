"""What a later message ends is told as such in a context, though the change was not seen when it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from engrams.core import Context, Turn
from engrams.engine import MemoryEngine
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


@contextmanager
def open_memory(
    said: Sequence[tuple[str, ...]], *, looks_for_changes: bool = False
) -> Iterator[MemoryEngine]:
    """Tell a memory, in which changes are mostly not looked for, one exchange a week."""
    clock = SettableClock(START)
    settings = {"write__changes__enabled": looks_for_changes}
    with temp_engine(jobs__workers=0, clock=clock, **settings) as engine:
        for index, texts in enumerate(said):
            roles = ("user", "assistant")
            turns = [
                Turn(text, role, session=f"s{index}")
                for text, role in zip(texts, roles, strict=False)
            ]
            engine.observe(turns, scope=ANN)
            clock.forward(days=7)
        engine.drain(60)
        yield engine


CHATTER = (
    "What's a good recipe for lentil soup?",
    "I'm reading a book about volcanoes.",
    "The weather was awful at the weekend.",
    "My bike needs a new chain.",
    "We painted the shed green.",
    "I slept badly, the neighbours had a party.",
    "The meeting with the bank went fine.",
    "I planted tomatoes on the balcony.",
    "How do I get wine stains out of a shirt?",
    "My cousin got married in Malta.",
    "I finished the puzzle with 2000 pieces.",
    "The train was an hour late again.",
    "I need ideas for a birthday cake.",
    "We watched a film about penguins.",
)


def find_line(context: Context, words: str) -> str:
    return next((line for line in context.tail.splitlines() if words in line), "")


@pytest.mark.parametrize(
    ("earlier", "later", "question", "words"),
    [
        (
            "caching is redis with a ttl of ten minutes for the depot list",
            "redis is gone, ops won't run it, the depot cache is ristretto",
            "what do we cache the depot list with?",
            "ttl of ten minutes",
        ),
        (
            "the surgery has put me on ramipril for the blood pressure",
            "Doctor Pryce has stopped the ramipril and I'm on amlodipine for the pressure",
            "which tablet do I take for the blood pressure?",
            "put me on ramipril",
        ),
        (
            "Die Chorprobe im Gemeindehaus ist dienstags um acht",
            "Die Chorprobe im Gemeindehaus ist jetzt donnerstags um acht",
            "Wann ist die Chorprobe im Gemeindehaus?",
            "dienstags",
        ),
        (
            "We've got choir practice on Tuesdays half seven at the chapel",
            "Choir practice has moved to Thursdays because the chapel lets the hall on a Tuesday",
            "What night is choir practice?",
            "on Tuesdays half seven",
        ),
        (
            "the clinic started me on 30mg of vyvanse",
            "vyvanse: they put me up to 50mg",
            "what dose of vyvanse am i on?",
            "30mg",
        ),
        (
            "We've got choir practice on Tuesdays half seven at the chapel",
            "Choir's been moved to Thursdays, the chapel lets the hall to a karate club",
            "What night is choir practice?",
            "on Tuesdays half seven",
        ),
        (
            "The choir has nine people",
            "The choir now has twelve people",
            "How many people does the choir have?",
            "nine people",
        ),
        (
            "Ich mache den Laden morgens um sieben auf und um vier zu",
            "Ab Mai mache ich den Laden erst um neun auf, das ist neu",
            "Um wie viel Uhr mache ich den Laden auf?",
            "um sieben",
        ),
        (
            "The vet says diabetes: Miso gets two units of insulin, and no more kibble",
            "Miso is now on three units of insulin, the count was too high",
            "How many units of insulin does Miso get?",
            "two units",
        ),
    ],
)
def test_an_earlier_message_is_marked_by_what_ends_it(
    earlier: str, later: str, question: str, words: str
) -> None:
    """The line says that it may be outdated, and the later message comes first."""
    with open_memory([(earlier,), (later,)]) as engine:
        line = find_line(engine.context(question, scope=ANN), words)
        hits = engine.search(question, scope=ANN).hits
    assert "may be outdated" in line
    assert hits[0].record.text == later


def test_a_change_that_seemed_possible_is_told_where_both_say_what_is_asked() -> None:
    """Among many messages it was not told of before; the later one need not be found by the question."""
    said = [
        "deliveries go to the back door",
        *CHATTER,
        "deliveries ring at number 4 since the bricks",
    ]
    with open_memory([(text,) for text in said], looks_for_changes=True) as engine:
        line = find_line(engine.context("Where do the deliveries go?", scope=ANN), said[0])
        beside = find_line(engine.context("What is at the back door?", scope=ANN), said[0])
    assert "ring at number 4" in line
    assert "may be outdated" in line
    assert beside
    assert "may be outdated" not in beside


def test_the_reply_to_what_is_over_is_marked_too() -> None:
    """What the assistant said of it would stand there as if it held."""
    said = [
        ("pdf rendering is done with weasyprint", "Invoices render through WeasyPrint."),
        ("weasyprint is gone, pdf rendering of invoices is done with typst",),
    ]
    with open_memory(said) as engine:
        question = "what does the pdf rendering of invoices?"
        context = engine.context(question, scope=ANN)
        hits = engine.search(question, scope=ANN).hits
    assert "typst" in context.tail
    (reply,) = [hit for hit in hits if hit.record.text.startswith("Invoices render through")]
    assert reply.outdated is not None
    assert reply.outdated.is_told


def test_what_may_end_a_message_comes_into_its_context() -> None:
    """However few words the question shares with it; the past alone is told without."""
    news = "redux is way too much for two slices. move to zustand"
    said = [("state in the app is handled with redux toolkit",), *[(text,) for text in CHATTER]]
    with open_memory([*said, (news,)], looks_for_changes=True) as engine:
        now = engine.context("Which state library is our app on?", scope=ANN)
        past = engine.context("Which state library was our app on at first?", scope=ANN)
    assert now.hits[0].record.text == news
    assert news not in [hit.record.text for hit in past.hits]


def test_a_reply_to_what_is_over_is_no_part_of_a_context() -> None:
    """It has no mark, as it says more than what ended, and would stand there as if it held."""
    reply = "Your tide data comes with the station's heights from src/worldtides.ts."
    said = [
        ("tide data comes from the WorldTides api for now, key in .env", reply),
        *[(text,) for text in CHATTER],
        ("I got rid of WorldTides, I'm computing the tides myself from constants",),
    ]
    with open_memory(said) as engine:
        question = "where does our tide data come from nowadays?"
        helpful = [hit.record.text for hit in engine.search(question, scope=ANN).helpful]
        context = engine.context(question, scope=ANN)
    assert reply in helpful
    assert "computing the tides" in context.tail
    assert "station's heights" not in context.tail


@pytest.mark.parametrize(
    ("earlier", "reply", "later"),
    [
        (
            "Choir practice is at 19:15 in the hall",
            "The hall is warm enough in winter.",
            "Choir practice has moved, it is at 20:30 in the hall",
        ),
        (
            "Backups go to the Synology in the hallway",
            "Hallway dust will be the end of its fans, put a filter in front.",
            "The Synology is gone, backups go to the cloud",
        ),
    ],
)
def test_a_reply_that_does_not_repeat_what_is_over_is_not_marked(
    earlier: str, reply: str, later: str
) -> None:
    """A remark beside the statement, or without the value that ends, still holds."""
    with open_memory([(earlier, reply), (later,)]) as engine:
        hits = engine.search(earlier, scope=ANN).hits
    marks = {hit.record.text: hit.outdated for hit in hits}
    assert marks[earlier] is not None
    assert marks[reply] is None


@pytest.mark.parametrize(
    ("earlier", "later", "question"),
    [
        (
            "Emil can't stand hazelnuts, every nut at the party is trouble",
            "The new caterer for the party is Ferro, 12 pounds a head now",
            "What do I tell the caterer of the party about nuts?",
        ),
        (
            "The dentist sees me on 8 April at 8:20 in Unthank Road",
            "The holiday has changed, we take the ferry on 9 August at 22:15",
            "When am I at the dentist in Unthank Road?",
        ),
        (
            "Our son Teo plays the bassoon in the school band",
            "Teo's cousin stopped bassoon lessons and took up judo",
            "What does Teo play in the school band?",
        ),
        (
            "I put milk in my porridge every morning",
            'My flatmate posted this: "I\'ve stopped putting milk in my porridge, what a difference"',
            "What do I put in my porridge?",
        ),
        (
            "Which florist does good bouquets? It is a secret",
            "The florist is gone, we take tulips from the garden",
            "What was that about the florist and bouquets?",
        ),
        (
            "Leo has two days of school left",
            "Leo now has three days of holiday",
            "How many days of school does Leo have left?",
        ),
        ("I drink wine with dinner", "I stopped drinking beer", "What do I drink with dinner?"),
        ("I play tennis on Sundays", "I stopped playing squash", "What do I play on Sundays?"),
        ("I use Firefox at home", "I stopped using Chrome", "Which browser do I use at home?"),
        (
            "The meeting of the board is at three",
            "The meeting of the choir has moved by two hours",
            "At what time does the board have its meeting?",
        ),
    ],
)
def test_what_only_stands_beside_a_change_is_not_marked(
    earlier: str, later: str, question: str
) -> None:
    """Another thing's new date, another person's habit and quoted words put nothing in doubt.

    Nor can a question be outdated.
    """
    with open_memory([(earlier,), (later,)]) as engine:
        context = engine.context(question, scope=ANN)
    assert earlier[:20] in context.text
    assert "may be outdated" not in context.text


def test_a_person_whom_two_messages_name_puts_neither_in_doubt() -> None:
    """Though a change between them seemed possible when the later one came."""
    earlier = "Hello, I'm Gareth, 68, retired from the railway, I live in Sketty with my wife Menna"
    later = "I asked. Two halves, one in March one in June, Menna rang them, she could sell sand"
    said = [earlier, *CHATTER, later]
    with open_memory([(text,) for text in said], looks_for_changes=True) as engine:
        hits = engine.search("When is Menna's hospital appointment?", scope=ANN).hits
    (mark,) = [hit.outdated for hit in hits if hit.record.text == earlier]
    assert mark is None or not mark.is_told


def test_long_messages_leave_each_other_alone() -> None:
    """Words and amounts that two long messages share by chance are no doubt about either."""
    earlier = (
        "I'm trying to keep to our holiday plan, so I've set the family budget for the weekend"
        " to $50, and with the cousins coming over on Friday I wonder whether we should order"
        " the snacks or bake them ourselves at home"
    )
    later = (
        "I've now planned the holiday gifts with the family, we put $400 aside for the budget,"
        " and I'm a bit worried that the weekend with the cousins will cost more than we can"
        " spend, so what would be a good way to keep track of all that"
    )
    with open_memory([(earlier,), (later,)]) as engine:
        context = engine.context("What is our family budget for the holiday weekend?", scope=ANN)
    assert "$50" in context.text
    assert "may be outdated" not in context.text
