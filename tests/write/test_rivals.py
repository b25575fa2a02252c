"""What a model is shown as contradicted (003):
of the same category, near in meaning, the nearest five.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from tests.write.conftest import ALICE, Talk, digest_records

from engrams.core import EdgeType, Status
from engrams.models.chat.factory import choose_chat
from engrams.ports import EmbedderCard
from engrams.settings import ChatSettings, load
from engrams.testing import ScriptedModel

MEETS = "how it meets what is known"


class Angles:
    """An embedder for texts that say how near they are to the new one:
    ``… at 0.50`` has that cosine to a text without a number.
    """

    card = EmbedderCard("angles", 64)

    def embed(
        self, texts: Sequence[str], _purpose: Literal["query", "document"] = "document"
    ) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(rows, texts, strict=True):
            _, _, number = text.partition(" at ")
            cosine = float(number or 1.0)
            row[0], row[1 + round(100 * cosine) % 63] = cosine, math.sqrt(1 - cosine * cosine)
        return rows


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that lets everything stand, if a test does not say otherwise."""
    with ScriptedModel() as made:
        yield made


@pytest.fixture
def talk(model: ScriptedModel) -> Iterator[Talk]:
    """A conversation learned from as the preset of the memory graph asks for it."""
    preset = load({"preset": "graph"}, environ={}).settings.write
    made = Talk(
        contradiction_cosine=preset.contradiction_cosine,
        reconcile_fallback=preset.reconcile_fallback,
    )
    made.embedder = Angles()
    made.chat = choose_chat(
        ChatSettings(provider="openai", model="m", url=model.url, retries=0, timeout_seconds=5),
        lambda: made.now,
    )
    yield made
    made.store.close()


def row(text: str, quote: str, number: int, category: str = "taste") -> dict[str, Any]:
    """A statement as the model gives it."""
    told = {"subject": "user", "predicate": f"p{number}", "object": quote}
    return {
        "turn": 1,
        "text": text,
        "quote": quote,
        "category": category,
        "kind": "fact",
        "confidence": 0.9,
        **told,
    }


def know(talk: Talk, model: ScriptedModel, *cosines: float, category: str = "taste") -> None:
    """What is known already, at these cosines to what is said next."""
    for number, cosine in enumerate(cosines):
        model.say(
            {
                "statements": [
                    row(
                        f"Known {category} at {cosine:.2f}",
                        f"word{number} of {category}",
                        number,
                        category,
                    )
                ]
            }
        )
        talk.say(f"I said word{number} of {category} {cosine}")


def learn(talk: Talk, model: ScriptedModel) -> None:
    """The new statement."""
    model.say({"statements": [row("Something new", "brand new", 99)]})
    talk.say("I said something brand new")


def shown(model: ScriptedModel) -> list[str]:
    """The known statements that the model was asked about last."""
    prompts = [
        request.prompt
        for request in model.requests
        if MEETS in request.prompt and '"Something new"' in request.prompt
    ]
    known = (
        prompts[-1].partition("Known statements:")[2].partition("New statements:")[0]
        if prompts
        else ""
    )
    return [
        line.split('"')[1].rpartition(" at ")[2]
        for line in known.splitlines()
        if line[:1].isdigit()
    ]


@pytest.mark.covers("S3.42")
def test_the_nearest_five_are_shown(talk: Talk, model: ScriptedModel) -> None:
    """Of seven that are near enough the five nearest, nearest first."""
    know(talk, model, 0.55, 0.95, 0.6, 0.8, 0.5, 0.9, 0.7)
    learn(talk, model)
    assert shown(model) == ["0.95", "0.90", "0.80", "0.70", "0.60"]


@pytest.mark.covers("S3.42")
def test_what_is_farther_or_of_another_category_is_not_shown(
    talk: Talk, model: ScriptedModel
) -> None:
    """A cosine of 0.5 is near enough, 0.49 is not;
    a statement of another category never is, however near.
    """
    know(talk, model, 0.5, 0.49)
    know(talk, model, 0.98, category="work")
    learn(talk, model)
    assert shown(model) == ["0.50"]


@pytest.mark.covers("S3.42")
def test_nothing_near_is_no_question(talk: Talk, model: ScriptedModel) -> None:
    """Without a candidate the model is not asked, and the statement is stored."""
    know(talk, model, 0.3)
    learn(talk, model)
    assert shown(model) == []
    assert "Something new" in talk.texts()


@pytest.mark.covers("S3.42")
@pytest.mark.parametrize("fault", ["http_500", "bad_json", "empty", "html"])
def test_a_model_that_fails_contradicts_nothing(
    talk: Talk, model: ScriptedModel, fault: str
) -> None:
    """Both statements stand, without a link of contradiction between them."""
    know(talk, model, 0.9)
    model.fail(fault, times=20, when=MEETS)
    learn(talk, model)
    assert sorted(talk.texts()) == ["Known taste at 0.90", "Something new"]
    assert talk.facts(Status.SUPERSEDED) == []
    links = talk.store.edges(ALICE, [record.id for record in talk.facts()])
    assert not [edge for edge in links if edge.type in (EdgeType.CONTRADICTS, EdgeType.SUPERSEDES)]


@pytest.mark.covers("S3.42")
def test_statements_of_one_message_are_candidates_for_each_other(
    talk: Talk, model: ScriptedModel
) -> None:
    """What was learned a moment ago, in the same piece of work, may be contradicted too:
    one question shows both.
    """
    rows = [row("Known taste at 0.90", "word one", 1), row("Something new", "brand new", 99)]
    model.say({"statements": [rows[0]]}, {"statements": [rows[1]]})
    journaled = talk.put("I said word one", "I said brand new")
    assert len(journaled.records) == 2
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update={"batch_turns": 1})}
    )
    model.when(MEETS, {"decisions": [{"new": 2, "verdict": "conflict", "earlier": [1]}]})
    made = digest_records(journaled.records, talk.deps)
    assert sum(MEETS in request.prompt for request in model.requests) == 1
    assert [derived.verdict for derived in made.derived] == ["add", "conflict"]
