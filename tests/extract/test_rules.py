"""Statements taken from English talk without a model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def read(
    text: str, name: str = "Alice", others: tuple[str, ...] = ("bob",)
) -> tuple[CandidateStatement, ...]:
    names = frozenset(other.lower() for other in (name, *others) if other)
    return extract_statements(
        text,
        UtteranceContext(
            speaker=name or "the user",
            subject=name or "user",
            said_at=SAID,
            source="r1",
            trust=1.0,
            names=names,
        ),
    )


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("I live in Berlin", ("Alice", "lives_in", "Berlin")),
        ("i live in berlin", ("Alice", "lives_in", "berlin")),
        (
            "I moved to Berlin last month.",
            ("Alice", "lives_in", "Berlin"),
        ),
        (
            "We relocated from Oslo to Bergen",
            ("Alice", "lives_in", "Bergen"),
        ),
        ("I work at Siemens", ("Alice", "works_at", "Siemens")),
        (
            "I started a new job at Bosch",
            ("Alice", "works_at", "Bosch"),
        ),
        ("I'm a nurse", ("Alice", "job", "nurse")),
        ("I'm 34 years old", ("Alice", "age", "34")),
        ("My name is Craig", ("Alice", "is_named", "Craig")),
        (
            "My favourite color is blue",
            ("Alice", "favorite_color", "blue"),
        ),
        (
            "My phone number is 555-123-4567",
            ("Alice", "phone", "555-123-4567"),
        ),
        ("I love pizza", ("Alice", "likes", "pizza")),
        ("I'm a big fan of jazz", ("Alice", "likes", "jazz")),
        ("I prefer dark mode", ("Alice", "prefers", "dark mode")),
        (
            "I'm allergic to peanuts",
            ("Alice", "allergic_to", "peanuts"),
        ),
        ("I'm vegan", ("Alice", "diet", "vegan")),
        ("I have two dogs", ("Alice", "has", "two dogs")),
        (
            "My sister is allergic to cats",
            ("Alice's sister", "allergic_to", "cats"),
        ),
        (
            "My sister Anna lives in Munich",
            ("Anna", "lives_in", "Munich"),
        ),
        ("My dog's name is Rex", ("Alice's dog", "is_named", "Rex")),
        (
            "The project deadline is April 15",
            ("project deadline", "is", "April 15"),
        ),
        (
            "I went camping with my kids yesterday",
            ("Alice", "", ""),
        ),
        (
            "Yesterday I went to the doctor",
            ("Alice", "went_to", "doctor"),
        ),
        (
            "I graduated from MIT in 2015",
            ("Alice", "graduated_from", "MIT"),
        ),
        (
            "I'm planning to visit Japan next year",
            ("Alice", "plans_to", "visit Japan"),
        ),
        (
            "We decided to use Postgres",
            ("Alice", "decided_to", "use Postgres"),
        ),
        (
            "I've been learning German for two years",
            ("Alice", "learning", "German for two years"),
        ),
        (
            "Lost my job at Door Dash yesterday",
            ("Alice", "works_at", "Door Dash"),
        ),
        (
            "I no longer work at Google",
            ("Alice", "works_at", "Google"),
        ),
        ("Bob works at Acme", ("Bob", "works_at", "Acme")),
        ("I work at St. Olave's Hospital.", ("Alice", "works_at", "St. Olave's Hospital")),
        ("I work at Mt. Sinai. It is huge.", ("Alice", "works_at", "Mt. Sinai")),
        ("I live in King's Lynn.", ("Alice", "lives_in", "King's Lynn")),
        ("I live in Ft. Worth now.", ("Alice", "lives_in", "Ft. Worth")),
        ("I work at McDonald's.", ("Alice", "works_at", "McDonald's")),
        ("I work for J. P. Morgan", ("Alice", "works_at", "J. P. Morgan")),
        ("I said no. I live in Rome.", ("Alice", "lives_in", "Rome")),
        (
            "I have a flight booked for Tuesday to Rome.",
            ("Alice", "has", "flight booked to Rome"),
        ),
        (
            "I have a deadline of April 15, 2027 to finish the MVP.",
            ("Alice", "has", "deadline to finish the MVP"),
        ),
        (
            "I speak Spanish and French",
            ("Alice", "speaks", "Spanish and French"),
        ),
        (
            "I run every morning before work",
            ("Alice", "", ""),
        ),
        ("My mom's name is Eve", ("Alice's mom", "is_named", "Eve")),
    ],
)
def test_ordinary_statements_are_read(text: str, triple: tuple[str, str, str]) -> None:
    """A statement gives its subject, predicate and object beside the speaker's own words."""
    found = [
        candidate
        for candidate in read(text)
        if (candidate.subject, candidate.predicate, candidate.object) == triple
    ]
    assert found, [(c.subject, c.predicate, c.object, c.text) for c in read(text)]
    assert found[0].text == found[0].evidence[0].quote
    assert found[0].text in text


