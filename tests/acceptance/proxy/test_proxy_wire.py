"""The chat proxy's document (002): what goes over the wire, byte for byte, before an upstream whose
bytes are known, and what the model is asked.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.acceptance.process import Door, served
from tests.acceptance.proxy.test_proxy_story import learn

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.testing import ReceivedModelRequest, ScriptedModel

SAID = "The boat of Ida lies at pier nine"
CHAT = ("user", "ann", "conversation", "c1")
STREAM = (
    b": welcome\n\n"
    b'data: {"id": "x1", "odd": 1.50, "choices": [{"delta": {"content": "At the "}}]}\n\n',
    b'data:  {"id":"x1","choices":[{"delta":{"content":"pier \xc3\xa9"}}]}\r\n\r\n',
    b"event: note\ndata: not json\n\n",
    b'data: {"id": "x1", "choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
)


class _Upstream(BaseHTTPRequestHandler):
    """A model server that answers every chat with the same bytes."""

    protocol_version = "HTTP/1.0"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for piece in STREAM:
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Upstream) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The preset before the upstream of known bytes, of which nothing is learned."""
    home = tmp_path_factory.mktemp("wire") / "home"
    quiet = ("--set", "write.extract=off", "--set", "vault.git=false")
    with (
        ScriptedModel() as model,
        upstream() as url,
        served("proxy", home, model, "--openai-base-url", url, *quiet) as door,
    ):
        yield door


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The preset before the scripted model, with a key of its own."""
    home = tmp_path_factory.mktemp("keyed") / "home"
    options = ("--set", "serve.upstream_key=sk-ours", "--set", "write.extract=off")
    with (
        ScriptedModel() as model,
        served("proxy", home, model, "--openai-base-url", f"{model.url}/v1", *options) as door,
    ):
        yield door


def ask_stream(conversation: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": SAID}]
    return {"model": "m", "messages": messages, "stream": True, "memory_id": conversation}


@pytest.mark.covers("S2.8")
def test_a_stream_arrives_byte_for_byte(streaming: Door) -> None:
    """Comments, blanks, odd numbers, other events and [DONE] come as they were sent, and nothing
    else does; then the answer is stored.
    """
    body = ask_stream("bytes")
    with streaming.client.stream("POST", "/v1/chat/completions", json=body) as answer:
        received = b"".join(answer.iter_raw())
    assert received == b"".join(STREAM)
    stored = streaming.get("/v1/memories", kind="turn", conversation="bytes")["memories"]
    assert [row["text"] for row in stored if row["role"] == "assistant"] == ["At the pier é"]


@pytest.mark.covers("S2.8")
def test_a_stream_begins_when_the_question_is_stored(streaming: Door) -> None:
    """While the database takes no write, no piece of the answer arrives; once it does, the user's
    turn is there before the first piece.
    """
    streaming.client.post("/v1/chat/completions", json=ask_stream("warm"))
    arrived: list[float] = []
    turns: list[str] = []

    def read() -> None:
        body = ask_stream("locked")
        with streaming.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            next(answer.iter_raw())
            arrived.append(time.monotonic())
            rows = streaming.get("/v1/memories", kind="turn", conversation="locked")["memories"]
            turns.extend(row["text"] for row in rows if row["role"] == "user")

    database = streaming.home / "memory.db"
    connection = apsw.Connection(str(database))
    connection.set_busy_timeout(2000)
    connection.execute("BEGIN IMMEDIATE")
    reader = threading.Thread(target=read)
    reader.start()
    try:
        time.sleep(0.2)
        assert not arrived
    finally:
        connection.execute("ROLLBACK")
        connection.close()
        reader.join(10)
    assert arrived
    assert turns == [SAID]


@pytest.mark.covers("S2.4")
def test_the_clients_own_key_wins_over_the_configured_one(keyed: Door) -> None:
    """Without a key of the client's the configured one is sent; with one, only that."""
    for sent, expected in ((None, "Bearer sk-ours"), ("Bearer sk-mine", "Bearer sk-mine")):
        headers = {"authorization": sent} if sent else {}
        body = {"model": "m", "messages": [{"role": "user", "content": "Good evening"}]}
        answer = keyed.client.post("/v1/chat/completions", json=body, headers=headers)
        assert answer.status_code == 200
        assert keyed.model.requests[-1].headers["authorization"] == expected


