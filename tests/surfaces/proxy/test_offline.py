"""Each API without an upstream:
its own form of quotes from memory, vectors of memory's embedder, and errors.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import httpx2
import numpy as np
import openai
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import patient

import engrams
from engrams.core import Kind
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import HashEmbedder, temp_engine

REX = "My dog is called Rex."
ASK = "What is my dog called?"
QUOTE = "“My dog is called Rex.”"


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann") as found:
        found.add(REX, scope=("user", "ann"))
        yield found


@pytest.fixture(scope="module")
def client(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    with running(patient(engine)) as url, httpx2.Client(base_url=url, timeout=30) as found:
        yield found


@pytest.fixture
def official(client: httpx2.Client) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=str(client.base_url) + "/v1", api_key="engrams", max_retries=0
    ) as found:
        yield found


def sessions(engine: MemoryEngine, text: str) -> list[str]:
    found = engine.list(scope=("user", "ann"), kinds=(Kind.TURN,), statuses=()).records
    return [record.session for record in found if record.text == text]


def test_responses(official: openai.OpenAI, engine: MemoryEngine) -> None:
    """Whole and streamed responses quote memory; one that continues another is of its session."""
    first = official.responses.create(model="any", input=ASK)
    assert (
        QUOTE in first.output_text
        and first.status == "completed"
        and first.model == "engrams-offline"
    )
    assert [hit for hit in first.model_extra["memory_hits"] if hit["content"] == REX]
    events = list(
        official.responses.create(
            model="any", input="My cat is called Tom.", previous_response_id=first.id, stream=True
        )
    )
    assert events[-1].type == "response.completed"
    told = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert told == events[-1].response.output_text and "[engrams, offline]" in told
    assert sessions(engine, "My cat is called Tom.") == sessions(engine, ASK)[:1]


def test_messages(client: httpx2.Client) -> None:
    """Anthropic's protocol, whole and as events; no answer of ours is stored."""
    body: dict[str, Any] = {
        "model": "any",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASK}]}],
    }
    answer = client.post("/v1/messages", json=body).json()
    assert QUOTE in answer["content"][0]["text"] and answer["stop_reason"] == "end_turn"
    lines = client.post("/v1/messages", json={**body, "stream": True}).text.splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert [line[7:] for line in lines if line.startswith("event: ")] == [
        event["type"] for event in events
    ]
    assert (
        "".join(
            event["delta"]["text"] for event in events if event["type"] == "content_block_delta"
        )
        == answer["content"][0]["text"]
    )
    refused = client.post("/v1/messages", json={"messages": 5})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


CHATS: dict[str, dict[str, Any]] = {
    "/api/chat": {"messages": [{"role": "user", "content": ASK}]},
    "/api/generate": {"prompt": ASK},
}


@pytest.mark.parametrize(("path", "asked"), CHATS.items())
def test_ollama(client: httpx2.Client, path: str, asked: dict[str, Any]) -> None:
    """Lines unless `stream` is false; the last says done, and errors are a text."""

    def text(line: dict[str, Any]) -> str:
        return str(line["message"]["content"] if "message" in line else line["response"])

    whole = client.post(path, json={"model": "any", "stream": False, **asked}).json()
    assert QUOTE in text(whole) and whole["done"] is True and "memory_hits" not in whole
    streamed = client.post(path, json={"model": "any", **asked})
    lines = [json.loads(line) for line in streamed.text.splitlines()]
    assert streamed.headers["content-type"] == "application/x-ndjson"
    assert "".join(map(text, lines)) == text(whole) and [line["done"] for line in lines][-2:] == [
        False,
        True,
    ]
    refused = client.post(path, content=b"nonsense")
    assert refused.status_code == 400 and "JSON object" in refused.json()["error"]


def test_lists_of_models(client: httpx2.Client) -> None:
    """Ollama's list and version."""
    assert [model["name"] for model in client.get("/api/tags").json()["models"]] == [
        "engrams-offline",
        "builtin-256-1",
    ]
    assert client.get("/api/version").json()["version"]


def test_vectors(official: openai.OpenAI, client: httpx2.Client, engine: MemoryEngine) -> None:
    """Vectors are those of memory's embedder, packed, as numbers, and as Ollama gives them."""
    expected = engine.embedder.embed([REX, ASK])
    packed = official.embeddings.create(model="builtin-256-1", input=[REX, ASK])
    assert np.allclose([row.embedding for row in packed.data], expected)
    plain = official.embeddings.create(
        model="builtin-256-1", input=REX, encoding_format="float", dimensions=256
    )
    assert np.allclose(plain.data[0].embedding, expected[0])
    assert np.allclose(
        client.post("/api/embed", json={"model": "builtin-256-1", "input": [REX, ASK]}).json()[
            "embeddings"
        ],
        expected,
    )
    assert np.allclose(
        client.post("/api/embeddings", json={"model": "builtin-256-1", "prompt": ASK}).json()[
            "embedding"
        ],
        expected[1],
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "text-embedding-3-small", "input": "x"}, 404),
        ({"model": "builtin-256-1", "input": [[1, 2]]}, 400),
        ({"model": "builtin-256-1", "input": []}, 400),
        ({"model": "builtin-256-1", "input": ["x"] * 2049}, 400),
        ({"model": "builtin-256-1", "input": "x", "dimensions": 64}, 400),
        ([], 400),
    ],
)
def test_vectors_that_there_are_not(client: httpx2.Client, body: Any, status: int) -> None:
    """Another model's vectors, tokens, none, too many or of another size are refused with what
    there is, in each API's form.
    """
    answer = client.post("/v1/embeddings", json=body)
    assert answer.status_code == status and answer.json()["error"]["message"]
    answer = client.post("/api/embed", json=body)
    assert answer.status_code == status and isinstance(answer.json()["error"], str)


def test_without_an_embedder() -> None:
    """Where memory is searched by words alone there are no vectors, and the list names none."""
    with temp_engine(user="ann", embed__provider="null") as engine, running(patient(engine)) as url:
        assert [model["id"] for model in httpx2.get(url + "/v1/models").json()["data"]] == [
            "engrams-offline"
        ]
        for path in ("/v1/embeddings", "/embeddings"):
            assert (
                httpx2.post(url + path, json={"input": "x"}).json()["error"]["code"]
                == "model_not_found"
            )


def test_embeddings_hold_up_no_lookup(home: Path) -> None:
    """While several requests for vectors wait for an embedder that is stuck, a chat still gets its
    quotes.
    """
    stuck = threading.Event()

    class StuckEmbedder(HashEmbedder):
        def embed(
            self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
        ) -> Any:
            if texts[0] == "stuck":
                stuck.wait(20)
            return super().embed(texts, purpose)

    with (
        engrams.open(home=str(home), user="ada", embedder=StuckEmbedder()) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        engine.add(REX, scope=("user", "ada"))
        body = {"model": engine.embedder.card.id, "input": ["stuck"]}
        waiting = [
            threading.Thread(
                target=httpx2.post, args=(f"{url}/v1/embeddings",), kwargs={"json": body}
            )
            for _ in range(3)
        ]
        try:
            for thread in waiting:
                thread.start()
            asked = {"model": "engrams-offline", "messages": [{"role": "user", "content": ASK}]}
            answer = httpx2.post(f"{url}/v1/chat/completions", json=asked, timeout=15)
            assert "called Rex" in answer.json()["choices"][0]["message"]["content"]
        finally:
            stuck.set()
            for thread in waiting:
                thread.join()
