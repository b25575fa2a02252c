"""What helps is put into a prompt, and nothing where nothing helps: by every door alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from engrams.core import Turn
from engrams.engine import MemoryEngine
from engrams.read.relevance.model import load_model
from engrams.read.relevance.text_traits import describe_prompt, is_vague
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
SAID = (
    "I started a new job at the harbour office, the desk faces the water",
    "My sister Ife gets married on 11 October at Ballyrane House in Cork",
    "Our landlord wants the flat in Oxford Street empty by the end of May",
    "The kitchen from Westside Joinery costs 8,400 with fitting",
    "Hazelnuts and I do not get along, I carry an EpiPen because of them",
    "Tom turned vegetarian after that documentary, no fish either",
    "Gemma walks the dog on Wednesdays for 14 pounds an hour",
    "We signed with Clearline for broadband, 27 pounds until May 2027",
    "My left knee clicks since the ski trip, so no downhill runs",
    "The Hoka Clifton in 39.5 wide is the shoe that works for me",
    "Mum turns 65 on the second of November, she collects enamel teapots",
    "I booked the flight to Cork for Thursday 9 October at 10:25",
    "The choir moved to Thursdays at half past seven",
    "My running days are Monday, Wednesday and Saturday now",
    "The car is a grey Dacia with the plate CP73 KLO",
    "Please write to me in plain sentences, without bullet points",
    "The allotment is number 14 and the rent is due in October",
    "We picked sage green dresses for the bridesmaids",
    "The vet is in Redland and opens at eight on weekdays",
    "I read Foster on the ferry and it made me cry",
    "The boiler was serviced in January by Harris Heating",
    "Our passports are in the blue folder in my desk",
    "The piano tuner comes every March and costs ninety",
    "I learned to make sourdough from the neighbour upstairs",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    clock = SettableClock(START)
    with temp_engine(jobs__workers=0, clock=clock) as engine:
        for text in SAID:
            engine.observe([Turn(text, "user", session=text[:8])], scope=ANN)
            clock.forward(days=2)
        engine.drain(60)
        yield engine


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("when does my flight to Cork leave?", "10:25"),
        ("what is the plate of our car?", "CP73 KLO"),
        ("how much do we pay for broadband?", "Clearline"),
    ],
)
def test_what_helps_is_shown_by_search_and_context_alike(
    engine: MemoryEngine, question: str, answer: str
) -> None:
    """The answer helps, with a probability and reasons; the context has it and little else."""
    result = engine.search(question, scope=ANN)
    context = engine.context(question, scope=ANN)
    assert not result.abstain
    assert answer in result.helpful[0].record.text
    assert result.helpful[0].probability is not None
    assert 0 < result.helpful[0].probability <= 1
    assert result.trace.rows[0].reasons
    assert answer in context.tail
    assert 1 <= len(context.hits) <= 5
    assert len(result.hits) == 10


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("thanks, you're a star", "greeting, thanks or a farewell"),
        ("convert 13.1 miles into km", "a task that brings what it needs"),
        ("what is 7 times 13", "a task that brings what it needs"),
        ("how do bees make wax?", "asks about the world"),
        ('translate into French: "The lesson begins an hour later tomorrow."', "a task"),
        ("quanto é 10200 a dividir por 12", "a task that brings what it needs"),
        ("traduz para inglês: a aula começa amanhã mais tarde", "a task"),
    ],
)
def test_where_nothing_helps_nothing_is_put_in(
    engine: MemoryEngine, prompt: str, reason: str
) -> None:
    """Thanks, tasks and questions about the world get nothing, with a reason; the nearest memories
    are there for whoever looks.
    """
    result = engine.search(prompt, scope=ANN)
    assert result.abstain
    assert result.helpful == ()
    assert result.hits
    context = engine.context(prompt, scope=ANN)
    assert (context.tail, context.hits) == ("", ())
    if not prompt.startswith("thanks"):
        assert context.closest
        assert any(reason in note for note in context.notes)
    assert any(reason in note for note in result.notes)


def test_a_vague_prompt_is_completed_from_the_conversation(engine: MemoryEngine) -> None:
    """ "Would that be ok for me?" is asked for what was just proposed; a pick asks for nothing."""
    proposed = [
        {"role": "user", "content": "Gemma brings brownies to the clinic"},
        {"role": "assistant", "content": "Lovely. Hazelnut brownies, with an EpiPen at hand?"},
    ]
    vague = "would that be ok for me?"
    completed = engine.context(vague, scope=ANN, before=proposed)
    assert "EpiPen" in completed.hits[0].record.text
    assert "EpiPen" not in engine.context(vague, scope=ANN).tail
    turn = [*proposed, {"role": "user", "content": vague}]
    assert "EpiPen" in engine.deliver(turn, scope=ANN, session="new").tail
    assert engine.context("the second one", scope=ANN, before=proposed).tail == ""


def test_a_preset_that_promises_its_own_formula_judges_nothing(engine: MemoryEngine) -> None:
    """With ``read.least_need`` 0, what is near helps, and no hit has a probability."""
    with temp_engine(jobs__workers=0, read__least_need=0.0) as plain:
        for text in SAID:
            plain.add(text, scope=ANN)
        result = plain.search("when does my flight to Cork leave?", scope=ANN)
        assert {hit.probability for hit in result.hits} == {None}
        assert result.helpful == result.hits


def test_prompts_are_told_apart_by_their_words() -> None:
    """Traits of prompts, in several languages."""
    assert is_vague("was schlägst du vor?")
    assert is_vague("comme la dernière fois")
    assert not is_vague("What night is choir?")
    assert describe_prompt("le deuxième").points_back
    assert describe_prompt("jajaja buenas noches").is_social
    assert describe_prompt("what is 7 times 13").is_arithmetic
    assert not describe_prompt("Where are our passports?").has_payload


def test_the_model_is_small_and_rises_where_it_must() -> None:
    """A nearer hit never has less of a chance than one that is the same in everything else."""
    from engrams.read.relevance.features import HIT_FEATURES

    model = load_model()
    assert model.trees.leaves.size < 4096
    import numpy as np

    rows = np.zeros((50, len(HIT_FEATURES)))
    for name in ("near", "coverage", "cos_z", "shared_share"):
        rows[:] = 0.5
        rows[:, HIT_FEATURES.index(name)] = np.linspace(-1, 3, 50)
        assert (np.diff(model.judge_hits(rows)) >= -1e-9).all(), name


def test_a_record_of_the_past_alone_helps_only_who_asks_for_the_past(engine: MemoryEngine) -> None:
    """A note that says of itself that it is kept for the record is no answer about today."""
    old = "Sewing machine: formerly a Pfaff 138 with a treadle. Kept for the record only."
    engine.add(old, scope=ANN)
    today = engine.search("how is the treadle of the Pfaff sewing machine doing?", scope=ANN)
    before = engine.search("which sewing machine did I have before?", scope=ANN)
    assert old in [hit.record.text for hit in today.hits]
    assert old not in [hit.record.text for hit in today.helpful]
    assert old in [hit.record.text for hit in before.helpful]


@pytest.mark.parametrize(
    ("messages", "question", "answer"),
    [
        (["We use bun now instead of pnpm."], "Which package manager do we use?", "bun"),
        (
            ["My daughter is called Emma.", "My son is called Tim, he is 4."],
            "How old is Tim?",
            "he is 4",
        ),
        (
            ["Standup moved to 10.", "Thanks, that helped.", "I watched a film about whales."],
            "When is standup?",
            "moved to 10",
        ),
        (["My daughter is called Emma.", "I have two cats."], "What is the capital of Peru?", ""),
        (["My daughter is called Emma.", "I have two cats."], "How many people live in Rome?", ""),
        (["I work as a nurse in Leeds."], "Explain photosynthesis to me", ""),
    ],
)
def test_the_first_messages_are_judged_too(messages: list[str], question: str, answer: str) -> None:
    """A memory of one to three messages gives what answers alone, and nothing where none does."""
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        for text in messages:
            engine.observe([Turn(text, "user", session=text[:8])], scope=ANN)
        result = engine.search(question, scope=ANN)
    assert [answer in hit.record.text for hit in result.helpful] == [True] * bool(answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what is the plate of our car?", "CP73 KLO"),
        ("when does my flight to Cork leave?", "10:25"),
        ("how long is a marathon?", ""),
        ("translate 'good evening' into Czech", ""),
    ],
)
def test_a_small_memory_is_judged_as_a_large_one(question: str, answer: str) -> None:
    """Of six messages one answers, or none does."""
    with temp_engine(jobs__workers=0, clock=SettableClock(START)) as engine:
        for text in SAID[10:16]:
            engine.observe([Turn(text, "user", session=text[:8])], scope=ANN)
        result = engine.search(question, scope=ANN)
    assert [answer in hit.record.text for hit in result.helpful] == [True] * bool(answer)
