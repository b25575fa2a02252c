"""POST /v1/messages: Anthropic's protocol through the proxy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import Harness, eventually, observer, patient
from tests.surfaces.proxy.raw import Drop, opening, piece, reply

from engrams.api_keys import ApiKeyStore
from engrams.core import Kind, Scope, clock
from engrams.engine import MemoryEngine
from engrams.surfaces.proxy.chat_protocols import ANTHROPIC, sse_event
from engrams.surfaces.proxy.json_splice import BLOCKS, parse_envelope
from engrams.testing import ScriptedModel, ScriptedReply, ScriptedToolCall, temp_engine

REX = "My dog is called Rex and he is a greyhound."
ASK = "What is my dog called?"
VERSION = {"anthropic-version": "2023-06-01"}
REFERENCE = {"type": "ephemeral"}


def message(*content: Any) -> bytes:
    """A whole answer, oddly written."""
    return (
        b'{ "id":"msg_1", "type":"message","odd": 1.50, "role":"assistant", "content":%s }'
        % json.dumps(content).encode()
    )


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def ask(
    bench: Harness, *messages: Any, headers: dict[str, str] | None = None, **fields: Any
) -> httpx2.Response:
    given = [
        {"role": "user", "content": each} if isinstance(each, str) else each for each in messages
    ]
    body = json.dumps({"model": "m", "max_tokens": 99, "messages": given, **fields})
    return bench.client.post(
        "/v1/messages", content=body, headers=bench.headers({**VERSION, **(headers or {})})
    )


@pytest.fixture
def known(bench: Harness) -> Harness:
    """The upstream speaks this protocol, and the user has a dog."""
    bench.engine.add(REX, scope=("user", bench.user))
    bench.raw.says(reply(message(text("Rex."))))
    return bench


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as found:
        yield found


def test_memory_is_a_block_before_the_question(known: Harness) -> None:
    """Text becomes two blocks;
    the system prompt, text or blocks, and everything else stays byte for byte; hits are named.
    """
    for system in (
        '"Be brief."',
        '[ {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}} ]',
    ):
        raw = (
            f'{{ "model":"m","odd": 1.50, "memory_top_k": 3, "system":{system}, "messages" :'
            f' [{{"role":"user","content":"{ASK}"}}] }}'
        )
        answer = known.client.post("/v1/messages", content=raw, headers=known.headers(VERSION))
        sent = known.raw.last.body.decode()
        head, _, tail = raw.replace(' "memory_top_k": 3,', "").partition(f'"{ASK}"')
        assert sent.startswith(head) and sent.endswith(tail)
        memory, question = known.sent()["messages"][0]["content"]
        assert "greyhound" in memory["text"] and question == text(ASK)
    assert [hit for hit in answer.json()["memory_hits"] if "greyhound" in hit["content"]]
    assert answer.headers["x-engrams-memory"].startswith("used:")
    assert ("assistant", "Rex.") in known.told() and known.told().count(("user", ASK)) == 1


def test_what_the_server_caches_stays_before_memory(known: Harness) -> None:
    """Behind a block with cache_control or a tool's result memory follows it, so that the cached
    beginning is the same next time.
    """
    ask(
        known,
        {
            "role": "user",
            "content": [
                text("I have one question."),
                text(ASK, cache_control=REFERENCE),
                text("Be brief."),
            ],
        },
    )
    first, second, memory, last = known.sent()["messages"][0]["content"]
    assert (first["text"], second["cache_control"], last["text"]) == (
        "I have one question.",
        REFERENCE,
        "Be brief.",
    )
    assert "greyhound" in memory["text"]
    result = {"type": "tool_result", "tool_use_id": "t", "content": "7"}
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}],
    }
    ask(known, "Look.", call, {"role": "user", "content": [result, text(ASK)]})
    kept, memory, question = known.sent()["messages"][2]["content"]
    assert kept == result and "greyhound" in memory["text"] and question["text"] == ASK


def test_tools(known: Harness) -> None:
    """Results of tools are nobody's words:
    the question stays the person's, is stored once, and memory stays where it was.
    """
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "dogs"}}
    known.raw.says(reply(message(call)))
    ask(known, ASK)
    before = known.sent()["messages"][0]
    assert [role for role, said in known.told() if said != REX] == ["user"]
    reminder = text("<system-reminder>Use the list.</system-reminder>")
    known.raw.says(reply(message(text("He is called Rex."))))
    turn = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Rex"}, reminder],
    }
    ask(known, ASK, {"role": "assistant", "content": [call]}, turn)
    sent = known.sent()["messages"]
    assert (
        sent[2] == turn
        and sent[0]["content"][-1] == before["content"][-1]
        and "greyhound" in sent[0]["content"][0]["text"]
    )
    assert [said for _, said in known.told() if said != REX] == [ASK, "He is called Rex."]


def test_a_stream(known: Harness) -> None:
    """Its bytes are the upstream's; thoughts and tool calls are no part of the stored answer."""
    events = [
        {"type": "message_start", "message": {"id": "msg_7"}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm."},
        },
        {"type": "content_block_start", "index": 1, "content_block": text("")},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "text_delta", "text": "It is "},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "text_delta", "text": "Rex."},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    sent = [f"event: {event['type']}\n".encode() + sse_event(event) for event in events]
    known.raw.says(opening(), *map(piece, sent), piece(b""))
    assert ask(known, ASK, stream=True).content == b"".join(sent)
    eventually(lambda: ("assistant", "It is Rex.") in known.told())
    assert "partial" not in known.turns()[-1].meta


