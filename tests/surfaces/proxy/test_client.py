"""The proxy as the official OpenAI client sees it, before a scripted model server."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, eventually

from engrams.core import Kind
from engrams.engine import MemoryEngine
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import ScriptedModel, ScriptedReply, ScriptedToolCall, temp_engine


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


def told(engine: MemoryEngine) -> list[tuple[str, str]]:
    return [
        (turn.role, turn.text)
        for turn in engine.list(scope=("user", "ann"), kinds=(Kind.TURN,), order="oldest").records
    ]


@pytest.mark.covers("S2.1", "S2.8")
def test_two_conversations(
    client: openai.OpenAI, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """What is said in a streamed conversation is known in the next;
    usage and the finish reason come through.
    """
    model.say(ScriptedReply("Nice to meet you, Rex!", usage=(5, 7)))
    stream = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "My dog is called Rex."}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == "Nice to meet you, Rex!"
    )
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 12
    eventually(
        lambda: (
            told(engine)
            == [("user", "My dog is called Rex."), ("assistant", "Nice to meet you, Rex!")]
        )
    )
    answer = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "What is my dog called?"}]
    )
    role, text = model.requests[-1].messages[0]
    assert role == "system"
    assert "Rex" in text
    assert [hit for hit in answer.model_extra["memory_hits"] if "Rex" in hit["content"]]


def test_tool_calls_come_through(
    client: openai.OpenAI, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """Streamed and whole tool calls reach the client; no assistant turn is stored for them."""
    model.say(
        ScriptedReply(tools=(ScriptedToolCall("look", {"x": 1}),)),
        ScriptedReply(tools=(ScriptedToolCall("look", {"x": 1}),)),
    )
    messages = [{"role": "user", "content": "Look it up for me, please."}]
    whole = client.chat.completions.create(model="m", messages=messages)  # type: ignore[call-overload]
    assert whole.choices[0].message.tool_calls[0].function.name == "look"
    chunks = client.chat.completions.create(model="m", messages=messages, stream=True)  # type: ignore[call-overload]
    names = [
        call.function.name
        for chunk in chunks
        for choice in chunk.choices
        for call in choice.delta.tool_calls or []
        if call.function.name
    ]
    assert names == ["look"]
    assert told(engine) == [("user", "Look it up for me, please.")]


@pytest.mark.covers("S2.7")
def test_the_clients_own_errors(
    client: openai.OpenAI, model: ScriptedModel, engine: MemoryEngine
) -> None:
    """Rate limits and server errors raise what they raise without us, and no error is stored."""
    for fault, error in [
        ("http_429", openai.RateLimitError),
        ("http_500", openai.InternalServerError),
        ("http_401", openai.AuthenticationError),
    ]:
        model.fail(fault)
        with pytest.raises(error):
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "My dog is called Rex."}]
            )
    assert told(engine) == [("user", "My dog is called Rex.")]


@pytest.mark.covers("S2.9")
@pytest.mark.parametrize("fault", ["error", "disconnect"])
def test_a_broken_stream_raises(client: openai.OpenAI, model: ScriptedModel, fault: str) -> None:
    """An error event, or a connection that breaks, is an APIError for the reader of the stream."""
    model.say("A rather long answer that has several pieces in it.")
    model.fail(fault)
    with pytest.raises(openai.APIError):
        list(
            client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Tell me of Rex."}], stream=True
            )
        )


def test_models_and_embeddings(client: openai.OpenAI, model: ScriptedModel) -> None:
    """Other endpoints work as without us."""
    assert list(client.models.list())
    assert client.embeddings.create(model="m", input=["one", "two"]).data[1].embedding