@pytest.mark.parametrize(
    "text",
    [
        "I live in Anna's flat.",
        "I work at Tom's startup.",
        "I prefer slow mornings, like the ones we had in May, to anything",
        "dienstags könnte ich, da hat meine frau die kinder",
    ],
)
def test_what_only_belongs_to_somebody_is_no_place(text: str) -> None:
    """A name that owns a thing, and words that only lean on others, make no fact of their own."""
    told = [(one.predicate, one.object) for one in read(text)]
    assert not [pair for pair in told if pair[0] in ("lives_in", "works_at", "likes")]
    assert not [one.text for one in read(text) if one.text.startswith("da hat")]


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("We moved from rsyslog to vector.", ""),
        ("We moved from Jenkins to Forgejo last week.", ""),
        ("I moved from Paris to Berlin.", "Berlin"),
        ("i moved from lisbon to porto", "porto"),
        ("We moved to Ghent.", "Ghent"),
    ],
)
def test_a_move_between_tools_tells_of_no_home(text: str, home: str) -> None:
    """Who replaces one tool by another lives where they lived before."""
    homes = [one.object for one in read(text) if one.predicate == "lives_in"]
    assert homes == ([home] if home else [])


@pytest.mark.parametrize(
    "text",
    [
        "Should I move to Berlin?",
        "Do you live in Berlin?",
        "If I get the job, I'll move to Berlin",
        "Maybe I'll go to Rome",
        "I might move to Berlin",
        "I would never live in Berlin",
        "I wish I lived in Berlin",
        "Imagine I moved to Berlin",
        "I moved to Berlin, just kidding",
        'She told me "I moved to Berlin last year"',
        "He said he moved to Berlin",
        "Write a story: I live in Berlin",
        "In my dream I lived in Berlin",
        "My character lives in Berlin",
        "Can you help me with this?",
        "Please summarise this text",
        "Thanks, that's great!",
        "I think so too",
        "I'm so happy for you!",
        "I can't wait to see you",
        "That sounds amazing",
        "I love your painting",
        "I love it",
        "I almost moved to Berlin",
        "> I live in Berlin",
        "```\nI live in Berlin\n```",
    ],
)
def test_what_is_not_stated_is_not_read(text: str) -> None:
    """Questions, suppositions, jokes, quotations, reported speech, stories, requests and courtesy
    give no statement.
    """
    assert read(text) == ()


@pytest.mark.parametrize(("text", "effect"), [
    ("I moved to Berlin", "changes"), ("I live in Berlin", "states"), ("I no longer live in Berlin", "ends"), ("I used to live in Berlin",
    "ends"),
    ("I don't live in Berlin anymore", "ends"), ("I stopped smoking cigarettes", "ends"), ("I quit my job at Google", "ends"),
    ("I live in Berlin, not Paris", "corrects"),
])  # fmt: skip
def test_the_effect_of_a_statement_is_told(text: str, effect: str) -> None:
    """Whether a statement describes, changes, ends or corrects is part of what is read."""
    assert [candidate.effect for candidate in read(text)] == [effect]


def test_a_plan_or_wish_is_no_state() -> None:
    """Moving next month is a plan and wanting to live somewhere a wish;
    neither says where somebody lives.
    """
    for text in (
        "I'm moving to Lima next month",
        "I want to live in Lima",
        "I'd love to live in Lima",
        "I'm thinking of moving to Lima",
    ):
        assert all(candidate.predicate != "lives_in" for candidate in read(text)), text
    assert [candidate.modality for candidate in read("I want to become a counselor")] == ["wish"]


