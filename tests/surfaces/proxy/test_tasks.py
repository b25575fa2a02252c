"""A client's own errands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engrams.surfaces.proxy.chat_request import is_client_task
from engrams.surfaces.proxy.json_splice import parse_envelope

TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Guidelines:
- Write in the chat's primary language.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: I live in Lyon
</chat_history>"""
RAG = """### Task:
Respond to the user query using the provided context.
### Output:
Provide a clear answer.
<context>tags and titles</context>"""


def judge(messages: list[Any], headers: dict[str, str] | None = None, **fields: Any) -> bool:
    envelope = parse_envelope(json.dumps({"messages": messages, **fields}).encode())
    assert envelope is not None
    return is_client_task(headers or {}, envelope)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    "messages",
    [
        [user(TITLE)],
        [user(TITLE.replace("title with an emoji", "1-3 broad tags"))],
        [
            {
                "role": "system",
                "content": 'You generate short chat titles. Reply as JSON: {"title": "..."}',
            },
            user("hi"),
        ],
        [
            {
                "role": "developer",
                "content": "Suggest three follow-up questions. Return a JSON list.",
            },
            user("hi"),
        ],
    ],
)
def test_titles_and_tags_are_errands(messages: list[Any]) -> None:
    """A prompt that asks for a title, tags or follow-ups as data is recognised."""
    assert judge(messages)


@pytest.mark.parametrize(
    "messages",
    [
        [user("Generate a title for my blog about cats, as JSON")],
        [user(RAG)],
        [user(TITLE), {"role": "assistant", "content": "Lyon"}, user("Thanks! Where do I live?")],
        [{"role": "system", "content": "You are a helpful assistant. Answer in JSON."}, user("hi")],
        [{"role": "system", "content": "Give every answer a title."}, user("hi")],
        [None, 5, {"role": "user"}, {"role": "system", "content": 5}],
        [],
    ],
)
def test_people_are_not(messages: list[Any]) -> None:
    """What a person may say, and malformed messages, are not taken for errands."""
    assert not judge(messages)


def test_a_named_task_is_an_errand() -> None:
    """A task in the header or the metadata decides;
    a chat's own value or an unfilled template does not.
    """
    assert judge([user("hi")], {"x-openwebui-task": "title_generation"})
    assert judge([user("hi")], metadata={"task": "tags_generation"})
    assert not judge([user("hi")], {"x-openwebui-task": "{{TASK}}"})
    assert not judge([user("hi")], {"x-openwebui-task": ""}, metadata={"task": None})
