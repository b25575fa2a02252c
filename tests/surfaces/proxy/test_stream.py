"""Chat completions as a stream."""

from __future__ import annotations

import json
import threading

import httpx2
import pytest
from tests.surfaces.proxy.harness import ANSWER, DONE, Harness, completion, eventually
from tests.surfaces.proxy.raw import Drop, opening, piece, reply

from engrams.surfaces.proxy.chat_protocols import sse_event

REX = "My dog is called Rex and he is a greyhound."


@pytest.mark.covers("S2.8")
def test_the_bytes_are_the_upstreams(bench: Harness) -> None:
    """Every byte with [DONE] arrives as it left, with the upstream's headers, whatever the chunks'
    borders.
    """
    whole = b"".join(ANSWER)
    cuts = [piece(whole[at : at + 7]) for at in range(0, len(whole), 7)]
    bench.raw.says(opening("X-Request-Id: r9", "Cache-Control: no-store"), *cuts, piece(b""))
    direct = httpx2.post(bench.raw.url + "/v1/chat/completions", json={"messages": []})
    answer = bench.ask(REX, stream=True)
    assert answer.content == direct.content == whole
    same = ("content-type", "x-request-id", "cache-control")
    assert [answer.headers[name] for name in same] == [direct.headers[name] for name in same]
    assert bench.told() == [("user", REX), ("assistant", "Hello Wörld 東京!")]


@pytest.mark.covers("S2.8")
def test_chunks_are_not_held_back_and_the_user_is_stored_first(bench: Harness) -> None:
    """While the upstream still speaks the client has the first chunk, the user's turn is stored,
    the answer's is not.
    """
    gate = threading.Event()
    bench.raw.says(opening(), piece(ANSWER[0]), gate, piece(ANSWER[3]), piece(DONE), piece(b""))
    with bench.client.stream(
        "POST",
        "/v1/chat/completions",
        content=bench.body(REX, stream=True),
        headers=bench.headers(),
    ) as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == ANSWER[0]
        assert bench.told() == [("user", REX)]
        gate.set()
        assert b"".join(chunks) == ANSWER[3] + DONE
    assert bench.told() == [("user", REX), ("assistant", "Hello 京!")]


@pytest.mark.covers("S2.9")
def test_a_stream_without_text_stores_no_answer(bench: Harness) -> None:
    """Tool calls and usage come down, and only the user's turn is kept."""
    call = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    tools = sse_event(
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    )
    bench.raw.says(opening(), piece(tools + DONE), piece(b""))
    assert bench.ask(REX, stream=True).content == tools + DONE
    assert bench.told() == [("user", REX)]


@pytest.mark.covers("S2.9")
def test_an_error_in_the_stream_comes_down(bench: Harness) -> None:
    """An error event is relayed as it is; what was said before it is kept as partial."""
    broken = ANSWER[0] + sse_event({"error": {"message": "overloaded"}})
    bench.raw.says(opening(), piece(broken), piece(b""))
    assert bench.ask(REX, stream=True).content == broken
    assert [(turn.text, turn.meta.get("partial")) for turn in bench.turns()] == [
        (REX, None),
        ("Hello", True),
    ]


@pytest.mark.covers("S2.9")
@pytest.mark.parametrize("tail", [b"", b'data: {"choices": [{"ind'])
def test_a_stream_that_breaks_ends_in_an_error_event(bench: Harness, tail: bytes) -> None:
    """When the upstream's connection breaks the client reads an error event, also after half a
    line.
    """
    bench.raw.says(opening(), piece(ANSWER[0] + tail), Drop())
    content = bench.ask(REX, stream=True).content
    assert content.startswith(ANSWER[0] + tail)
    last = content[len(ANSWER[0] + tail) :].strip().removeprefix(b"data: ")
    assert json.loads(last)["error"]["code"] == "upstream_disconnected"
    assert bench.turns()[-1].meta["partial"] is True


def test_a_client_that_leaves_stops_the_upstream(bench: Harness) -> None:
    """The upstream call is cancelled, and what had been said is kept as partial."""
    bench.raw.says(opening(), piece(ANSWER[0]), threading.Event())
    with bench.client.stream(
        "POST",
        "/v1/chat/completions",
        content=bench.body(REX, stream=True),
        headers=bench.headers(),
    ) as answer:
        assert next(answer.iter_raw()) == ANSWER[0]
    assert bench.raw.left.wait(10)
    eventually(lambda: len(bench.turns()) == 2)
    assert [(turn.role, turn.text, turn.meta.get("partial")) for turn in bench.turns()] == [
        ("user", REX, None),
        ("assistant", "Hello", True),
    ]


def test_a_client_that_leaves_before_the_answer_stops_the_upstream(bench: Harness) -> None:
    """Nobody waits: the call is cancelled, and what was said is stored."""
    bench.raw.says(threading.Event())
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            bench.url + "/v1/chat/completions",
            content=bench.body(REX),
            headers=bench.headers(),
            timeout=1,
        )
    assert bench.raw.left.wait(10)
    eventually(lambda: bench.told() == [("user", REX)])


def test_a_client_that_leaves_at_done_has_heard_it_all(bench: Harness) -> None:
    """Closing right after [DONE], as clients do, leaves a whole answer, not a partial one."""
    bench.raw.says(opening(), piece(b"".join(ANSWER)), threading.Event())
    with bench.client.stream(
        "POST",
        "/v1/chat/completions",
        content=bench.body(REX, stream=True),
        headers=bench.headers(),
    ) as answer:
        assert DONE in next(answer.iter_raw())
    eventually(lambda: len(bench.turns()) == 2)
    assert "partial" not in bench.turns()[-1].meta


def test_the_answer_says_whether_it_streams(bench: Harness) -> None:
    """JSON where a stream was asked for is treated as JSON, and a stream where none was asked for
    as a stream.
    """
    assert bench.ask(REX, stream=True).content == completion()[:-1] + b',"memory_hits":[]}'
    bench.raw.says(opening(), piece(b"".join(ANSWER)), piece(b""))
    assert bench.ask("It rains today in Lyon.").content == b"".join(ANSWER)
    assert bench.told()[-1] == ("assistant", "Hello Wörld 東京!")


@pytest.mark.covers("S2.7")
def test_an_error_instead_of_a_stream(bench: Harness) -> None:
    """A 429 to a streaming request is a 429, and no answer is stored."""
    bench.raw.says(
        reply(b'{"error":{"message":"later"}}', "429 Too Many Requests", "Retry-After: 3")
    )
    answer = bench.ask(REX, stream=True)
    assert (answer.status_code, answer.headers["retry-after"], answer.content) == (
        429,
        "3",
        b'{"error":{"message":"later"}}',
    )
    assert bench.told() == [("user", REX)]
