"""The scripted model server, driven by the real OpenAI client and by plain HTTP."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from engrams.errors import InputError
from engrams.testing import ScriptedFault, ScriptedModel, ScriptedReply, ScriptedToolCall

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello there"}]
LOOKUP = {
    "type": "function",
    "function": {
        "name": "lookup",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"],
        },
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"ids": {"type": "array", "items": {"type": "integer"}, "minItems": 1}},
    "required": ["ids"],
}


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def client(server: ScriptedModel) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0, timeout=5) as made:
        yield made


def test_a_chat_completion(server, client) -> None:
    """The default answer echoes;
    the request is recorded with its headers and body; usage is counted in words.
    """
    completion = client.chat.completions.create(model="m", messages=ASKED)
    assert completion.choices[0].message.content == "echo: hello there"
    assert (completion.model, completion.choices[0].finish_reason) == ("m", "stop")
    assert (
        completion.usage.prompt_tokens,
        completion.usage.completion_tokens,
        completion.usage.total_tokens,
    ) == (
        4,
        3,
        7,
    )
    request = server.requests[0]
    assert (request.route, request.path, request.model, request.text) == (
        "chat",
        "/v1/chat/completions",
        "m",
        "hello there",
    )
    assert request.messages == (("system", "Be brief."), ("user", "hello there"))
    assert request.headers["authorization"] == "Bearer k"


def test_answers_come_from_queue_rule_function_and_echo(client, server) -> None:
    """A queued answer goes first, then the first rule that matches, then the function, then the
    echo.
    """

    def say(text: str) -> str:
        return (
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
            .choices[0]
            .message.content
        )

    server.when("weather", "sunny").when("w", lambda request: request.text.upper()).say(
        "queued", {"a": 1}
    )
    assert [say("weather"), say("weather"), say("weather"), say("how"), say("hi")] == [
        "queued",
        '{"a": 1}',
        "sunny",
        "HOW",
        "echo: hi",
    ]
    with ScriptedModel(
        "first", answer=lambda request: f"{len(request.messages)} messages"
    ) as other_client:
        completions = [
            openai.OpenAI(api_key="k", base_url=f"{other_client.url}/v1").chat.completions.create(
                model="m", messages=ASKED
            )
            for _ in range(2)
        ]
    assert [completion.choices[0].message.content for completion in completions] == [
        "first",
        "2 messages",
    ]


def test_a_stream_with_usage(server, client) -> None:
    """A streamed answer comes in pieces that join to the whole, ends with a reason, and its last
    chunk is the usage.
    """
    server.say("one two  three\nfour 🙂", "again")
    chunks = list(
        client.chat.completions.create(
            model="m", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == "one two  three\nfour 🙂"
    )
    assert len(chunks) > 5
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 4 + 5
    plain = list(client.chat.completions.create(model="m", messages=ASKED, stream=True))
    assert all(chunk.choices and chunk.usage is None for chunk in plain)


def test_tool_calls(server, client) -> None:
    """Tool calls come whole and as deltas that the client joins;
    a forced tool gets the smallest arguments by itself.
    """
    server.say(
        ScriptedReply(
            tools=(ScriptedToolCall("lookup", {"q": "a b"}), ScriptedToolCall("lookup", {"q": "c"}))
        )
    )
    choice = client.chat.completions.create(model="m", messages=ASKED, tools=[LOOKUP]).choices[0]
    assert [json.loads(call.function.arguments) for call in choice.message.tool_calls] == [
        {"q": "a b"},
        {"q": "c"},
    ]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    forced = {"type": "function", "function": {"name": "lookup"}}
    with client.chat.completions.stream(
        model="m", messages=ASKED, tools=[LOOKUP], tool_choice=forced
    ) as stream:
        call = stream.get_final_completion().choices[0].message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "lookup",
        {"q": "hello there"},
    )


def test_a_response_format_is_obeyed(server, client) -> None:
    """With a JSON schema the default answer is its smallest instance, also by the client's own
    parser.
    """
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    assert json.loads(
        client.chat.completions.create(model="m", messages=ASKED, response_format=form)
        .choices[0]
        .message.content
    ) == {"ids": [0]}
    assert server.requests[0].schema == SCHEMA


def test_responses_whole_and_as_events(server, client) -> None:
    """The Responses protocol works whole and as typed events, with instructions, usage and function
    calls.
    """
    response = client.responses.create(model="m", input="hello there", instructions="Be brief.")
    assert (response.output_text, response.status, response.usage.total_tokens) == (
        "echo: hello there",
        "completed",
        7,
    )
    assert server.requests[0].messages == (("system", "Be brief."), ("user", "hello there"))
    server.say("one two three")
    events = list(
        client.responses.create(model="m", input=[{"role": "user", "content": "x"}], stream=True)
    )
    kinds = [event.type for event in events]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert (
        "".join(event.delta for event in events if event.type == "response.output_text.delta")
        == "one two three"
    )
    assert events[-1].response.output_text == "one two three"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    server.say(ScriptedReply(tools=(ScriptedToolCall("lookup", {"q": "x"}),)))
    with client.responses.stream(
        model="m",
        input="x",
        tools=[{"name": "lookup", "type": "function", **LOOKUP["function"], "strict": False}],
    ) as stream:
        item = stream.get_final_response().output[0]
    assert (item.type, item.name, json.loads(item.arguments)) == (
        "function_call",
        "lookup",
        {"q": "x"},
    )
    form = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}
    assert json.loads(client.responses.create(model="m", input="x", text=form).output_text) == {
        "ids": [0]
    }


def test_embeddings_in_both_encodings(server, client) -> None:
    """Vectors are deterministic, of unit length and of any dimension, as base64 (the client's
    default) or numbers.
    """
    texts = ["Alice lives in Lisbon", "alice LIVES in lisbon!", "quantum physics"]
    packed = [row.embedding for row in client.embeddings.create(model="e", input=texts).data]
    numbers = [
        row.embedding
        for row in client.embeddings.create(model="e", input=texts, encoding_format="float").data
    ]
    assert packed == [pytest.approx(row, abs=1e-6) for row in numbers]
    assert [len(row) for row in numbers] == [64] * 3
    assert sum(value * value for value in numbers[0]) == pytest.approx(1)
    assert numbers[0] == numbers[1] != numbers[2]
    assert (
        len(client.embeddings.create(model="e", input="one", dimensions=7).data[0].embedding) == 7
    )
    raw = httpx2.post(
        f"{server.url}/v1/embeddings",
        json={"model": "e", "input": "one", "encoding_format": "base64"},
    ).json()
    assert len(struct.unpack("<64f", base64.b64decode(raw["data"][0]["embedding"]))) == 64


def test_models_and_unknown_places(server, client) -> None:
    """The models are listed;
    another model, another path and a wrong method are 404 with an error body.
    """
    server.models = ("a", "b/c")
    assert [model.id for model in client.models.list()] == ["a", "b/c"]
    assert client.models.retrieve("a").id == "a"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nope")
    assert httpx2.get(f"{server.url}/api/tags").json()["models"][0]["name"] == "a"
    for answer in (
        httpx2.post(f"{server.url}/v1/nothing", json={}),
        httpx2.get(f"{server.url}/v1/chat/completions"),
    ):
        assert answer.status_code == 404
        assert answer.json()["error"]["message"]


def test_ollama(server) -> None:
    """Ollama's chat streams lines by default, takes a schema or tools, counts tokens;
    its embeddings are plain lists.
    """
    body = {"model": "m", "messages": ASKED}
    lines = [
        json.loads(line)
        for line in httpx2.post(f"{server.url}/api/chat", json=body).text.splitlines()
    ]
    assert "".join(line["message"]["content"] for line in lines) == "echo: hello there"
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1]["done_reason"], lines[-1]["prompt_eval_count"], lines[-1]["eval_count"]) == (
        "stop",
        4,
        3,
    )
    whole = httpx2.post(
        f"{server.url}/api/chat", json={**body, "stream": False, "format": SCHEMA}
    ).json()
    assert json.loads(whole["message"]["content"]) == {"ids": [0]}
    tooled = httpx2.post(
        f"{server.url}/api/chat", json={**body, "stream": False, "tools": [LOOKUP]}
    ).json()
    assert tooled["message"]["tool_calls"][0]["function"] == {
        "name": "lookup",
        "arguments": {"q": "hello there"},
    }
    vectors = httpx2.post(
        f"{server.url}/api/embed", json={"model": "e", "input": ["a", "b", "a"], "dimensions": 9}
    ).json()["embeddings"]
    assert [len(row) for row in vectors] == [9] * 3
    assert vectors[0] == vectors[2] != vectors[1]


def test_rerank(server) -> None:
    """Texts are ranked by the words that they share with the query, or by a given function."""
    body = {
        "query": "where is Lisbon",
        "documents": ["a cat", {"text": "Lisbon is where it is"}, "nothing"],
        "top_n": 2,
    }
    results = httpx2.post(f"{server.url}/v1/rerank", json=body).json()["results"]
    assert [result["index"] for result in results] == [1, 0]
    assert 0 <= results[1]["relevance_score"] < results[0]["relevance_score"] <= 1
    server.score = lambda query, text: float(len(text))
    assert httpx2.post(f"{server.url}/rerank", json=body).json()["results"][0] == {
        "index": 1,
        "relevance_score": 21.0,
    }


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("http_401", openai.AuthenticationError),
        ("http_404", openai.NotFoundError),
        ("http_429", openai.RateLimitError),
        ("http_500", openai.InternalServerError),
        ("reset", openai.APIConnectionError),
        ("disconnect", openai.APIConnectionError),
        ("hang", openai.APITimeoutError),
    ],
)
def test_transport_faults_as_a_client_sees_them(
    server, client, kind: str, error: type[Exception]
) -> None:
    """Each fault is what the real client takes it for, twice as queued, and then the answer is
    good.
    """
    server.fail(kind, times=2)
    for _ in range(2):
        with pytest.raises(error):
            client.with_options(timeout=0.5 if kind == "hang" else 5).chat.completions.create(
                model="m", messages=ASKED
            )
    assert (
        client.chat.completions.create(model="m", messages=ASKED).choices[0].message.content
        == "echo: hello there"
    )
    assert len(server.requests) == 3


def test_a_limit_says_when_to_come_back(server) -> None:
    """A 429 carries Retry-After, and every answer a request id."""
    server.fail("http_429", seconds=2.5)
    answer = httpx2.post(f"{server.url}/v1/chat/completions", json={"messages": ASKED})
    assert (answer.status_code, answer.headers["retry-after"], answer.headers["x-request-id"]) == (
        429,
        "2.5",
        "req-1",
    )


def test_faults_in_a_stream(server, client) -> None:
    """A stream can break off, carry an error object, or drip;
    the client sees a part, an APIError, or the whole.
    """
    server.when("", "one two three four five six")

    def read() -> str:
        text = ""
        for chunk in client.chat.completions.create(model="m", messages=ASKED, stream=True):
            text += chunk.choices[0].delta.content or ""
            texts.append(text)
        return text

    texts: list[str] = []
    server.fail("disconnect").fail("error").fail("slow", seconds=0.01)
    with pytest.raises((openai.APIError, httpx2.RemoteProtocolError)):
        read()
    assert texts[-1].startswith("one two")
    with pytest.raises(openai.APIError, match="Scripted failure in the middle"):
        read()
    assert read() == "one two three four five six"


def test_faults_in_other_streams(server, client) -> None:
    """The Responses stream ends with an error event, Ollama's with an error line."""
    server.fail("error", times=2)
    events = list(client.responses.create(model="m", input="x", stream=True))
    assert (events[0].type, events[-1].type) == ("response.created", "error")
    assert events[-1].message == "Scripted failure in the middle."
    lines = httpx2.post(f"{server.url}/api/chat", json={"messages": ASKED}).text.splitlines()
    assert "error" in json.loads(lines[-1])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("fenced", '```json\n{"id": 1, "verdict": "add", "note": "a"}\n```'),
        ("truncated", '{"id": 1, "verdict": "add"'),
        ("wrong_ids", '{"id": 999999, "verdict": "add", "note": "a"}'),
        ("deletes_only", '{"id": 1, "verdict": "remove", "note": "a"}'),
        ("sloppy", "{'id': 1, 'verdict': 'add', 'note': 'a',}"),
        ("empty", None),
    ],
)
def test_faults_in_what_is_said(server, client, kind: str, text: str | None) -> None:
    """A content fault spoils the very answer that was queued, and only in its way."""
    server.say({"id": 1, "verdict": "add", "note": "a"}).fail(kind)
    choice = client.chat.completions.create(model="m", messages=ASKED).choices[0]
    assert choice.message.content == text
    assert choice.finish_reason == ("length" if kind == "truncated" else "stop")


