"""Facts that are right or absent: what the rules derive from a message, and what they must not."""

from __future__ import annotations

import pytest

from engrams.core import Kind
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
SAID = "2024-03-10T12:00"


def derive(text: str) -> list[tuple[str, Kind]]:
    """Statements that a message's receipt names."""
    with temp_engine(jobs__workers=0, embed__provider="null", clock=SettableClock(SAID)) as engine:
        return [(made.text, made.kind) for made in engine.add(text, scope=ANN).derived]


DERIVED = (
    (
        "I've got three kids, Emma (8), Leo (5) and Tim (2).",
        # Of each child the name and the age.
        ["I've got three kids, Emma (8), Leo (5) and Tim (2)"] * 6,
    ),
    # A plan lies after its telling, a report before it.
    (
        "Our anniversary dinner is on 20 December at Dario's",
        ["Our anniversary dinner is on 20 December at Dario's"],
    ),
    ("I have a deadline on February 3", ["I have a deadline on February 3"]),
    ("I switched to Scrivener on 5 May", ["I switched to Scrivener on 5 May"]),
    ("I met Anna on 12 March", ["I met Anna on 12 March"]),
    # No year is invented, and what is vague stays vague.
    ("My birthday is on 20 December", ["My birthday is on 20 December"]),
    ("I love swimming in June", ["I love swimming in June"]),
    ("I attended summer camp last year", ["I attended summer camp last year"]),
    (
        "We went to Aspen for winter break in 2022",
        ["We went to Aspen for winter break in 2022"],
    ),
    # A day that names a thing is no date.
    (
        "Our honey is sold at the Saturday market.",
        ["Our honey is sold at the Saturday market"],
    ),
    (
        "I bought a tent in the Black Friday sale",
        ["I bought a tent in the Black Friday sale"],
    ),
    ("I met Anna on Saturday", ["I met Anna on Saturday"]),
    # Two facts in one sentence are two.
    (
        "I live in Paris and work as a nurse",
        ["I live in Paris", "work as a nurse"],
    ),
    (
        "My brother moved to Berlin and works as a chef",
        ["My brother moved to Berlin", "works as a chef"],
    ),
    # No markup.
    ("I love salt &amp; vinegar chips", ["I love salt & vinegar chips"]),
    (
        "I have reviewed the tenancy contracts dated Feb 2023 with Anna",
        ["I have reviewed the tenancy contracts dated Feb 2023 with Anna"],
    ),
    # What stands behind a colon belongs to it, and a remark behind a comma does not.
    (
        "We settled on two suppliers: Brandt and the mill in Hove.",
        ["We settled on two suppliers: Brandt and the mill in Hove"],
    ),
    ("I usually play CS:GO, though.", ["I usually play CS:GO"]),
    ("I love rye bread, the crust is so dark", ["I love rye bread"]),
    ("I fix old bikes, sew, and have choir nights", ["I fix old bikes"]),
    (
        "I repaired my left pedal, specifically the part where it joins the crank.",
        ["I repaired my left pedal"],
    ),
    (
        "I'm planning a flea market for our choir later this month",
        ["I'm planning a flea market for our choir later this month"],
    ),
    (
        "I twisted my ankle at fencing, the nurse says it will heal",
        ["I twisted my ankle at fencing"],
    ),
    (
        "I led a bat walk on 5 March, twelve people came along",
        ["I led a bat walk on 5 March"],
    ),
    (
        "I lost my job at the dairy, things have been rough",
        ["I lost my job at the dairy"],
    ),
    ("I raced in Antibes, lucky me", ["I raced in Antibes"]),
    (
        "I gave a reading at the hospice I volunteer at",
        ["I gave a reading at the hospice I volunteer at"],
    ),
    (
        "My hands were shaking at the audition in Hove",
        ["My hands were shaking at the audition in Hove"],
    ),
    # A time that is the object, lies ahead or comes again.
    ("I took Friday off to paint my shed", ["I took Friday off to paint my shed"]),
    ("I signed up for a regatta in June", ["I signed up for a regatta in June"]),
    ("I drive to Brno every other Monday", ["I drive to Brno every other Monday"]),
    (
        "I sing in a madrigal choir on Tuesday evenings",
        ["I sing in a madrigal choir on Tuesday evenings"],
    ),
    # A thing in view is one such thing.
    (
        "I'm reading this odd detective novel by Glauser",
        ["I'm reading this odd detective novel by Glauser"],
    ),
    ("I recently read a book about bees", ["I recently read a book about bees"]),
    (
        'I staged a puppet play called "The Salt Road."',
        ['I staged a puppet play called "The Salt Road."'],
    ),
    # Letters are never lost.
    ("I'm into zqwfileknitting", ["I'm into zqwfileknitting"]),
    (
        "I started playing guitar about five years ago",
        ["I started playing guitar about five years ago"],
    ),
    # Seen.
    (
        "Actually Anna isn't a doctor, she's a dentist",
        ["Actually Anna isn't a doctor, she's a dentist"],
    ),
    ("My sister isn't a lawyer, she's a judge", ["My sister isn't a lawyer, she's a judge"]),
    ("My son Leo turns 7", ["My son Leo turns 7", "My son Leo turns 7"]),
    ("use ruff, never black", ["use ruff, never black"]),
    ("我养了一只橘猫，叫南瓜。", ["我养了一只橘猫"]),
    ("我叫李明，今年30岁", ["我叫李明", "今年30岁"]),
    ("We build this with bazel", ["We build this with bazel"]),
    (
        "Always confirm submission dates when I ask about deadlines.",
        ["Always confirm submission dates when I ask about deadlines"],
    ),
)


