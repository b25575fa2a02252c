"""Asking for JSON in the best way that a server supports, and telling the model what was wrong."""

from __future__ import annotations

import json

import pytest

from engrams.errors import ModelError, is_unusable
from engrams.models.chat.port import JsonMode
from engrams.models.chat.schema_check import check
from engrams.testing import ScriptedReply, ScriptedToolCall

PROVIDERS = ("openai", "ollama")


def way_of(request) -> str:
    body = request.body
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_schema" or isinstance(body.get("format"), dict):
        return "schema"
    if response_format:
        return "object_schema" if "schema" in response_format else "object"
    if body.get("format"):
        return "object"
    if body.get("tools"):
        return "tool"
    return "prompt"


@pytest.mark.parametrize(
    ("provider", "lacks", "ways"),
    [
        ("openai", (), ["schema"]),
        ("openai", ("json_schema",), ["schema", "object_schema"]),
        ("openai", ("schema",), ["schema", "object_schema", "tool"]),
        (
            "openai",
            ("json_schema", "object_schema", "tools"),
            ["schema", "object_schema", "tool", "object"],
        ),
        ("openai", ("schema", "tools"), ["schema", "object_schema", "tool", "object", "prompt"]),
        ("ollama", (), ["schema"]),
        ("ollama", ("schema",), ["schema", "tool"]),
        ("ollama", ("schema", "tools"), ["schema", "tool", "object", "prompt"]),
    ],
)
def test_the_best_way_that_works_is_found_and_remembered(  # noqa: PLR0913 - fixtures and the columns of a case
    connect, ask, facts, server, provider, lacks, ways
) -> None:
    """A refused way moves one step down; the next question starts with what worked."""
    server.lacks.update(lacks)
    server.when("", {"facts": ["a"]})
    model = connect(server, provider)
    first = model.ask(ask(schema=facts))
    second = model.ask(ask(schema=facts))
    assert first.data == second.data == {"facts": ["a"]}
    assert [way_of(request) for request in server.requests] == [*ways, ways[-1]]
    assert (first.calls, second.calls, model._forms.current().json_mode) == (
        len(ways),
        1,
        JsonMode(ways[-1]),
    )


def test_each_way_carries_the_schema(connect, ask, facts, server) -> None:
    """The schema goes with the request:
    in response_format, as the tool's parameters, or in the system message.
    """
    server.when("", {"facts": []})
    model = connect(server)
    for lack in ("schema", "tools", "max_tokens"):
        model.ask(ask(schema=facts))
        server.lacks.add(lack)
    by_schema, _, _, by_tool, _, _, by_prompt = server.requests
    assert by_schema.body["response_format"]["json_schema"] == {
        "name": "answer",
        "schema": facts,
        "strict": True,
    }
    assert by_tool.body["tools"][0]["function"]["parameters"] == facts
    assert (
        by_tool.body["tool_choice"]["function"]["name"]
        == by_tool.body["tools"][0]["function"]["name"]
    )
    role, text = by_prompt.messages[0]
    assert role == "system"
    assert json.dumps(facts) in text


def test_a_server_that_ignores_the_schema_is_found_out(connect, ask, facts, server) -> None:
    """Two answers in a row without any JSON are taken as a refusal:
    the next question says in words what is wanted.
    """
    server.say("I like prose.", "I really do.", {"facts": ["a"]}, {"facts": ["b"]})
    model = connect(server)
    assert model.ask(ask(schema=facts)).data == {"facts": ["a"]}
    assert model.ask(ask(schema=facts)).data == {"facts": ["b"]}
    assert [way_of(request) for request in server.requests] == [
        "schema",
        "schema",
        "object_schema",
        "object_schema",
    ]


def test_a_refusal_for_another_reason_changes_nothing(connect, ask, facts, server) -> None:
    """A 400 that mentions a schema only because it quotes the prompt does not move a working server
    down for good.
    """
    model = connect(server)
    server.fail("http_400", times=3)
    with pytest.raises(ModelError):
        model.ask(ask("What is a schema, and which tool and function use it?", schema=facts))
    assert model._forms.current().json_mode is JsonMode.SCHEMA


def test_parameters_that_a_model_does_not_take_are_left_out(connect, ask, server) -> None:
    """A refusal of max_tokens or of the temperature is learned from at once and for good."""
    server.lacks.update(["max_tokens", "temperature"])
    model = connect(server)
    assert model.ask(ask("one", max_tokens=7)).calls == 3
    assert model.ask(ask("two", max_tokens=7)).calls == 1
    last = server.requests[-1].body
    assert last["max_completion_tokens"] == 7
    assert not {"max_tokens", "temperature"} & set(last)


