"""Ollama's own protocol through the proxy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, eventually
from tests.surfaces.proxy.raw import Drop, opening, piece, reply

from engrams.core import Kind
from engrams.engine import MemoryEngine
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import ScriptedModel, ScriptedReply, temp_engine

REX = "My dog is called Rex and he is a greyhound."
ASK = "What is my dog called?"
LINES = [
    b'{"response":"It is ","done":false}\n',
    b'{"response":"Rex.","done":false}\n',
    b'{"response":"","done":true}\n',
]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as found:
        yield found


@pytest.fixture
def engine(model: ScriptedModel) -> Iterator[MemoryEngine]:
    with temp_engine(
        user="ann", serve__upstream=model.url + "/v1", serve__upstream_learns=False
    ) as found:
        yield found


@pytest.fixture
def client(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, PATIENCE)])
    with running(app) as url, httpx2.Client(base_url=url, timeout=30) as found:
        yield found


def told(engine: MemoryEngine) -> list[tuple[str, str]]:
    return [
        (turn.role, turn.text)
        for turn in engine.list(scope=("user", "ann"), kinds=(Kind.TURN,), order="oldest").records
    ]


def test_chat_streams_by_default(
    client: httpx2.Client, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """Lines come through as they are, both turns are kept, and the next chat has memory before its
    last user message.
    """
    model.say(ScriptedReply("Nice to meet you, Rex!"))
    answer = client.post(
        "/api/chat", json={"model": "m", "messages": [{"role": "user", "content": REX}]}
    )
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == "Nice to meet you, Rex!"
    assert lines[-1]["done"] is True
    eventually(lambda: told(engine) == [("user", REX), ("assistant", "Nice to meet you, Rex!")])
    whole = client.post(
        "/api/chat",
        json={"model": "m", "messages": [{"role": "user", "content": ASK}], "stream": False},
    )
    assert "memory_hits" not in whole.json()
    assert whole.headers["x-engrams-memory"].startswith("used:")
    memory, question = model.requests[-1].body["messages"]
    assert memory["role"] == "system" and "Rex" in memory["content"]
    assert question == {"role": "user", "content": ASK}


def test_the_list_of_models_is_ollamas(client: httpx2.Client) -> None:
    """Other paths of its protocol are passed on, without the /v1 of the base URL."""
    assert client.get("/api/tags").json()["models"]


def test_generate(bench: Harness) -> None:
    """Memory stands before the prompt; the lines are relayed and the answer is kept."""
    bench.engine.add(REX, scope=("user", bench.user))
    bench.raw.says(opening(kind="application/x-ndjson"), *map(piece, LINES), piece(b""))
    body = json.dumps({"model": "m", "prompt": ASK})
    answer = bench.client.post("/api/generate", content=body, headers=bench.headers())
    assert answer.content == b"".join(LINES)
    sent = bench.sent()
    assert sent["prompt"].endswith("\n\n" + ASK) and "greyhound" in sent["prompt"]
    assert sorted(sent) == ["model", "prompt"]
    eventually(lambda: bench.told() == [("user", ASK), ("assistant", "It is Rex.")])


@pytest.mark.parametrize("more", [{"raw": True}, {"suffix": "return x"}, {"prompt": ""}])
def test_what_nobody_says_to_anybody(bench: Harness, more: dict[str, object]) -> None:
    """Raw templates, code completion and loading a model leave memory out and the bytes alone."""
    bench.raw.says(reply(b'{"response":"x","done":true}'))
    body = json.dumps({"model": "m", "prompt": "def f(x): ", "stream": False, **more}).encode()
    bench.client.post("/api/generate", content=body, headers=bench.headers())
    assert bench.raw.last.body == body
    assert [text for role, text in bench.told() if role == "user"] == []


def test_a_stream_that_breaks(bench: Harness) -> None:
    """It ends with a line that says so, as Ollama's own errors do; what came is kept as partial."""
    bench.raw.says(opening(kind="application/x-ndjson"), piece(LINES[0]), Drop())
    answer = bench.client.post(
        "/api/generate", content=json.dumps({"model": "m", "prompt": ASK}), headers=bench.headers()
    )
    assert "broke off" in json.loads(answer.text.splitlines()[-1])["error"]
    eventually(lambda: len(bench.turns()) == 2)
    assert bench.turns()[1].meta["partial"] is True


def test_errors_keep_their_status(bench: Harness) -> None:
    """A model that is not there is Ollama's 404, and no answer is stored."""
    bench.raw.says(reply(b'{"error":"model not found"}', "404 Not Found"))
    answer = bench.client.post("/api/chat", content=bench.body(REX), headers=bench.headers())
    assert (answer.status_code, answer.json()) == (404, {"error": "model not found"})
    assert bench.told() == [("user", REX)]


@pytest.mark.parametrize(
    "said",
    [
        "model 'qwen3:4b' not found",
        'Error: model "qwen3" not found, try pulling it first',
        '{"error":"no model"}',
    ],
)
def test_an_error_as_an_answer_is_not_stored(bench: Harness, said: str) -> None:
    """A server that gives its error with status 200, as the model's words or in a stream, leaves no
    answer in memory.
    """
    whole = json.dumps({"message": {"role": "assistant", "content": said}, "done": True}).encode()
    bench.raw.says(reply(whole))
    body = {"model": "m", "messages": [{"role": "user", "content": REX}]}
    answer = bench.client.post(
        "/api/chat", content=json.dumps({**body, "stream": False}), headers=bench.headers()
    )
    assert answer.json()["message"]["content"] == said
    for line in (whole, json.dumps({"error": said}).encode()):
        bench.raw.says(opening(kind="application/x-ndjson"), piece(line + b"\n"), piece(b""))
        bench.client.post("/api/chat", content=json.dumps(body), headers=bench.headers())
    assert bench.told() == [("user", REX)]