@pytest.mark.parametrize("kind", ["bad_json", "prose", "thinking"])
def test_content_that_is_not_plain_json(server, client, kind: str) -> None:
    """Prose, thoughts and nonsense are no JSON as they stand."""
    server.say({"a": 1}).fail(kind)
    text = client.chat.completions.create(model="m", messages=ASKED).choices[0].message.content
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(text)


def test_faults_can_be_for_one_route(server, client) -> None:
    """A fault for embeddings leaves chat alone, unknown faults are refused, and what is queued can
    be dropped.
    """
    server.fail("http_500", only="embeddings").fail(ScriptedFault("http_429"), only="rerank")
    assert client.chat.completions.create(model="m", messages=ASKED).choices[0].message.content
    with pytest.raises(openai.InternalServerError):
        client.embeddings.create(model="e", input="x")
    server.heal()
    assert (
        httpx2.post(f"{server.url}/rerank", json={"query": "q", "documents": ["a"]}).status_code
        == 200
    )
    for kind in ("http_200", "http_9", "nonsense", ""):
        with pytest.raises(InputError):
            server.fail(kind)


def test_a_queued_answer_survives_a_failed_call(server, client) -> None:
    """A fault in how the answer comes leaves the answer for the next call."""
    server.say("kept").fail("http_500")
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="m", messages=ASKED)
    assert (
        client.chat.completions.create(model="m", messages=ASKED).choices[0].message.content
        == "kept"
    )


