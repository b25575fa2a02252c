"""Two lanes of extraction, and reconciliation that is not sure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.write.conftest import Talk, digest_records

import engrams
from engrams import Turn
from engrams.core import EdgeType, Kind, Status
from engrams.errors import ModelError
from engrams.models.chat.factory import choose_chat
from engrams.settings import ChatSettings
from engrams.testing import ScriptedModel

FACTS = "as long-term memory of an assistant|Take: who people are"
RULES = "Take: what it must always"


def said(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "statements": [
            {
                "turn": 1,
                "subject": "user",
                "predicate": "likes",
                "confidence": 0.9,
                "importance": 0.6,
                **row,
            }
            for row in rows
        ]
    }


FACT = {"text": "The user likes tea.", "quote": "I like tea", "object": "tea", "kind": "preference"}
RULE = {
    "text": "Always answer in French.",
    "quote": "answer in French from now on",
    "subject": "assistant",
    "predicate": "always",
    "object": "answer in French",
    "kind": "rule",
}
TURN = "I like tea, and answer in French from now on."


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as made:
        yield made


@pytest.fixture
def talk(model: ScriptedModel) -> Iterator[Talk]:
    made = Talk(extraction_passes=2)
    made.chat = choose_chat(
        ChatSettings(provider="openai", model="m", url=model.url, retries=0, timeout_seconds=5),
        lambda: made.now,
    )
    yield made
    made.store.close()


@pytest.mark.covers("S4.2", "S4.60")
def test_two_lanes_report_side_by_side(talk: Talk, model: ScriptedModel) -> None:
    """Facts and rules are asked for apart;
    what each decided is told under its own name and hides nothing of the other's.
    """
    bad = {"text": "The user owns a yacht.", "quote": "I own a yacht"}
    model.when(RULES, said(RULE, bad)).when(FACTS, said(FACT, bad))
    digest = talk.say(TURN)
    assert sorted(fact.kind for fact in talk.facts()) == ["preference", "rule"]
    assert len([request for request in model.requests if "statements" in request.prompt]) == 2
    dropped = [decision.reason for decision in digest.decisions if decision.verdict == "drop"]
    assert sorted(dropped) == [
        "facts: its quote is not in the message",
        "rules: its quote is not in the message",
    ]


@pytest.mark.covers("S4.60")
@pytest.mark.parametrize(("broken", "kept"), [(RULES, Kind.PREFERENCE), (FACTS, Kind.RULE)])
def test_a_lane_that_fails_finds_nothing_by_itself(
    talk: Talk, model: ScriptedModel, broken: str, kept: Kind
) -> None:
    """One lane's failure is told and leaves the other's findings;
    the digest says which lane to try again.
    """
    model.when(RULES, said(RULE)).when(FACTS, said(FACT))
    model.fail("http_400", 9, when=broken)
    digest = talk.say(TURN)
    assert [fact.kind for fact in talk.facts()] == [kept]
    assert digest.failed_lane == ("rules" if broken is RULES else "facts")


def test_where_both_fail_the_job_is_tried_again(talk: Talk, model: ScriptedModel) -> None:
    """Nothing is learned, and nothing lost: the failure reaches the job."""
    model.fail("http_400", 9)
    with pytest.raises(ModelError):
        digest_records(talk.put(TURN).records, talk.deps)


@pytest.mark.covers("S4.60")
def test_the_lane_that_failed_comes_back(model: ScriptedModel) -> None:
    """A job of its own asks the failed lane again, and only that."""
    model.when(RULES, said(RULE)).when(FACTS, said(FACT))
    model.fail("http_400", 1, when=RULES)
    server = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__retries": 0,
    }
    with engrams.open(
        store__url=":memory:",
        jobs__workers=0,
        jobs__backoff_seconds=0,
        write__extraction_passes=2,
        sessions__trigger="turn",
        write__reconcile="rules",
        **server,
    ) as memory:
        memory.observe(Turn(TURN, session="s"), scope=("user", "alice"))
        memory.drain()
        kinds = sorted(
            record.kind
            for record in memory.list(scope=("user", "alice")).records
            if record.kind is not Kind.TURN
        )
        assert kinds == ["preference", "rule"]
        assert (
            len([request for request in model.requests if "Take: who people are" in request.prompt])
            == 1
        )


@pytest.mark.covers("S4.17")
def test_the_same_words_in_both_lanes_are_a_rule(talk: Talk, model: ScriptedModel) -> None:
    """What both lanes took from the very same words is kept as a rule."""
    both = {**FACT, "quote": RULE["quote"], "text": "The user likes French.", "object": "French"}
    model.when(RULES, said(RULE)).when(FACTS, said(both))
    talk.say(TURN)
    assert [fact.kind for fact in talk.facts()] == [Kind.RULE]


def decided(**row: Any) -> dict[str, Any]:
    return {"decisions": [{"new": 1, "verdict": "replace", "known": [1], "reason": "newer", **row}]}


@pytest.mark.covers("S4.26")
def test_what_a_model_is_not_sure_of_coexists(talk: Talk, model: ScriptedModel) -> None:
    """A replacement with low confidence keeps both, linked as contradicting;
    with high confidence it replaces.
    """
    for confidence, active in (("low", 2), ("high", 2)):
        talk.settings = talk.settings.model_copy(
            update={"write": talk.settings.write.model_copy(update={"extraction_passes": 1})}
        )
        word = f"band {confidence}"
        model.say(
            said(
                {
                    **FACT,
                    "quote": f"I adore {word}",
                    "object": word,
                    "text": f"The user adores {word}.",
                    "predicate": "adores",
                }
            )
        )
        if confidence == "high":
            model.say(decided(confidence="high"))
        talk.say(f"I adore {word}.")
        if confidence == "low":
            model.say(
                said(
                    {
                        **FACT,
                        "quote": "I loathe band low",
                        "object": "band low",
                        "text": "The user loathes it.",
                        "predicate": "loathes",
                    }
                )
            )
            model.say(decided(confidence="low"))
            talk.say("I loathe band low.")
            new = talk.facts()[-1]
            kinds = {edge.type for edge in talk.store.edges(new.scope.owner, [new.id])}
            assert EdgeType.CONTRADICTS in kinds
        assert len(talk.facts()) == active


@pytest.mark.covers("S4.26")
@pytest.mark.parametrize(
    ("setting", "status"), [("hold", Status.CANDIDATE), ("coexist", Status.ACTIVE)]
)
@pytest.mark.parametrize("wrong", [[99], "fails"])
def test_a_reconciliation_that_fails_writes_nothing_unasked(
    talk: Talk, model: ScriptedModel, setting: str, status: Status, wrong: Any
) -> None:
    """A number that is not in the list, or a model that fails:
    the statement is held, or, opted in, stands beside the other.
    """
    update = {"extraction_passes": 1, "reconcile_fallback": setting}
    talk.settings = talk.settings.model_copy(
        update={"write": talk.settings.write.model_copy(update=update)}
    )
    model.say(
        said(
            {
                **FACT,
                "quote": "I adore opera",
                "object": "opera",
                "text": "The user adores opera.",
                "predicate": "adores",
            }
        )
    )
    talk.say("I adore opera.")
    model.say(
        said(
            {
                **FACT,
                "quote": "I loathe opera",
                "object": "opera",
                "text": "The user loathes opera.",
                "predicate": "loathes",
            }
        )
    )
    if wrong == "fails":
        model.fail("http_400", 9, when="New statements:")
    else:
        model.say(*[decided(known=wrong)] * 4)
    talk.say("I loathe opera.")
    assert {fact.text: fact.status for fact in talk.facts(*Status)} == {
        "The user adores opera.": Status.ACTIVE,
        "The user loathes opera.": status,
    }
