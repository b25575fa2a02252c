"""Every way in which a model server can fail, over real HTTP, against both protocols, with and
without a schema.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.models.conftest import spent_today

from engrams.errors import BudgetError, ModelError
from engrams.ports import ChatRequest
from engrams.testing import ScriptedFault, ScriptedModel

GOOD = {"facts": ["Alice lives in Lisbon", 'Bob\'s cat is called "Mia"']}
FREE = "All is well."

# fault -> calls until the answer is right, with a schema and for free text
CONTENT = {
    "bad_json": (2, 1),
    "sloppy": (1, 1),
    "fenced": (1, 1),
    "prose": (1, 1),
    "thinking": (1, 1),
    "truncated": (2, 1),
    "wrong_ids": (1, 1),
    "empty": (2, 2),
    "deletes_only": (1, 1),
}
TRANSPORT = (
    "http_408",
    "http_429",
    "http_500",
    "http_502",
    "http_503",
    "http_529",
    "html",
    "hang",
    "reset",
    "disconnect",
    "error",
)
PERMANENT = ("http_400", "http_401", "http_403", "http_404", "http_413", "http_422")
PROVIDERS = ("openai", "ollama")


def prepared(server: ScriptedModel, wants_json: bool) -> ScriptedModel:
    return server.when("", GOOD if wants_json else FREE)


@pytest.mark.covers("S1.14")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", CONTENT)
def test_an_answer_with_a_flaw_ends_right(connect, ask, facts, server, provider, fault) -> None:
    """A flawed JSON answer is read where that is safe and asked for again where it is not, and then
    it is the right one.
    """
    prepared(server, True).fail(fault)
    answer = connect(server, provider).ask(ask(schema=facts))
    assert answer.data == GOOD
    assert answer.calls == len(server.requests) == CONTENT[fault][0]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", CONTENT)
def test_free_text_is_taken_as_it_comes(connect, ask, server, provider, fault) -> None:
    """Free text needs no repair;
    only an empty answer is asked for again, and thoughts are left out.
    """
    prepared(server, False).fail(fault)
    answer = connect(server, provider).ask(ask())
    assert answer.text
    assert answer.data is None
    assert answer.calls == len(server.requests) == CONTENT[fault][1]
    if fault in ("thinking", "empty", "sloppy", "wrong_ids", "deletes_only"):
        assert answer.text == FREE


@pytest.mark.parametrize("wants_json", [True, False], ids=["schema", "free"])
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", TRANSPORT)
def test_a_passing_failure_is_tried_again(  # noqa: PLR0913 - fixtures and the columns of a case
    connect, ask, facts, server, provider, fault, wants_json
) -> None:
    """After two failures that waiting may cure the answer is right, and every request was counted."""
    prepared(server, wants_json).fail(fault, times=2)
    model = connect(server, provider, timeout=0.5 if fault == "hang" else 5.0)
    answer = model.ask(ask(schema=facts if wants_json else None))
    assert (answer.data == GOOD) if wants_json else (answer.text == FREE)
    usage = model.meter.snapshot()["test"]
    assert (answer.calls, usage.calls, usage.failures, len(server.requests)) == (3, 3, 2, 3)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", [*TRANSPORT, "empty"])
def test_a_lasting_failure_is_a_model_error_that_waiting_may_cure(
    connect, ask, facts, server, provider, fault
) -> None:
    """When every try fails there is a ModelError, retryable, after exactly the tries that the
    settings allow.
    """
    prepared(server, True).fail(fault, times=50)
    model = connect(
        server, provider, retries=2, corrections=2, timeout=0.2 if fault == "hang" else 5.0
    )
    with pytest.raises(ModelError) as caught:
        model.ask(ask(schema=facts))
    assert caught.value.retryable
    assert caught.value.message
    assert len(server.requests) == 3
    server.heal()
    assert model.ask(ask(schema=facts)).data == GOOD


@pytest.mark.parametrize("wants_json", [True, False], ids=["schema", "free"])
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", PERMANENT)
def test_a_permanent_refusal_is_not_repeated(  # noqa: PLR0913 - fixtures and the columns of a case
    connect, ask, facts, server, provider, fault, wants_json
) -> None:
    """A refusal that waiting cannot cure raises at once, says what to do, and does not stop the
    next question.
    """
    prepared(server, wants_json).fail(fault)
    model = connect(server, provider)
    with pytest.raises(ModelError) as caught:
        model.ask(ask(schema=facts if wants_json else None))
    assert not caught.value.retryable
    assert len(server.requests) == 1
    assert str(ScriptedFault(fault).status) in caught.value.message
    assert model.ask(ask()).text


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_closed_port_is_a_model_error_and_then_forgotten(
    connect, ask, facts, server, provider
) -> None:
    """While nothing listens each ask raises ModelError;
    when the server is back, the same model works.
    """
    prepared(server, True)
    model = connect(server, provider, retries=1)
    assert model.ask(ask(schema=facts)).data == GOOD
    with server.down(), pytest.raises(ModelError, match=r"reached|broke") as caught:
        model.ask(ask(schema=facts))
    assert caught.value.retryable
    assert caught.value.hint
    assert model.ask(ask(schema=facts)).data == GOOD


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_slow_answer_in_time_is_an_answer(connect, ask, facts, server, provider) -> None:
    """An answer that drips in within the time is read to its end."""
    prepared(server, True).fail("slow", seconds=0.01)
    answer = connect(server, provider).ask(ask(schema=facts))
    assert (answer.data, answer.calls) == (GOOD, 1)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", [*CONTENT, *TRANSPORT, *PERMANENT])
def test_nothing_else_is_ever_raised(
    connect: Callable,
    ask: Callable[..., ChatRequest],
    facts: dict,
    server: ScriptedModel,
    provider: str,
    fault: str,
) -> None:
    """Whatever goes wrong, under a budget that runs out on the way, only ModelError and BudgetError
    come out.
    """
    prepared(server, True).fail(fault, times=3)
    model = connect(
        server,
        provider,
        timeout=0.1 if fault == "hang" else 5.0,
        retries=1,
        corrections=1,
        daily_calls=4,
    )
    problems: list[ModelError | BudgetError] = []
    for _ in range(6):
        try:
            assert set(model.ask(ask(schema=facts)).data) == {"facts"}
        except (ModelError, BudgetError) as problem:
            problems.append(problem)
    assert all(problem.message for problem in problems)
    assert isinstance(problems[-1], BudgetError)
    assert "resets at 2026-01-06 00:00 UTC" in problems[-1].hint
    assert len(server.requests) <= 4
    assert spent_today(model.budget)[0] == len(server.requests)