def test_a_closed_port_and_its_return(server, client) -> None:
    """Inside down() nothing listens, also for a connection that was kept open;
    afterwards it is the same address.
    """
    url = server.url
    client.models.list()
    with server.down(), pytest.raises(openai.APIConnectionError):
        client.models.list()
    assert server.url == url
    assert client.models.list().data


def test_closing_ends_what_hangs() -> None:
    """A call that hangs without end is over when the server closes."""
    with ScriptedModel() as server:
        server.fail("hang")
        outcome: list[Exception] = []

        def call() -> None:
            try:
                httpx2.post(
                    f"{server.url}/v1/chat/completions", json={"messages": ASKED}, timeout=60
                )
            except httpx2.HTTPError as problem:
                outcome.append(problem)

        thread = threading.Thread(target=call)
        thread.start()
        assert server.wait(1)
        assert not server.wait(2, seconds=0.01)
    thread.join(20)
    assert len(outcome) == 1
    assert not isinstance(outcome[0], httpx2.TimeoutException)


def test_a_hang_with_an_end_answers(server, client) -> None:
    """A hang of some seconds is a late good answer."""
    server.fail("hang", seconds=0.05)
    assert (
        client.chat.completions.create(model="m", messages=ASKED).choices[0].message.content
        == "echo: hello there"
    )


def test_threads_get_their_own_answers(server, client) -> None:
    """Requests at once are all recorded and answered each by its own text."""

    def say(number: int) -> str:
        return (
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": f"n{number}"}]
            )
            .choices[0]
            .message.content
        )

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(say, range(64))) == [f"echo: n{number}" for number in range(64)]
    assert len(server.requests) == 64


def test_hostile_requests_do_not_break_it(server) -> None:
    """Bodies that are no JSON, no object, or oddly shaped get an answer, and the server goes on."""
    for body in (
        b"",
        b"{",
        b"[1]",
        b'"x"',
        b'{"messages": 7}',
        b'{"messages": [7, {"role": "user", "content": [1, {"text": "x"}]}]}',
        b"\xff\xfe",
    ):
        assert httpx2.post(f"{server.url}/v1/chat/completions", content=body).status_code in (
            200,
            500,
        )
    broken = ScriptedModel(answer=lambda request: 1 / 0)
    with broken:
        answer = httpx2.post(f"{broken.url}/v1/chat/completions", json={"messages": ASKED})
    assert (answer.status_code, type(broken.problems[0])) == (500, ZeroDivisionError)
    assert httpx2.get(f"{server.url}/v1/models").status_code == 200