def test_a_stream_that_breaks(known: Harness) -> None:
    """It ends with an error event of this protocol; what came is stored as partial."""
    start = sse_event(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "The answer"},
        }
    )
    known.raw.says(opening(), piece(b"event: content_block_delta\n" + start), Drop())
    last = ask(known, "Tell me everything you know.", stream=True).text.strip().split("\n\n")[-1]
    assert (
        last.startswith("event: error\n")
        and json.loads(last.partition("data: ")[2])["error"]["type"] == "api_error"
    )
    eventually(lambda: bool(known.turns()[-1].meta.get("partial")))


def test_who_asks(bench: Harness) -> None:
    """`metadata.user_id` is the user;
    a coding agent's names its session, and its helpers' prompts and checks of quota are no talk.
    """
    bench.raw.says(reply(message(text("Noted."))))
    nobody = {"x-engrams-user": ""}
    ask(bench, REX, headers=nobody, metadata={"user_id": bench.user})
    assert bench.told() == [("user", REX), ("assistant", "Noted.")]
    session = "0b8e3f6a-1111-4222-8333-444455556666"
    agent = f"user_{'ab' * 32}_account_{session}_session_{session}"
    ask(bench, "My cat is called Tom.", metadata={"user_id": agent})
    ask(
        bench,
        "My cow is called Ida.",
        metadata={"user_id": json.dumps({"device_id": "d", "session_id": session})},
    )
    ask(bench, "My hen is called Eva.", headers={"x-claude-code-session-id": session})
    assert [
        turn.session
        for turn in bench.turns()
        if turn.text.startswith("My c") or turn.text.startswith("My h")
    ] == [session] * 3
    for fields, headers in (({"max_tokens": 1}, {}), ({}, {"x-claude-code-agent-id": "a1"})):
        answer = ask(bench, "Look at all the files.", headers=headers, **fields)
        assert answer.headers["x-engrams-memory"] == "skipped:task"
    assert not [said for _, said in bench.told() if "files" in said]


def test_errors_have_the_protocols_form(model: ScriptedModel) -> None:
    """An upstream that is away is an error as Anthropic's clients read it."""
    with (
        temp_engine(user="ann", serve__upstream=model.url, serve__upstream_learns=False) as engine,
        running(patient(engine)) as url,
        model.down(),
    ):
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            answer = httpx2.post(
                url + path,
                json={
                    "model": "m",
                    "max_tokens": 9,
                    "messages": [{"role": "user", "content": REX}],
                },
            )
            assert (answer.status_code, answer.json()["type"], answer.json()["error"]["type"]) == (
                502,
                "error",
                "api_error",
            )
        assert [turn.text for turn in said(engine, "ann")] == [REX]