@pytest.mark.parametrize(("said", "facts"), DERIVED)
def test_a_message_gives_exactly_its_facts(said: str, facts: list[str]) -> None:
    """What is told is derived as it was told, each fact on its own, with the year that its tense
    means, and nothing else.
    """
    assert [text for text, _ in derive(said)] == facts


SILENT = (
    "I want to promote it",
    "We used to when we were in high school",
    "Always keep up the great work, you're amazing!",
    "My score is -&gt;-&gt; 1,13",
    "I've implemented a simple debounce using `setTimeout`.",
    "I've got a function that looks something like this: ```def f(): pass```",
    "Achieving and feeling fulfilled must be amazing.",
    "I dream of visiting them",
    "I just love Mondays, said no one ever",
    "Ugh, I love Mondays... not",
    "Oh great, I just love getting stuck in traffic",
    "Haha we sold Tofu on eBay, just kidding",
    "We'd never sell a cat",
    "She said to me: 'my favourite colour is orange'",
    "Dave said he is living in a Japanese mansion",
    "If I were rich I'd live in Monaco.",
    # It says no what, of what, or who.
    "I got some good advice",
    "I've tested the endpoint with a sample request",
    "We have the power to change our future",
    "I kept pushing",
    "My aunt sings. I started when I was nine.",
    "I don't have a recipe",
    "I've tested the endpoint",
    # It points out of the sentence.
    "I want to add a timeout to this function",
    "I have no doubt they'll love the soup",
    "I pasted my config below",
    "The vets are exhausted. I set up a fund to support them.",
    "I saw another at the flea market",
    "I've started reading the one you lent me",
    "I have been playing ever since",
    "We sewed a quilt with her scarves",
    "I've already added indexes on `orders.day`, but it is slow.",
    "Since we spoke last, I've had quite the adventure!",
    "During Lent, we usually watch a few films",
    "Mixed emotions are rough, but I have faith in you!",
    "I helped with getting everything ready",
    "I've been knitting longer since our last chat",
    "I hosted a small supper with friends and cousins to celebrate",
    "I've added a second step after 3 failed attempts",
    "I've set the `unit` parameter to `gram` in the URL",
    # It is a guess, a purpose or a question.
    "Hm, once I have the keys cut, do they need oiling?",
    "Oh yeah, I just love queueing for hours",
    "The oven stays cold and I think it's because I mixed up the wires in my kitchen.",
    "Those sketches hang over my desk so I can draw better",
    "Remember that goal in the 1994 final? He beat four defenders.",
    "I'm trying to decide between oak and larch for my floor",
)


@pytest.mark.parametrize("said", SILENT)
def test_what_is_doubtful_is_not_derived(said: str) -> None:
    """A cut or dangling clause, a greeting, markup, a joke, a quotation, a hypothesis:
    the message is kept, and no fact is made of it.
    """
    assert derive(said) == []


def test_a_move_leaves_the_job_alone() -> None:
    """A change closes its own fact only:
    after a move the home is new and the job, told in the same sentence, still holds.
    """
    with temp_engine(jobs__workers=0, embed__provider="null", clock=SettableClock(SAID)) as engine:
        engine.add("I live in Paris and work as a nurse", scope=ANN)
        engine.add("I moved to Berlin", scope=ANN)
        held = {
            record.predicate: record.object
            for record in engine.list(scope=ANN, limit=20).records
            if record.kind is Kind.FACT
        }
        assert held == {"lives_in": "Berlin", "job": "nurse"}


def test_what_used_to_be_did_not_begin_when_it_was_told() -> None:
    """A habit of the past has no date of its telling as its beginning."""
    with temp_engine(jobs__workers=0, embed__provider="null", clock=SettableClock(SAID)) as engine:
        engine.add("I used to row in a coxless four with my cousins", scope=ANN)
        (made,) = (
            record
            for record in engine.list(scope=ANN, limit=20).records
            if record.kind is Kind.FACT
        )
        assert (made.text, made.valid_from) == (
            "I used to row in a coxless four with my cousins",
            None,
        )


def test_an_age_to_come_is_no_age() -> None:
    """A birthday next week is told with its week and does not make the child older today."""
    with temp_engine(jobs__workers=0, embed__provider="null", clock=SettableClock(SAID)) as engine:
        engine.add("My son Leo turns 7 next week", scope=ANN)
        assert "age" not in {
            record.predicate for record in engine.list(scope=ANN, limit=20).records
        }


def test_a_quotation_closes_nothing() -> None:
    """What somebody else is quoted with leaves the user's own preference as it is."""
    with temp_engine(jobs__workers=0, embed__provider="null", clock=SettableClock(SAID)) as engine:
        engine.add("My favourite colour is green", scope=ANN)
        engine.add("She said to me: 'my favourite colour is orange'", scope=ANN)
        held = [
            record.object
            for record in engine.list(scope=ANN, limit=20).records
            if record.predicate == "favorite_color"
        ]
        assert held == ["green"]
