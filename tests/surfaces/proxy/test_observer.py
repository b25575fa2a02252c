"""Reading along a stream."""

from __future__ import annotations

import itertools
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.surfaces.proxy.harness import observer

from engrams.surfaces.proxy.chat_protocols import parse_chat_answer as answer_of
from engrams.surfaces.proxy.chat_protocols import sse_event


def chunk(text: object, **more: object) -> bytes:
    return sse_event(
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **more}]}
    )


STREAM = (
    b": ping\n\n"
    + chunk("Grüße, ").replace(b"\n", b"\r\n")
    + chunk("東京 😀")
    + chunk("!", finish_reason="stop")
    + b"data: [DONE]\n\n"
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cuts_make_no_difference(cuts: list[int]) -> None:
    """However the bytes are cut, in the midst of a letter too, the text is the same."""
    places = [0, *sorted(cuts), len(STREAM)]
    seen = observer(1000)
    for start, end in itertools.pairwise(places):
        seen.feed(STREAM[start:end])
    assert (seen.text, seen.finished, seen.failed) == ("Grüße, 東京 😀!", True, False)


def test_what_is_not_text_is_passed_over() -> None:
    """Tool calls, a second choice, usage, nonsense and deep nesting add no text and raise nothing."""
    seen = observer(1000)
    seen.feed(
        sse_event(
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
                    }
                ]
            }
        )
    )
    seen.feed(
        sse_event({"choices": [{"index": 1, "delta": {"content": "other"}}]})
        + sse_event({"choices": [], "usage": {}})
    )
    for data in (
        b"nonsense",
        b"[]",
        b"5",
        b'{"choices": 5}',
        b'{"choices": [5, {"delta": 5}]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ):
        seen.feed(b"data: " + data + b"\n\n")
    assert (seen.text, seen.finished, seen.failed) == ("", False, False)


def test_parts_and_null_content() -> None:
    """Content may be null or a list of parts."""
    seen = observer(1000)
    seen.feed(chunk(None) + chunk([{"type": "text", "text": "a"}]) + chunk("b"))
    assert seen.text == "ab"


def test_an_error_is_seen() -> None:
    """An error object in the stream marks it failed."""
    seen = observer(1000)
    seen.feed(chunk("a") + sse_event({"error": {"message": "overloaded"}}))
    assert (seen.text, seen.failed) == ("a", True)


def test_a_long_answer_is_cut_at_the_limit() -> None:
    """No more than the limit is kept in memory, and that it was cut is known."""
    seen = observer(5)
    for _ in range(10):
        seen.feed(chunk("abc"))
    assert (seen.text, seen.is_cut) == ("abcab", True)


def test_a_line_without_end_is_given_up() -> None:
    """A line that never ends is not collected for ever, and the lines after it are read."""
    seen = observer(100)
    for _ in range(20):
        seen.feed(b"data: " + b"x" * 1_000_000)
    seen.feed(b"\n" + chunk("ok"))
    assert seen.text == "ok"


def test_the_answer_of_a_whole_completion() -> None:
    """Text where there is some, empty for tool calls, None for what is no completion."""
    assert answer_of({"choices": [{"message": {"content": "hi"}}]}) == "hi"
    assert answer_of({"choices": [{"message": {"content": None, "tool_calls": []}}]}) == ""
    assert answer_of({"choices": []}) == ""
    for body in (
        None,
        [],
        "x",
        {"error": {"message": "no"}},
        {"choices": 5},
        json.loads("{}"),
        {"error": 1, "choices": []},
    ):
        assert answer_of(body) is None