@pytest.mark.slow
def test_keys(model: ScriptedModel) -> None:
    """Our key in x-api-key opens its owner's memory and goes no further;
    the upstream gets its own key, or the client's, as x-api-key.
    """
    with temp_engine(
        serve__upstream=model.url,
        serve__upstream_learns=False,
        serve__upstream_key="theirs",
        serve__require_keys="always",
    ) as engine:
        _, secret = ApiKeyStore.open(engine.settings.home).add(
            "cl", Scope(("user", "eve")), ("read", "write", "proxy"), clock.now(), 1
        )
        with running(patient(engine)) as url:
            body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": REX}]}
            assert httpx2.post(url + "/v1/messages", json=body, headers=VERSION).status_code == 401
            for path in ("/v1/messages", "/v1/messages/count_tokens"):
                answer = httpx2.post(
                    url + path, json=body, headers={**VERSION, "x-api-key": secret}
                )
                assert answer.status_code == 200, answer.text
                assert (
                    model.requests[-1].headers["x-api-key"] == "theirs"
                    and "authorization" not in model.requests[-1].headers
                )
            assert answer.json() == {"input_tokens": 10}
            assert [turn.text for turn in said(engine, "eve") if turn.role == "user"] == [REX]
    with (
        temp_engine(
            serve__upstream=model.url,
            serve__upstream_learns=False,
            serve__upstream_key="theirs",
            user="ann",
        ) as engine,
        running(patient(engine)) as url,
    ):
        for given, wanted in (
            ({"x-api-key": "sk-own"}, "sk-own"),
            ({"x-api-key": "engrams"}, "theirs"),
            ({}, "theirs"),
        ):
            httpx2.post(url + "/v1/messages", json=body, headers={**VERSION, **given})
            assert model.requests[-1].headers["x-api-key"] == wanted
        httpx2.post(
            url + "/v1/messages", json=body, headers={**VERSION, "authorization": "Bearer oat"}
        )
        assert (
            model.requests[-1].headers["authorization"] == "Bearer oat"
            and "x-api-key" not in model.requests[-1].headers
        )


def said(engine: MemoryEngine, user: str) -> Any:
    return engine.list(
        scope=("user", user), kinds=(Kind.TURN,), statuses=(), order="oldest"
    ).records


def test_two_conversations(model: ScriptedModel) -> None:
    """What a streamed message said is known to the next;
    a tool call comes through and makes no turn of the assistant.
    """
    with (
        temp_engine(user="ann", serve__upstream=model.url, serve__upstream_learns=False) as engine,
        running(patient(engine)) as url,
    ):
        model.say(
            ScriptedReply("Nice to meet you, Rex!"),
            ScriptedReply(tools=(ScriptedToolCall("look", {"x": 1}),)),
        )
        body: dict[str, Any] = {
            "model": "m",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": REX}],
        }
        httpx2.post(url + "/v1/messages", json={**body, "stream": True})
        eventually(
            lambda: [turn.text for turn in said(engine, "ann")] == [REX, "Nice to meet you, Rex!"]
        )
        answer = httpx2.post(
            url + "/v1/messages", json={**body, "messages": [{"role": "user", "content": ASK}]}
        ).json()
        assert answer["content"] == [
            {"type": "tool_use", "id": "toolu_2_0", "name": "look", "input": {"x": 1}}
        ]
        assert "Rex" in model.requests[-1].messages[0][1]
        assert len(said(engine, "ann")) == 3


def test_what_is_not_text_is_passed_over() -> None:
    """Events of other kinds, malformed ones and failures add no text."""
    seen = observer(100, ANTHROPIC)
    odd = [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta"},
        {"type": 7},
        {},
        [],
    ]
    for body in (
        *odd,
        {"type": "content_block_start", "index": 1, "content_block": 3},
        {"type": "message_start", "message": 1},
    ):
        seen.feed(sse_event(body))
    seen.feed(sse_event({"type": "error", "error": {"type": "overloaded_error"}}))
    assert (seen.text, seen.finished, seen.failed) == ("", False, True)


@pytest.mark.parametrize(
    "content", ["", [], [{"type": "tool_result"}], 5, None, [5], [{"type": "image"}]]
)
def test_odd_content_goes_up_as_it_is(bench: Harness, content: Any) -> None:
    """A message without words is passed on as it is."""
    bench.raw.says(reply(message(text("What?"))))
    ask(bench, {"role": "user", "content": content})
    assert bench.sent()["messages"][0]["content"] == content
    envelope = parse_envelope(bench.raw.last.body, BLOCKS)
    assert envelope is not None and envelope.render() == bench.raw.last.body


def test_an_answer_that_repeats_what_was_recalled(known: Harness) -> None:
    """A model that copies memory into its answer adds only its own words to memory."""
    ask(known, ASK)
    recalled = known.sent()["messages"][0]["content"][0]["text"]
    known.raw.says(reply(message(text(f"{recalled}\nHe is called Rex."))))
    ask(known, "Please, what is my dog called?")
    assert known.told()[-1] == ("assistant", "He is called Rex.")
