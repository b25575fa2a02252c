"""Bodies of searches with and without faults, and how hits are written."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from engrams import Turn
from engrams.program.registry import create_app
from engrams.testing import temp_engine

JSON = {"content-type": "application/json"}
REQUESTS: tuple[tuple[int, dict[str, Any]], ...] = (
    (200, {"json": {"query": "boat"}}),
    (
        200,
        {
            "json": {
                "query": "boat",
                "limit": 1,
                "kinds": ["note"],
                "where": [{"field": "kind", "op": "eq", "value": "note"}],
            }
        },
    ),
    (200, {"json": {"query": "boat"}, "params": {"project": "garden"}}),
    (200, {"json": {"query": "boat"}, "headers": {"x-engrams-user": "bob"}}),
    (
        200,
        {
            "content": b'{"query": "boat \\ud800"}',
            "headers": {"content-type": "application/json; charset=utf-8"},
        },
    ),
    (422, {"json": {"query": "boat", "nope": 1}}),
    (422, {"json": {"query": "boat", "limit": "3"}}),
    (422, {"json": {"query": "boat", "as_of": "2024"}}),
    (422, {"json": [1]}),
    (422, {"content": b"", "headers": JSON}),
    (422, {"content": b"{", "headers": JSON}),
    (422, {"content": b"\xff\xfe", "headers": JSON}),
    (400, {"content": b"[" * 100_000, "headers": JSON}),
    (422, {"content": b'{"query": "boat"}'}),
    (200, {"content": [b'{"query": ', b'"boat"}'], "headers": JSON}),
    (413, {"content": [b'{"query": "boat"}', b" " * 3_000_000], "headers": JSON}),
    (413, {"content": b'{"query": "boat"}' + b" " * 3_000_000, "headers": JSON}),
)


@pytest.mark.parametrize(("status", "request_options"), REQUESTS)
def test_bodies_with_and_without_faults_are_answered(
    status: int, request_options: dict[str, Any]
) -> None:
    """A body with a fault is refused by the status of its kind, any other is answered."""
    with temp_engine(
        user="ada", jobs__workers=0, usage__enabled=False, limits__text_bytes=1000
    ) as memory:
        memory.add("The boat lies in Bergen.", scope=("user", "ada"))
        app = create_app(memory, memory.settings)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            assert client.post("/v1/search", **request_options).status_code == status


def test_hits_of_a_search_are_written_like_those_of_an_explanation() -> None:
    """Every field of messages, of facts and of marks, in the same order;
    also of metadata and times.
    """
    with temp_engine(user="ada", jobs__workers=0, usage__enabled=False) as memory:
        for text in ("I live in Bergen.", "I moved to Oslo last week.", "My sister Ann likes tea."):
            memory.add(
                Turn(text, speaker="Ada", session="s", meta={"from": ["a", {"b": 1.5}]}),
                scope=("user", "ada"),
            )
        memory.drain()
        with TestClient(create_app(memory, memory.settings), base_url="http://127.0.0.1") as client:
            found, explained = [
                client.post(path, json={"query": "Where do I live?"})
                for path in ("/v1/search", "/v1/explain")
            ]
    assert found.text.startswith(explained.text.partition(',"abstain"')[0])
    assert any(hit["facts"] and hit["memory"]["meta"] for hit in found.json()["hits"])
