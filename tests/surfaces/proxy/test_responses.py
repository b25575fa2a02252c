"""POST /v1/responses, as the official client sees it and as the upstream gets it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, eventually, observer
from tests.surfaces.proxy.raw import Drop, opening, piece, reply

from engrams.core import Kind, Record
from engrams.engine import MemoryEngine
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.chat_protocols import RESPONSES, sse_event
from engrams.surfaces.proxy.json_splice import INPUT, parse_envelope
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import ScriptedModel, ScriptedReply, ScriptedToolCall, temp_engine

REX = "My dog is called Rex and he is a greyhound."
ASK = "What is my dog called?"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as found:
        yield found


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    with temp_engine(user="ann", serve__upstream=model.url, serve__upstream_learns=False) as found:
        yield found


@pytest.fixture
def client(engine: MemoryEngine) -> Iterator[openai.OpenAI]:
    app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)])
    with (
        running(app) as url,
        openai.OpenAI(base_url=url + "/v1", api_key="engrams", max_retries=0) as found,
    ):
        yield found


def turns(engine: MemoryEngine) -> tuple[Record, ...]:
    return engine.list(scope=("user", "ann"), kinds=(Kind.TURN,), order="oldest").records


def told(engine: MemoryEngine) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns(engine)]


def test_memory_goes_into_the_instructions(
    client: openai.OpenAI, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """What a streamed response was told is in the next one's instructions, after the client's own,
    and named in its answer.
    """
    model.say(ScriptedReply("Nice to meet you, Rex!"))
    events = list(client.responses.create(model="m", input=REX, stream=True))
    assert (
        "".join(each.delta for each in events if each.type == "response.output_text.delta")
        == "Nice to meet you, Rex!"
    )
    assert events[-1].type == "response.completed"
    eventually(lambda: told(engine) == [("user", REX), ("assistant", "Nice to meet you, Rex!")])
    answer = client.responses.create(
        model="m", input=[{"role": "user", "content": ASK}], instructions="Be brief."
    )
    sent = model.requests[-1].body
    assert sent["input"] == [{"role": "user", "content": ASK}]
    assert sent["instructions"].startswith("Be brief.\n\n")
    assert "Rex" in sent["instructions"]
    assert [hit for hit in answer.model_extra["memory_hits"] if "Rex" in hit["content"]]


def test_turns_that_name_only_the_response_before_are_one_session(
    client: openai.OpenAI, engine: MemoryEngine
) -> None:
    """With previous_response_id every turn belongs to the session of the first;
    the same words twice are two turns.
    """
    first = client.responses.create(model="m", input=REX)
    second = client.responses.create(
        model="m", input="He is five years old.", previous_response_id=first.id
    )
    third = client.responses.create(
        model="m", input="He is five years old.", previous_response_id=second.id
    )
    list(
        client.responses.create(
            model="m", input="He likes the sea.", previous_response_id=third.id, stream=True
        )
    )
    eventually(lambda: len(turns(engine)) == 8)
    assert [turn.text for turn in turns(engine) if turn.role == "user"] == [
        REX,
        "He is five years old.",
        "He is five years old.",
        "He likes the sea.",
    ]
    assert len({turn.session for turn in turns(engine)}) == 1


def test_equal_words_in_a_conversation_that_the_upstream_keeps(bench: Harness) -> None:
    """With `conversation` a repeated word is a new turn once it was answered, and a request sent
    again after an error is not.
    """
    for number in (1, 2):
        bench.raw.says(reply(json.dumps({"id": f"resp_{number}", "output": []}).encode()))
        body = json.dumps(
            {"model": "m", "input": "Yes, that is right.", "conversation": {"id": "conv_1"}}
        )
        bench.client.post("/v1/responses", content=body, headers=bench.headers())
    assert bench.told() == [("user", "Yes, that is right.")] * 2
    assert {turn.session for turn in bench.turns()} == {"conv_1"}
    bench.raw.says(reply(b"no", "500 Oops"))
    for _ in range(2):
        bench.client.post("/v1/responses", content=body, headers=bench.headers())
    assert len(bench.turns()) == 3


def test_tool_calls_and_errors(
    client: openai.OpenAI, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """Function calls come through and make no assistant turn;
    an upstream's error keeps its class, and is not stored.
    """
    model.say(ScriptedReply(tools=(ScriptedToolCall("look", {"x": 1}),)))
    answer = client.responses.create(model="m", input="Look it up for me, please.")
    assert [item.name for item in answer.output if item.type == "function_call"] == ["look"]
    assert told(engine) == [("user", "Look it up for me, please.")]
    model.fail("http_429")
    with pytest.raises(openai.RateLimitError):
        client.responses.create(model="m", input="Something else entirely.")
    assert told(engine)[1:] == [("user", "Something else entirely.")]


def test_every_other_byte_is_kept(bench: Harness) -> None:
    """The request goes up as it was written, without our fields, and memory alone is new."""
    bench.engine.observe([], scope=("user", bench.user))
    bench.engine.add(REX, scope=("user", bench.user))
    bench.raw.says(reply(b'{ "id":"r", "output":[] }'))
    body = (
        b'{ "model":"m","odd": 1.50, "memory_top_k": 3, "input" : [{"role":"user","content":"What'
        b' is my dog called?"}] }'
    )
    answer = bench.client.post("/v1/responses", content=body, headers=bench.headers())
    sent = bench.raw.last.body
    assert sent.startswith(b'{ "instructions": "') and sent.endswith(
        body[1:].replace(b' "memory_top_k": 3,', b"").lstrip()
    )
    assert "greyhound" in json.loads(sent)["instructions"]
    assert answer.content.startswith(b'{ "id":"r", "output":[] ,"memory_hits":[')


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ('{"input":"hi"}', '{"instructions": "m\\u00e9", "input":"hi"}'),
        ('{"input":"hi","instructions":null}', '{"input":"hi","instructions":"m\\u00e9"}'),
        (
            '{"instructions": "a\\n" ,"input":"hi"}',
            '{"instructions": "a\\n\\n\\nm\\u00e9" ,"input":"hi"}',
        ),
        ('{"memory_id":"c","input":"hi"}', '{"instructions": "m\\u00e9", "input":"hi"}'),
    ],
)
def test_where_instructions_go(given: str, wanted: str) -> None:
    """Absent, null or there: memory becomes the instructions or their end."""
    envelope = parse_envelope(given.encode(), INPUT)
    assert envelope is not None
    assert envelope.render("mé").decode() == wanted


def test_an_answer_that_breaks_off(bench: Harness) -> None:
    """A stream that breaks ends with an error event of the protocol, and what came is stored as
    partial.
    """
    start = sse_event({"type": "response.created", "response": {"id": "r1"}})
    text = sse_event({"type": "response.output_text.delta", "delta": "The answer "})
    bench.raw.says(
        opening(), piece(start), piece(b"event: response.output_text.delta\n" + text), Drop()
    )
    body = json.dumps({"model": "m", "input": "Tell me everything you know.", "stream": True})
    answer = bench.client.post("/v1/responses", content=body, headers=bench.headers())
    last = answer.text.strip().split("\n\n")[-1]
    assert (
        last.startswith("event: error\ndata: ")
        and json.loads(last.partition("data: ")[2])["code"] == "upstream_disconnected"
    )
    eventually(lambda: len(bench.turns()) == 2)
    assert bench.turns()[1].text == "The answer" and bench.turns()[1].meta["partial"] is True


def test_a_title_asked_for_in_instructions_is_a_chore(bench: Harness) -> None:
    """A client's own errand leaves memory out whichever protocol it uses."""
    bench.raw.says(reply(b'{"id":"r","output":[]}'))
    body = json.dumps(
        {"model": "m", "instructions": "Generate a short title as JSON.", "input": REX}
    )
    answer = bench.client.post("/v1/responses", content=body, headers=bench.headers())
    assert answer.headers["x-engrams-memory"] == "skipped:task"
    assert bench.told() == []


def test_what_is_not_text_is_passed_over() -> None:
    """Events of other kinds, malformed ones and failures add no text."""
    seen = observer(100, RESPONSES)
    for body in (
        {"type": "response.output_text.delta", "delta": 5},
        {"type": "response.reasoning.delta", "delta": "x"},
        {},
        [],
        "x",
    ):
        seen.feed(sse_event(body))
    seen.feed(sse_event({"type": "response.failed", "response": {"id": "r9"}}))
    assert (seen.text, seen.finished, seen.failed, seen.id) == ("", False, True, "r9")
