"""The official clients of Anthropic and Ollama against a served proxy: ``check_clients.py URL
OFFLINE_URL``.

It runs where they are installed, which is not where the tests run.
"""

from __future__ import annotations

import sys
import time

import anthropic
import ollama

ASK = [{"role": "user", "content": "What is my dog called?"}]
TOOL = {
    "name": "look",
    "description": "Look.",
    "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
}


def check_anthropic(url: str) -> None:
    """Streams, whole answers, tools, counted tokens, errors;
    what was told is known in the next chat.
    """
    with anthropic.Anthropic(base_url=url, api_key="engrams", max_retries=0) as client:
        told = [{"role": "user", "content": "My dog is called Rex and he is a greyhound."}]
        with client.messages.stream(model="m", max_tokens=99, messages=told) as stream:
            assert stream.get_final_text() == "Nice to meet you, Rex!", "stream"
            assert stream.get_final_message().stop_reason == "end_turn"
        system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        answer = client.messages.with_raw_response.create(
            model="m", max_tokens=99, system=system, messages=ASK
        )
        assert answer.headers["x-engrams-memory"].startswith("used:"), answer.headers
        assert [
            hit
            for hit in answer.parse().model_extra["memory_hits"]
            if "greyhound" in hit["content"]
        ]
        call = client.messages.create(model="m", max_tokens=99, tools=[TOOL], messages=ASK)
        (block,) = call.content
        assert (block.type, block.name, block.input, call.stop_reason) == (
            "tool_use",
            "look",
            {"x": 1},
            "tool_use",
        )
        result = {"type": "tool_result", "tool_use_id": block.id, "content": "Rex"}
        turns = [
            *ASK,
            {"role": "assistant", "content": call.content},
            {"role": "user", "content": [result]},
        ]
        assert (
            client.messages.create(model="m", max_tokens=99, tools=[TOOL], messages=turns)
            .content[0]
            .text
            == "He is called Rex."
        )
        assert client.messages.count_tokens(model="m", messages=ASK).input_tokens == 5
        for error in (anthropic.RateLimitError, anthropic.InternalServerError):
            try:
                client.messages.create(
                    model="m", max_tokens=99, messages=[{"role": "user", "content": "Fail."}]
                )
            except error:
                continue
            raise AssertionError(error)


def check_ollama(url: str) -> None:
    """Chats, whole and streamed."""
    client = ollama.Client(host=url)
    assert client.chat(model="m", messages=ASK).message.content == "Rex, I think."
    pieces = [part.message.content for part in client.chat(model="m", messages=ASK, stream=True)]
    assert "".join(pieces) == "Rex, I am sure." and len(pieces) > 2


def check_offline(url: str) -> None:
    """Quotes from memory, lists of models and vectors without an upstream."""
    with anthropic.Anthropic(base_url=url, api_key="engrams", max_retries=0) as client:
        client.messages.create(
            model="any",
            max_tokens=99,
            messages=[{"role": "user", "content": "My dog is called Rex."}],
        )
        for _ in range(100):  # a busy machine may store a message after its answer
            with client.messages.stream(model="any", max_tokens=99, messages=ASK) as stream:
                quoted = stream.get_final_text()
            if "Rex" in quoted:
                break
            time.sleep(0.1)
        assert "“My dog is called Rex.”" in quoted and "[engrams, offline]" in quoted, quoted
    local = ollama.Client(host=url)
    names = [model.model for model in local.list().models]
    assert names[0] == "engrams-offline", names
    assert "“My dog is called Rex.”" in local.chat(model=names[0], messages=ASK).message.content
    assert "“My dog is called Rex.”" in "".join(
        part.response for part in local.generate(names[0], ASK[0]["content"], stream=True)
    )
    assert [len(row) for row in local.embed(model=names[1], input=["one", "two"]).embeddings] == [
        256,
        256,
    ]
    try:
        local.embed(model="nomic-embed-text", input="x")
    except ollama.ResponseError as error:
        refusal = (error.status_code, names[1] in error.error)
    assert refusal == (404, True)


if __name__ == "__main__":
    check_anthropic(sys.argv[1])
    check_ollama(sys.argv[1])
    check_offline(sys.argv[2])