@pytest.mark.covers("S2.32")
def test_memory_stands_before_the_last_words_of_the_user(keyed: Door) -> None:
    """Also where an answer and the result of a tool follow them; all other messages stay."""
    keyed.post(
        "/v1/memories", {"text": "The boat of Ida lies at pier nine", "kind": "fact"}, status=201
    )
    question = {"role": "user", "content": "Where does the boat of Ida lie?"}
    call = {"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    rest = [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "no result"},
    ]
    first = {"role": "system", "content": "Be brief."}
    body = {"model": "m", "messages": [first, question, *rest]}
    answer = keyed.client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200
    sent = keyed.model.requests[-1].body["messages"]
    assert isinstance(sent, list)
    system, memory, *others = sent
    assert system == first
    assert "pier nine" in memory["content"]
    assert others == [question, *rest]


@pytest.mark.covers("S2.41", "S2.42")
@pytest.mark.parametrize("step", [1, 0], ids=["other", "same"])
def test_a_wrong_number_is_pointed_out_three_times(home: Path, step: int) -> None:
    """A model that names a statement which it was not shown is told so and asked again, three
    times, also where it repeats itself; then the new fact is stored all the same.
    """

    numbers: list[int] = []

    def answer(request: ReceivedModelRequest) -> Any:
        if "New statements have come in" not in request.prompt:
            return learn(request)
        row = {"new": 1, "reason": "r", "earlier": [], "confidence": "high"}
        numbers.append(77 + step * len(numbers))
        return {"decisions": [{**row, "known": numbers[-1:], "verdict": "replace"}]}

    with ScriptedModel(answer=answer) as model:
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": f"{model.url}/v1"}
        with engrams.open(
            home=home, preset="proxy", jobs__workers=0, vault__enabled=False, **chat
        ) as engine:
            for text in ("I love pizza", "I hate pizza"):
                engine.observe(Turn(text), scope=CHAT)
                engine.drain()
            asked = [
                request.messages
                for request in model.requests
                if "New statements have come in" in request.prompt
            ]
            assert [len(messages) for messages in asked] == [1, 3, 3, 3]
            complaints = [messages[-1][1] for messages in asked[1:]]
            for number, complaint in zip(numbers, complaints, strict=False):
                assert f"there is no statement {number}" in complaint
            facts = engine.list(scope=CHAT, kinds=(Kind.FACT, Kind.PREFERENCE)).records
            assert any("hate pizza" in record.text for record in facts)


@pytest.mark.covers("S2.36")
def test_a_fact_is_compared_with_five(home: Path) -> None:
    """Of twelve facts in one conversation, the model that reconciles is shown five for each new one."""
    with ScriptedModel(answer=learn) as model:
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": f"{model.url}/v1"}
        with engrams.open(
            home=home, preset="proxy", jobs__workers=0, vault__enabled=False, **chat
        ) as engine:
            for word in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"):
                said = [f"I swim on {word} {time}s" for time in ("morning", "noon", "evening")]
                engine.observe(Turn(". ".join(said[: 1 if word == "Friday" else 3])), scope=CHAT)
                engine.drain()
        prompts = [request.prompt for request in model.requests]
        prompt = [text for text in prompts if "New statements have come in" in text][-1]
        known = prompt.partition("Known statements:")[2].partition("New statements:")[0]
        assert "Friday morning" in prompt
        assert len(re.findall(r"^\d+\. ", known, re.MULTILINE)) == 5