@pytest.mark.covers("S2.34", "S4.11")
def test_a_mark_before_a_statement_is_no_part_of_it() -> None:
    """A tag in brackets leaves no half of itself in the quotation; brackets within it stay."""
    quotes = [
        statement.evidence[0].quote
        for text in ("[ops] we deploy on Friday", "I work at Acme [Lyon] since May")
        for statement in read(text)
    ]
    assert quotes[0] == "we deploy on Friday"
    assert "[Lyon]" in quotes[1]


def test_a_user_without_a_name_is_the_user() -> None:
    """Without a name the subject is ``user`` and the sentence speaks of the user."""
    (found,) = read("I live in Berlin", name="")
    assert (found.subject, found.text) == ("user", "I live in Berlin")


def test_times_are_resolved_against_the_turn() -> None:
    """What happened yesterday has yesterday's date, wherever the word stands;
    what has lasted since 2010 began then.
    """
    (trip,) = read("Last Saturday I ran a charity race")
    assert trip.valid_from == datetime(2023, 5, 6, tzinfo=UTC)
    assert trip.text == "Last Saturday I ran a charity race"
    (home,) = read("I've lived in Paris since 2010")
    assert home.valid_from == datetime(2010, 1, 1, tzinfo=UTC)
    assert home.effect == "states"


@pytest.mark.parametrize(
    "text",
    [
        "The dentist moved my appointment to Friday.",
        "The school shifted the concert to June.",
        "The airline has moved my flight to Tuesday.",
    ],
)
def test_who_changes_something_is_not_what_changed(text: str) -> None:
    """No dentist "is Friday": the verb's object changed."""
    assert all(not candidate.predicate for candidate in read(text))


def test_hearsay_is_marked() -> None:
    """What one speaker says of another is hearsay; of somebody who is not there it is not."""
    assert [candidate.hearsay for candidate in read("Bob moved to Rome")] == [True]
    assert [candidate.hearsay for candidate in read("My sister moved to Rome")] == [False]


@pytest.mark.covers("S3.36")
def test_a_procedure_keeps_its_steps_and_its_trigger() -> None:
    """Numbered steps, or first-then-finally, become a procedure named by what it is for."""
    for text in (
        "To deploy the site: 1. build it 2. push it 3. restart nginx",
        "How to deploy the site:\n- build it\n- push it\n- restart nginx",
    ):
        found = next(candidate for candidate in read(text) if candidate.kind is Kind.PROCEDURE)
        assert found.steps == ("build it", "push it", "restart nginx")
        assert found.triggers == ("deploy the site",)
    told = next(
        candidate
        for candidate in read(
            "To make tea: first boil water, then add leaves, and finally wait 3 minutes"
        )
        if candidate.steps
    )
    assert told.steps == ("boil water", "add leaves", "wait 3 minutes")


@pytest.mark.covers("S3.24")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("From now on, answer in German", Kind.RULE),
        ("Always include version numbers when I ask about libraries.", Kind.RULE),
        ("Never suggest pork dishes", Kind.NEGATIVE),
        ("Please don't use emojis from now on", Kind.NEGATIVE),
        ("When I say 'ship it', run the deploy script", Kind.PROCEDURE),
        ("I prefer metric units", Kind.PREFERENCE),
        ("I live in Berlin", Kind.FACT),
        ("I live in Berlin, not Paris", Kind.CORRECTION),
    ],
)
def test_lasting_instructions_have_their_kind(text: str, kind: Kind) -> None:
    """Rules, things never to do, procedures, preferences, facts and corrections are told apart."""
    assert kind in [candidate.kind for candidate in read(text, name="")]


@pytest.mark.parametrize(
    "text",
    [
        "Use metric units here",
        "Answer in German this time",
        "I never eat pork",
        "I always loved the sea",
        "When I lived in Rome, I was happy",
    ],
)
def test_requests_for_now_and_habits_are_no_rules(text: str) -> None:
    """Only a lasting instruction is a rule:
    not a request for this turn, not what the speaker does.
    """
    assert all(candidate.subject != "assistant" for candidate in read(text))


