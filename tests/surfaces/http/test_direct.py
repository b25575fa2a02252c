"""Searches without a fault go round the framework, and answer what it would."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from engrams import MemoryEngine, Turn
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.rest import errors
from engrams.testing import temp_engine

JSON = {"content-type": "application/json"}
REQUESTS: tuple[dict[str, Any], ...] = (
    {"json": {"query": "boat"}},
    {
        "json": {
            "query": "boat",
            "limit": 1,
            "kinds": ["note"],
            "where": [{"field": "kind", "op": "eq", "value": "note"}],
        }
    },
    {"json": {"query": "boat"}, "params": {"project": "garden"}},
    {"json": {"query": "boat"}, "headers": {"x-engrams-user": "bob"}},
    {
        "content": b'{"query": "boat \\ud800"}',
        "headers": {"content-type": "application/json; charset=utf-8"},
    },
    {"json": {"query": "boat", "nope": 1}},
    {"json": {"query": "boat", "limit": "3"}},
    {"json": {"query": "boat", "as_of": "2024"}},
    {"json": [1]},
    {"content": b"", "headers": JSON},
    {"content": b"{", "headers": JSON},
    {"content": b"\xff\xfe", "headers": JSON},
    {"content": b"[" * 100_000, "headers": JSON},
    {"content": b'{"query": "boat"}'},
    {"content": [b'{"query": ', b'"boat"}'], "headers": JSON},
    {"content": [b'{"query": "boat"}', b" " * 3_000_000], "headers": JSON},
    {"content": b'{"query": "boat"}' + b" " * 3_000_000, "headers": JSON},
)


def answer(memory: MemoryEngine, path: str) -> list[tuple[int, str, dict[str, str]]]:
    told = []
    with TestClient(create_app(memory, memory.settings), base_url="http://127.0.0.1") as client:
        for asked in REQUESTS:
            found = client.post(path, **asked)
            headers = {
                name: value for name, value in found.headers.items() if name != "x-request-id"
            }
            told.append((found.status_code, found.text, headers))
    return told


@pytest.mark.parametrize("path", ["/v1/search", "/v1/context"])
def test_the_answer_is_the_same_either_way(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies with and without faults, parts of memory and users: status, text and headers."""
    with temp_engine(
        user="ada", jobs__workers=0, usage__enabled=False, limits__text_bytes=1000
    ) as memory:
        memory.add("The boat lies in Bergen.", scope=("user", "ada"))
        direct = answer(memory, path)
        monkeypatch.setattr(errors, "_make_direct", lambda *_: None)
        assert direct == answer(memory, path)
        assert {status for status, _, _ in direct} == {200, 400, 413, 422}


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
