"""What memory puts into prompts of everyday life, and when it is silent: by the door of contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from engrams.core import Turn
from engrams.engine import MemoryEngine
from engrams.testing import SettableClock, temp_engine

OWNER = ("user", "mara")
PROJECT = ("user", "lena", "project", "shopfront")
START = datetime(2026, 1, 5, 18, tzinfo=UTC)

HOUSEHOLD = (
    ("I live in Bristol with my partner Nora and the two boys, Leo and Isaac",),
    ("Nora is coeliac so anything for the family has to be gluten free", "Understood, no gluten."),
    ("Leo's school starts at 8:05, the gate closes at ten past",),
    ("The landlord of the flat on Cedar Close wants the rent on the first of the month",),
    ("The wifi of the holiday house is called heolfair14",),
    ("Red wine and bright screens set off my headaches, so I avoid both",),
    ("Our vet is Siân at Redland Vets, she sees Pickle the whippet",),
    ("We rented a car in Brittany last summer and it broke down near Carnac",),
    ("Isaac is allergic to hazelnuts, we carry an EpiPen everywhere",),
    ("I play the cello in the Clifton quartet on Wednesday evenings",),
    ("The boiler was serviced in March by Harris Heating for 95 pounds",),
    ("Recycling goes out on Wednesday morning",),
    ("My mother's name is Ingrid, she lives in Hamburg and collects stamps",),
    ("We've moved, the new address is 27 Larkspur Road, Cardiff", "Enjoy the new home!"),
    ("I'm a data engineer, the office is next to the station",),
    ("The wedding list has 18 people so far, the invitation must say no presents",),
    ("I ran the half marathon in 1:53:20, that's my best so far",),
    ("The electricity meter stood at 41552 in April",),
    ("Pickle takes librela once a month for her joints",),
    ("The moving company was Pratt and Sons, they charged 640 pounds",),
    ("Sounds good!", "Great, see you soon!"),
    ("Thanks, Dave!",),
    ("Leo's reading book is about dragons and he has read it twice",),
    ("The library card is in the green drawer",),
    ("My sister Paula is expecting her first baby in October",),
    ("The Skoda needs new tyres before winter",),
    ("Isaac starts swimming lessons on Saturdays at nine",),
    ("My birthday is on 12 March",),
)

CODE = (
    ("Use pnpm, not npm, in this project", "Will do."),
    ("All money is integer cents, never floats", "OK."),
    ("From now on deployments only go through release.yml", "Noted."),
    ("Don't add dependencies without asking me",),
    ("we keep dates in UTC and format them in src/dates.ts",),
    ("the cart store is on zustand in src/cart/store.ts", "Moved the store to zustand."),
    ("our deploy window is Tuesday and Thursday 10 to 12",),
    ("tests are vitest, e2e is playwright, mocks only for the network",),
    ("API errors use RFC 9457 problem details",),
    ("never touch generated/, run pnpm gen instead",),
    ("the payment tests need STRIPE_MODE=mock in .env.test",),
    ("commit messages follow conventional commits",),
    ("no default exports, ever",),
    (
        "the e2e test of the checkout failed because the selector changed",
        "I'll look at the logs next.",
    ),
    ("images go through next/image with width and height",),
    ("we target Node 22",),
    ("feature flags live in src/flags.ts and have an owner",),
    ("I prefer short answers without emojis",),
    ("the staging database is reset each Sunday night",),
    ("logging uses pino, one logger per module",),
    ("the search page reads its index from Meilisearch",),
    ("translations are in messages/*.json, German and English",),
)


@contextmanager
def open_memory(said: Sequence[tuple[str, ...]], scope: tuple[str, ...]) -> Iterator[MemoryEngine]:
    """Tell a memory one exchange every three days."""
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        for index, texts in enumerate(said):
            turns = [
                Turn(text, role, session=f"s{index}")
                for text, role in zip(texts, ("user", "assistant"), strict=False)
            ]
            engine.observe(turns, scope=scope)
            clock.forward(days=3)
        engine.drain(60)
        yield engine


@pytest.fixture(scope="module")
def household() -> Iterator[MemoryEngine]:
    with open_memory(HOUSEHOLD, OWNER) as engine:
        yield engine


@pytest.fixture(scope="module")
def code() -> Iterator[MemoryEngine]:
    with open_memory(CODE, PROJECT) as engine:
        yield engine


@pytest.mark.parametrize(
    ("prompt", "needed"),
    [
        ("What can I cook for the family?", "coeliac"),
        ("Suggest a dinner for the four of us tonight.", "coeliac"),
        ("What cake can I bake for the boys' school party?", "hazelnuts"),
        ("I'm ordering a lamp, which delivery address do I give them?", "27 Larkspur Road"),
        ("what sets off my headaches?", "Red wine"),
        ("My PB in the half marathon?", "1:53:20"),
        ("Which moving company did we take, and how much was it?", "Pratt and Sons"),
        ("How many people are on the wedding list?", "18 people"),
        ("Draft the invitation to the wedding.", "no presents"),
        ("What does the dog get for her joints?", "librela"),
    ],
)
def test_a_household_gets_what_bears_on_the_request(
    household: MemoryEngine, prompt: str, needed: str
) -> None:
    """Diets, addresses and plans come with requests that name none of them."""
    context = household.context(prompt, scope=OWNER, tokens=1000)
    assert needed in context.text


@pytest.mark.parametrize(
    "prompt",
    [
        "Which restaurant shall we book for Wednesday evening?",
        "I'd like to eat out with the cello quartet, where?",
        "Bake something for Wednesday",
        "A snack for the half marathon?",
    ],
)
def test_a_meal_brings_what_everybody_may_not_eat(household: MemoryEngine, prompt: str) -> None:
    """However much nearer the restaurant, the quartet or the marathon is to the words."""
    tail = household.context(prompt, scope=OWNER, tokens=1000).tail
    assert "coeliac" in tail
    assert "hazelnuts" in tail


@pytest.mark.parametrize(
    "prompt", ["What can I cook for the family?", "Suggest a dinner for the four of us tonight."]
)
def test_a_meal_brings_no_landlord_and_no_wifi(household: MemoryEngine, prompt: str) -> None:
    """Nothing comes only because there is room for it."""
    tail = household.context(prompt, scope=OWNER, tokens=1000).tail
    for word in ("heolfair14", "landlord", "librela", "Brittany", "meter", "Thanks, Dave"):
        assert word not in tail


@pytest.mark.parametrize(
    "prompt",
    [
        "what is 7 times 13",
        "What is 15 % of 340?",
        "Thanks, Dave!",
        "Sounds good!",
        "See you soon!",
        "ok do it",
        "go on and plan it",
        "use that one then",
        "the second one",
        "good night",
        "What is the capital of Australia?",
        "Why is the sky blue?",
        "Write a haiku about autumn leaves",
        "Translate 'good morning' into Japanese",
        "add a docstring to this function:\ndef add(a, b):\n    return a + b",
        "Who wrote Hamlet?",
    ],
)
def test_what_needs_no_memory_gets_none(household: MemoryEngine, prompt: str) -> None:
    """Sums, thanks, picks and knowledge of the world recall nothing by any door."""
    context = household.context(prompt, scope=OWNER, tokens=1000)
    assert context.tail == ""
    assert context.abstain
    assert not household.search(prompt, scope=OWNER).helpful


@pytest.mark.parametrize(
    ("prompt", "needed"),
    [
        ("add date-fns as a dependency", "Don't add dependencies"),
        ("which package manager do we use?", "pnpm, not npm"),
        ("add a fee field to the invoice table", "integer cents"),
        ("ship v0.4.4 to staging", "release.yml"),
        ("when may we deploy?", "Tuesday and Thursday"),
        ("write a test for the coupon reducer", "vitest"),
        ("the payment tests fail on my machine", "STRIPE_MODE=mock"),
        ("return an error when the coupon has expired", "RFC 9457"),
    ],
)
def test_a_project_gets_its_rules_by_topic(code: MemoryEngine, prompt: str, needed: str) -> None:
    """A rule of the project comes with the task that it bears on."""
    assert needed in code.context(prompt, scope=PROJECT, tokens=1000).text


@pytest.mark.parametrize(
    "prompt",
    [
        "use that one then",
        "go on and plan it",
        "ok do it",
        "thanks",
        "add a docstring to this function: def add(a, b): return a + b",
        "what is a monad?",
        "what is the difference between a list and a tuple",
    ],
)
def test_a_vague_order_brings_nothing_of_the_project(code: MemoryEngine, prompt: str) -> None:
    """Orders and picks without a subject recall nothing."""
    assert code.context(prompt, scope=PROJECT, tokens=1000).tail == ""


def test_hollow_replies_are_never_recalled(code: MemoryEngine) -> None:
    """Assent of the assistant tells nothing."""
    for prompt in ("which package manager do we use?", "ship v0.4.4 to staging"):
        lines = code.context(prompt, scope=PROJECT, tokens=1000).tail.splitlines()
        assert not any(line.endswith((": Will do.", ": OK.", ": Noted.")) for line in lines)


def test_one_statement_of_a_diet_answers_what_to_cook() -> None:
    """A memory of one sentence is not silent about it."""
    with open_memory([("Nora is coeliac so anything has to be gluten free",)], OWNER) as engine:
        context = engine.context("What can I cook for Nora?", scope=OWNER)
    assert "gluten free" in context.text


@pytest.mark.parametrize(
    ("earlier", "prompt"),
    [
        ("whats the budget of the kitchen", "What is the budget of our kitchen?"),
        ("wheres the key of the shed", "where did I leave the key of the shed?"),
        ("whos the dentist of Leo", "Which dentist does Leo go to?"),
        ("hows the new chain of my bike", "How is the new chain of the bike?"),
    ],
)
def test_a_question_typed_without_its_apostrophe_is_no_memory(earlier: str, prompt: str) -> None:
    """It says nothing, and took the place of what does; an app whose name looks like one is told of."""
    said = [
        (earlier,),
        ("We painted the fence green",),
        ("The choir sings on Thursdays",),
        ("I slept badly, the neighbours had a party",),
        ("The meeting with the bank went fine",),
        ("My cousin got married in Malta",),
        ("Whats App is what the parents of the class use",),
    ]
    with open_memory(said, OWNER) as engine:
        assert earlier not in engine.context(prompt, scope=OWNER).text
        assert "Whats App" in engine.context("What do the parents use?", scope=OWNER).text


def test_a_fact_and_its_message_come_once(household: MemoryEngine) -> None:
    """What the profile says is not told again below it."""
    context = household.context("When is my birthday?", scope=OWNER, tokens=1000)
    assert sum("12 March" in line for line in context.text.splitlines()) == 1


def test_a_message_is_told_without_what_the_profile_says_of_it() -> None:
    """The sentence of a rule stands in the profile; below it comes what else the message says."""
    said = (
        ("The model has invoices and lines. Amounts are integer cents everywhere, never float.",),
        *CODE[2:],
    )
    with open_memory(said, PROJECT) as engine:
        context = engine.context("which models are there for invoices?", scope=PROJECT)
    assert "integer cents" in context.prefix
    assert "invoices and lines" in context.tail
    assert "integer cents" not in context.tail


def test_an_allergy_in_the_family_stands_in_the_profile() -> None:
    """It bears on any request about meals, gifts and trips, however it is put."""
    said = [("My son Emil is allergic to peanuts",), ("Karl from the office plays the trumpet",)]
    with open_memory(said, OWNER) as engine:
        prefix = engine.context("Plan the afternoon for the kids", scope=OWNER).prefix
    assert "Emil ALLERGIC_TO peanuts" in prefix
    assert "trumpet" not in prefix


def test_a_german_memory_is_not_recalled_for_its_language() -> None:
    """Being German is no reason to be told to someone who asks in German what to cook."""
    said = [
        ("Meine Frau Clara ist Lehrerin und raucht nicht mehr",),
        ("Der Schlüssel des Wochenendhauses in Sintra liegt bei Frau Alvarez",),
        ("Unser Auto ist ein Skoda und steht in der Garage",),
        ("Emil ist allergisch gegen Haselnüsse",),
        ("Die Waschmaschine haben wir bei Müller gekauft",),
        ("Mein Geburtstag ist am 3. Juni",),
        ("Der Elternabend ist am Dienstag um sieben",),
        *(
            (f"Am Sonntag waren wir am See Nummer {index} und das Wetter war gut",)
            for index in range(4)
        ),
        ("Meine Mutter Ingrid wohnt in Hamburg",),
        ("Das Fahrrad von Nora hat einen Platten",),
        ("Wir haben eine Katze namens Miso",),
        ("Ich spiele Cello im Quartett",),
        ("Die Miete zahlen wir am Monatsersten",),
        ("Der Zahnarzt ist in der Ottenser Hauptstraße",),
        ("Nächstes Jahr wollen wir nach Lissabon ziehen",),
        ("Im Keller ist es feucht",),
        ("Der Strom kommt von Lichtblick",),
        ("Paula bekommt im Herbst ein Kind",),
    ]
    with open_memory(said, OWNER) as engine:
        cooking = engine.context("Was koche ich heute Abend für die Kinder?", scope=OWNER)
        key = engine.context("Who has the key to our house in Sintra?", scope=OWNER)
    assert "Haselnüsse" in cooking.text
    for word in ("raucht", "Skoda", "Geburtstag ist"):
        assert word not in cooking.tail
    assert "Alvarez" in key.text


SUPPORT = (
    ("Our Helios inverter was installed on 14 May by the Ruiz brothers",),
    ("Please don't phone, write to me: I work nights and sleep in the daytime", "Understood."),
    ("The error E-217 came back after the storm",),
    ("The technician cured E-217 by replacing the string fuse", "Good to know."),
    ("My e-mail is ana@old.example",),
    ("I have a new e-mail address now: ana.ruiz@new.example",),
    ("The discount on the second battery was 15 percent",),
    ("I'm a data engineer at Harbourline, the logistics company",),
    ("I've quit Harbourline, I work at Tidewell now",),
    ("I'm keen on the rooftop garden and on the book exchange for the harbour",),
    (
        "How do I get ready for the final review of the grant?",
        "1. Read the call. 2. Check the figures of the budget. 3. Ask Nadia to proofread. 4. Print"
        " two copies. 5. Sleep well. 6. Take the early train. 7. Bring water.",
    ),
    ("The panels face south-west",),
    ("The contract with the grid is number 55-812",),
    ("My neighbour has the same panels",),
    ("Our roof was redone ten years ago",),
    ("The garden hose leaks",),
    ("We chose the grey cable ducts",),
    ("My daughter draws horses",),
    ("The letter box is by the gate",),
    ("Our dog barks at the meter reader",),
    ("The attic ladder is behind the door",),
)


@pytest.fixture(scope="module")
def customer() -> Iterator[MemoryEngine]:
    with open_memory(SUPPORT, OWNER) as engine:
        yield engine


@pytest.mark.parametrize(
    ("prompt", "needed"),
    [
        ("May we phone the customer?", "don't phone"),
        ("When was the inverter installed?", "14 May"),
        ("What fixed E-217?", "string fuse"),
        ("Which discount did we give on the battery?", "15 percent"),
        ("To which e-mail do I send the invoice?", "ana.ruiz@new.example"),
        ("Where do I work now?", "Tidewell"),
        ("Which projects am I keen on?", "book exchange"),
    ],
)
def test_a_context_has_what_the_search_found(
    customer: MemoryEngine, prompt: str, needed: str
) -> None:
    """What search knows is not left out of the prompt as too far from it."""
    assert needed in customer.context(prompt, scope=OWNER, tokens=1000).text


@pytest.mark.parametrize(
    ("prompt", "ended"),
    [
        ("To which e-mail do I send the invoice?", "ana@old.example"),
        ("Where do I work now?", "data engineer at Harbourline"),
    ],
)
def test_what_has_ended_is_never_told_as_current(
    customer: MemoryEngine, prompt: str, ended: str
) -> None:
    """An ended value is left out, or says beside itself that it is over or may be."""
    lines = customer.context(prompt, scope=OWNER, tokens=1000).tail.splitlines()
    marks = ("no longer so", "may be outdated", "over since")
    assert [
        line for line in lines if ended in line and not any(mark in line for mark in marks)
    ] == []


def test_a_list_of_the_assistant_is_cut_to_what_bears_on_the_question(
    customer: MemoryEngine,
) -> None:
    """Numbers without their sentences tell nothing."""
    tail = customer.context("who proofreads the grant?", scope=OWNER, tokens=1000).tail
    assert "Nadia" in tail
    assert "… 5." not in tail
    assert "… 6." not in tail