@pytest.mark.covers("S4.8")
def test_remember_that_is_a_fact_and_not_a_rule() -> None:
    """``Remember that …`` gives the statement in it, or the words themselves where no rule reads
    them; never a rule.
    """
    (known,) = read("Please remember that my sister is allergic to nuts", name="")
    assert (known.kind, known.predicate, known.confidence) == (Kind.FACT, "allergic_to", 1.0)
    (verbatim,) = read("Remember that the spare key is under the mat", name="")
    assert (verbatim.kind, verbatim.text) == (Kind.FACT, "the spare key is under the mat")
    assert read("Remember to buy milk", name="") == ()


@pytest.mark.parametrize(
    ("text", "predicate", "value", "polarity"),
    [
        ("Ich wohne in Köln", "lives_in", "Köln", True),
        ("Ich bin nach Hamburg gezogen", "lives_in", "Hamburg", True),
        ("Ich arbeite jetzt bei Bosch", "works_at", "Bosch", True),
        ("Ich mag keine Katzen", "likes", "Katzen", False),
        ("Meine Lieblingsfarbe ist Blau", "favorite_color", "Blau", True),
        ("Vivo en Madrid", "lives_in", "Madrid", True),
        ("Me mudé a Valencia", "lives_in", "Valencia", True),
        ("No me gusta el té", "likes", "té", False),
        ("Soy alérgica a los cacahuetes", "allergic_to", "cacahuetes", True),
        ("J'habite à Lyon", "lives_in", "Lyon", True),
        ("J’ai déménagé à Nantes", "lives_in", "Nantes", True),
        ("Je n'aime pas le thé", "likes", "thé", False),
        ("我住在北京", "lives_in", "北京", True),
        ("我搬到上海了", "lives_in", "上海", True),
        ("我不喜欢咖啡", "likes", "咖啡", False),
        ("我对花生过敏", "allergic_to", "花生", True),
    ],
)
def test_other_languages_are_read(text: str, predicate: str, value: str, polarity: bool) -> None:
    """German, Spanish, French and Chinese sentences give the same predicates, and keep their
    language.
    """
    (found,) = read(text, name="")
    assert (found.subject, found.predicate, found.object, found.polarity) == (
        "user",
        predicate,
        value,
        polarity,
    )
    assert found.evidence[0].quote in text.replace("’", "'") or found.evidence[0].quote in text


@pytest.mark.parametrize(
    "text",
    [
        "Ich würde gern in Berlin wohnen",
        "Quiero mudarme a Valencia",
        "Je voudrais habiter à Paris",
        "我想搬到上海",
        "Wohnst du in Köln?",
        "你住在北京吗？",
    ],
)
def test_wishes_and_questions_in_other_languages_are_not_read(text: str) -> None:
    """A wish or a question in another language is no statement either."""
    assert read(text, name="") == ()


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=400)
    | st.lists(
        st.sampled_from(
            [
                "I",
                "my",
                "'m",
                "not",
                "never",
                "moved",
                "to",
                "Berlin",
                ",",
                ".",
                "?",
                "and",
                "because",
                '"she',
                'said"',
                "`code`",
                "2019",
                "yesterday",
                "live",
                "in",
                "the",
                "always",
            ]
        ),
        max_size=40,
    ).map(" ".join)
)
def test_any_text_gives_literal_evidence(text: str) -> None:
    """No text raises;
    every statement has words, a quote that stands in the text, and shares between 0 and 1.
    """
    for candidate in read(text):
        assert candidate.text.strip()
        assert candidate.evidence[0].quote in text
        assert 0 <= candidate.confidence <= 1
        assert 0 <= candidate.importance <= 1


@pytest.mark.parametrize("text", ["I " * 5000, "I'm " * 4000, "- " * 20_000, " " * 200_000 + "I live in Berlin", "my my my " * 3000,
"a" * 300_000, '"' * 50_000, "I live in " + "Berlin " * 5000, "`" * 40_000, "1. x " * 9000])  # fmt: skip
def test_long_hostile_text_is_read_through(text: str) -> None:
    """Huge and repetitive text is read to an end, and gives few statements."""
    assert len(read(text)) <= 24
