"""The text to search for, out of a conversation."""

from __future__ import annotations

import pytest

from engrams.core import Turn
from engrams.read.cues.conversation_query import extract_query

NOISE = [
    ("<system-reminder>Be brief.</system-reminder>Where is my car?", "Where is my car?"),
    (
        "Where is my car?\n<system-reminder>\nTodo list\nis empty\n</system-reminder>",
        "Where is my car?",
    ),
    ("Where is my car?\n<system-reminder>cut off", "Where is my car?"),
    ("<system-reminder>a</system-reminder>x<system-reminder>b</system-reminder>y", "xy"),
    ("<environment_details>cwd: /tmp</environment_details>\nWhere is my car?", "Where is my car?"),
    ("<tool_result>\n404\n</tool_result>\nWhere is my car?", "Where is my car?"),
    ("[Tool result: 200 OK]\nWhere is my car?", "Where is my car?"),
    ("[Request interrupted by user]\nWhere is my car?", "Where is my car?"),
    ("is 3 < 4 and 5 > 2?", "is 3 < 4 and 5 > 2?"),
    ("what does <b>bold</b> mean", "what does <b>bold</b> mean"),
    ("what is a tool result?", "what is a tool result?"),
    ("", ""),
]


@pytest.mark.covers("S3.18")
@pytest.mark.parametrize(("text", "want"), NOISE)
def test_reminders_and_tool_noise_are_dropped(text: str, want: str) -> None:
    """What a client put around the user's words is not searched for; the words themselves stay."""
    assert extract_query(text) == want


@pytest.mark.covers("S3.18")
def test_the_last_user_text_leads() -> None:
    """Answers, tool messages and system prompts after or before it do not."""
    messages = [
        {"role": "system", "content": "You are a helper."},
        {"role": "user", "content": "I have a dog."},
        {"role": "assistant", "content": "Nice!"},
        {"role": "user", "content": "What is its name?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "error 500"},
    ]
    assert extract_query(messages) == "What is its name?"
    assert extract_query(messages, context=2) == "What is its name?\nNice!\nI have a dog."


def test_blocks_and_turns() -> None:
    """Content may come as blocks, and messages as turns;
    pictures and tool results in blocks are no words.
    """
    blocks = [
        {"type": "tool_result", "content": "404", "text": "404"},
        {"type": "text", "text": "Where is"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "my car?"},
    ]
    assert extract_query([{"role": "user", "content": blocks}]) == "Where is\nmy car?"
    assert extract_query([Turn("Hello"), Turn("Hi!", role="assistant")]) == "Hello"


def test_a_message_of_noise_alone_does_not_lead() -> None:
    """A user message that holds only a tool's output is passed over."""
    assert (
        extract_query(
            [
                {"role": "user", "content": "Where is my car?"},
                {"role": "user", "content": "<tool_result>404</tool_result>"},
            ]
        )
        == "Where is my car?"
    )


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "assistant", "content": "Hi"}],
        [{}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": [1, None, {}]}],
    ],
)
def test_nothing_said(messages: list[dict[str, object]]) -> None:
    """Where no user said anything, there is nothing to search for."""
    assert extract_query(messages) == ""


@pytest.mark.covers("S3.17")
def test_the_tail_counts() -> None:
    """Of a long text the last 4000 characters are searched for, and context stays within them."""
    text = "a" * 5000 + " the end"
    assert extract_query(text) == extract_query([{"role": "user", "content": text}]) == text[-4000:]
    history = [{"role": "assistant", "content": "b" * 3000}] * 5 + [
        {"role": "user", "content": "short"}
    ]
    query = extract_query(history, context=5)
    assert query.startswith("short\n" + "b" * 1200 + "\n")
    assert len(query) <= 4000
    assert extract_query("abcdef", tail=3) == "def"


def test_hostile_markup_takes_no_long_time() -> None:
    """Many unclosed tags are read once."""
    assert extract_query("<system-reminder>" * 20_000 + "x") == ""
    assert extract_query("<context>" * 20_000).endswith("<context>")