def test_ollama_learns_too(connect, ask, server) -> None:
    """A model that knows no thinking is asked without it;
    a long prompt asks for the window that it needs.
    """
    server.lacks.add("think")
    model = connect(server, "ollama")
    assert model.ask(ask("x" * 30_000, max_tokens=100)).calls == 2
    assert server.requests[0].body["think"] is False
    assert "think" not in server.requests[1].body
    assert server.requests[1].body["options"] == {
        "num_predict": 100,
        "temperature": 0.0,
        "num_ctx": 8192,
    }
    model.ask(ask("short", temperature=None))
    assert server.requests[2].body["options"] == {"num_predict": 1024}


@pytest.mark.covers("S2.41")
def test_an_id_outside_the_list_is_told_to_the_model_three_times(connect, ask, server) -> None:
    """Numbers that were not in the list are refused with the reason in a new message, three times,
    and then it is an error.
    """
    schema = {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}}
        },
        "required": ["ids"],
    }
    server.when("", {"ids": [2]}).fail("wrong_ids", times=2)
    model = connect(server)
    assert model.ask(ask(schema=schema)).data == {"ids": [2]}
    told = server.requests[1].messages
    assert told[:2] == server.requests[0].messages
    assert told[2] == ("assistant", '{"ids": [999999]}')
    assert told[3][0] == "user"
    assert "$.ids[0] must be at most 3" in told[3][1]
    assert json.dumps(schema) in told[3][1]
    assert len(server.requests[2].messages) == 4

    server.requests.clear()
    server.fail("wrong_ids", times=9)
    with pytest.raises(ModelError) as caught:
        model.ask(ask(schema=schema))
    assert len(server.requests) == 4
    assert is_unusable(caught.value)
    assert "to the step " in caught.value.message
    assert caught.value.retryable
    assert model.meter.total().corrections == 6


def test_a_cut_answer_gets_more_room(connect, ask, facts, server) -> None:
    """An answer that hit the token limit is asked for again with twice the room, four times at
    most.
    """
    long = ScriptedReply('{"facts": ["one", "two", "thr', finish="length")
    server.say(long, long, long, {"facts": ["all"]})
    assert connect(server).ask(ask(schema=facts, max_tokens=100)).data == {"facts": ["all"]}
    assert [request.body["max_tokens"] for request in server.requests] == [100, 200, 400, 400]


def test_what_was_complete_is_kept_when_it_never_fits(connect, ask, facts, server) -> None:
    """When every answer is cut off, the whole items of the last one are the answer;
    with none it is an error.
    """
    long = ScriptedReply('{"facts": ["one", "two", "thr', finish="length")
    server.say(*[long] * 3)
    answer = connect(server, corrections=2).ask(ask(schema=facts))
    assert (answer.data, answer.calls) == ({"facts": ["one", "two"]}, 3)
    server.say(*[ScriptedReply('{"facts": ["on', finish="length")] * 3)
    with pytest.raises(ModelError, match="cut off"):
        connect(server, corrections=2).ask(ask(schema=facts))


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, ["a"]),
        ({"type": "string"}, "word"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        (
            {
                "type": "array",
                "items": {"$ref": "#/$defs/N"},
                "minItems": 1,
                "$defs": {"N": {"type": "integer"}},
            },
            [0],
        ),
    ],
)
@pytest.mark.parametrize("lacks", [(), ("schema",), ("schema", "tools")])
def test_a_schema_need_not_be_an_object(connect, ask, server, schema, data, lacks) -> None:
    """Lists and scalars travel in an object, as servers demand, and come back bare."""
    server.lacks.update(lacks)
    model = connect(server)
    server.when("", {"value": data})
    answer = model.ask(ask(schema=schema))
    assert answer.data == data
    assert check(answer.data, schema) == []
    if not lacks:
        assert server.requests[0].schema["type"] == "object"


def test_a_list_that_comes_bare_is_taken(connect, ask, server) -> None:
    """A list that the model did not put into the object is as good."""
    server.say('["a", "b"]')
    assert connect(server).ask(ask(schema={"type": "array", "items": {"type": "string"}})).data == [
        "a",
        "b",
    ]


def test_a_tool_call_is_read_as_the_answer(connect, ask, facts, server) -> None:
    """Arguments of a tool call count as the answer even where the schema was sent otherwise."""
    server.say(ScriptedReply(tools=(ScriptedToolCall("answer", {"facts": ["a"]}),)))
    assert connect(server).ask(ask(schema=facts)).data == {"facts": ["a"]}


def test_odd_content_is_read(connect, ask, facts, server) -> None:
    """Lone surrogates and NULs in prompt and answer neither raise nor come through."""
    server.say(ScriptedReply('{"facts": ["bad \\ud800 end"]}'), ScriptedReply("text \ud83d end"))
    model = connect(server)
    assert model.ask(ask("lone \ud800 \0 surrogate", schema=facts)).data == {"facts": ["bad ? end"]}
    text = model.ask(ask("עברית 🙂 東京")).text
    text.encode("utf-8")
    assert server.requests[0].text == "lone ? \0 surrogate"
    assert server.requests[1].text == "עברית 🙂 東京"
