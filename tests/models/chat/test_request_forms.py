"""Forms of a request: what a server refuses is found, remembered, and tried again."""

from __future__ import annotations

from contextlib import suppress

import pytest

from engrams.errors import ModelError
from engrams.models.chat.memory_ledger import InMemoryModelUsageLedger
from engrams.models.chat.port import JsonMode
from engrams.models.chat.request_forms import RequestFormLadder
from engrams.testing import SettableClock

GOOD = {"facts": ["a"]}


def forms(server, ledger=None, clock=None) -> RequestFormLadder:
    return RequestFormLadder(ledger=ledger, address=server.url, clock=clock or SettableClock())


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501, 502])
def test_a_refusal_that_names_its_field_steps_down_at_once(
    connect, ask, facts, server, status
) -> None:
    """Whatever the status: llama-cpp-python refuses ``json_schema`` with 500."""
    server.lacks.add("json_schema")
    server.refusal_status = status
    server.when("", GOOD)
    answer = connect(server).ask(ask(schema=facts))
    assert (answer.data, answer.calls) == (GOOD, 2)
    assert server.requests[1].body["response_format"] == {"type": "json_object", "schema": facts}


@pytest.mark.parametrize("lacks", [("json_schema",), ("schema",), ("schema", "tools")])
def test_the_same_unexplained_failure_twice_steps_down(connect, ask, facts, server, lacks) -> None:
    """A server that fails without a word is asked in lower forms, over several questions if need
    be, and what it takes is remembered.
    """
    server.lacks.update(lacks)
    server.refusal_status = 500
    server.refusal_words = False
    server.when("", GOOD)
    model = connect(server)
    answers = []
    for _ in range(3):
        with suppress(ModelError):
            answers.append(model.ask(ask(schema=facts)))
    assert answers[0].data == GOOD
    assert model.ask(ask(schema=facts)).calls == 1


def test_a_server_that_is_down_keeps_its_form(connect, ask, facts, server) -> None:
    """Failures of every form have another reason: afterwards the best form is asked for."""
    server.when("", GOOD).fail("http_500", times=10)
    model = connect(server, retries=9)
    with pytest.raises(ModelError):
        model.ask(ask(schema=facts))
    assert len(server.requests) == 10
    answer = model.ask(ask(schema=facts))
    assert (answer.calls, model._forms.current().json_mode) == (1, JsonMode.SCHEMA)


@pytest.mark.parametrize("status", [400, 500])
def test_each_parameter_is_given_up_by_itself(connect, ask, facts, server, status) -> None:
    """A model without temperature, system role, ``max_tokens`` and whole answers gets the question
    nevertheless.
    """
    server.lacks.update(["temperature", "system", "max_tokens", "whole"])
    server.refusal_status = status
    server.when("", GOOD)
    model = connect(server)
    assert model.ask(ask("What do I like?", schema=facts)).data == GOOD
    assert model.ask(ask("What do I like?", schema=facts)).calls == 1
    last = server.requests[-1]
    assert last.messages == (("user", "You are brief.\n\nWhat do I like?"),)
    assert last.body["response_format"]["type"] == "json_schema"
    assert last.body["stream"] is True
    assert last.body["max_completion_tokens"] == 1024
    assert not {"max_tokens", "temperature"} & set(last.body)


def test_a_server_without_any_limit_is_asked_without(connect, ask, server) -> None:
    """Neither name of the limit is sent where both are refused."""
    server.lacks.update(["max_tokens", "max_completion_tokens"])
    assert connect(server).ask(ask("hello")).text == "echo: hello"
    assert not {"max_tokens", "max_completion_tokens"} & set(server.requests[-1].body)


def test_a_tool_call_comes_through_a_stream(connect, ask, facts, server) -> None:
    """The arguments of a streamed tool call are joined."""
    server.lacks.update(["whole", "schema"])
    server.when("", GOOD)
    assert connect(server).ask(ask(schema=facts)).data == GOOD
    assert server.requests[-1].body["tool_choice"]


def test_what_was_learnt_is_stored(connect, ask, facts, server) -> None:
    """The next process asks at once in the form that worked, and knows what the server said."""
    ledger = InMemoryModelUsageLedger()
    server.lacks.add("json_schema")
    server.when("", GOOD)
    assert connect(server, forms=forms(server, ledger)).ask(ask(schema=facts)).calls == 2
    next_forms = forms(server, ledger)
    assert connect(server, forms=next_forms).ask(ask(schema=facts)).calls == 1
    assert "Input should be" in next_forms.refusals()["json schema"]
    assert RequestFormLadder(ledger=ledger, address="other").current().json_mode is JsonMode.SCHEMA


def test_the_best_form_is_tried_again_after_a_day(connect, ask, facts, server) -> None:
    """A server that has learnt schemas gets them a day later; one that has not is asked once."""
    clock = SettableClock()
    ledger = InMemoryModelUsageLedger()
    server.lacks.add("json_schema")
    server.when("", GOOD)
    model = connect(server, forms=forms(server, ledger, clock))
    model.ask(ask(schema=facts))
    clock.forward(hours=23)
    assert model.ask(ask(schema=facts)).calls == 1
    clock.forward(hours=2)
    assert [model.ask(ask(schema=facts)).calls for _ in range(2)] == [2, 1]
    server.lacks.clear()
    clock.forward(hours=25)
    assert model.ask(ask(schema=facts)).calls == 1
    assert server.requests[-1].body["response_format"]["type"] == "json_schema"
    assert forms(server, ledger, clock).refusals() == {}


def test_another_version_is_tried_again(connect, ask, facts, server) -> None:
    """A new version of the server is asked in the best form, though not more often than hourly."""
    clock = SettableClock()
    server.lacks.add("json_schema")
    server.when("", GOOD)
    model = connect(server, forms=forms(server, None, clock))
    server.version = "1"
    model.ask(ask(schema=facts))
    server.version = "2"
    assert [model.ask(ask(schema=facts)).calls for _ in range(2)] == [1, 1]
    clock.forward(hours=2)
    assert [model.ask(ask(schema=facts)).calls for _ in range(3)] == [1, 2, 1]


def test_an_error_holds_the_servers_words_without_the_request(connect, ask, server) -> None:
    """What the server said stands in the error, without key, without memory, and cut."""
    server.fail("http_400")
    with pytest.raises(ModelError) as caught:
        connect(server, key="sk-very-secret").ask(ask("My sister Olga lives in Turin."))
    assert "Scripted failure while answering" in caught.value.message
    for word in ("Olga", "Turin", "sister", "secret"):
        assert word not in caught.value.message
    assert len(caught.value.message) < 600
