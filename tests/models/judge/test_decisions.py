"""Decision models over real HTTP, by the protocol that OpenAI's own client speaks."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from openai.types import Decision

from engrams.errors import ModelError, SettingsError
from engrams.models.judge.decisions import DecisionServerJudge
from engrams.ports import JudgeRequest
from engrams.testing import ScriptedModel, SettableClock

CLOCK = SettableClock()
TEXT = "Ann moved to Lisbon."


def is_about_lisbon(_text: str, statement: str) -> float:
    return 0.9 if "Lisbon" in statement else 0.1


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel(decide=is_about_lisbon) as model:
        yield model


def judge(server: ScriptedModel, **options: str) -> DecisionServerJudge:
    return DecisionServerJudge("decider", CLOCK, f"{server.url}/v1", **options)


def test_the_scripted_server_speaks_the_protocol(server: ScriptedModel) -> None:
    """OpenAI's client asks it and reads its answer."""
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        decision = client.decisions.create(
            model="decider",
            input=TEXT,
            questions=[{"type": "predicate", "name": "a", "instructions": "It names Lisbon."}],
        )
    assert Decision.model_validate(decision.model_dump()).answers[0].type == "predicate"
    assert decision.answers[0].probability == 0.9


def test_statements_get_probabilities_in_their_order(server: ScriptedModel) -> None:
    """One request asks all questions about one text."""
    request = JudgeRequest(TEXT, ("It names Lisbon.", "It names Turin."), 5)
    assert judge(server, key="k").judge(request) == (0.9, 0.1)
    (received,) = server.requests
    assert received.path == "/v1/decisions"
    assert received.headers["authorization"] == "Bearer k"
    assert received.body["input"] == TEXT
    assert [question["type"] for question in received.body["questions"]] == ["predicate"] * 2
    assert judge(server).judge(JudgeRequest(TEXT, ())) == ()


@pytest.mark.parametrize("fault", ["http_400", "http_500", "html", "reset", "hang"])
def test_a_failure_is_a_model_error(server: ScriptedModel, fault: str) -> None:
    """Whatever goes wrong, within the time, and without a word of the request."""
    server.fail(fault, only="decisions")
    with pytest.raises(ModelError) as caught:
        judge(server).judge(JudgeRequest(TEXT, ("It names Lisbon.",), 0.5))
    assert "Lisbon" not in caught.value.message


def test_too_many_questions_are_not_sent(server: ScriptedModel) -> None:
    """The protocol takes 400."""
    with pytest.raises(ModelError, match="401"):
        judge(server).judge(JudgeRequest(TEXT, ("It is true.",) * 401))
    assert server.requests == []


def test_an_address_is_checked() -> None:
    """Only http and https are addresses."""
    with pytest.raises(SettingsError):
        DecisionServerJudge("decider", CLOCK, "ftp://host")
