"""``python -m bench.precision``: its provider over a served engrams, and its figures."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from bench.precision.__main__ import print_figures, serve_engrams
from bench.precision.provider import serve_provider


def _call(port: int, method: str, path: str, body: object = None) -> Any:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, json.dumps(body))
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def _belief(name: str, text: str, scope: str) -> dict[str, object]:
    metadata = {"beliefId": name, "scope": scope}
    return {"text": text, "user_id": "u", "metadata": metadata}


@pytest.mark.slow
def test_a_provider_keeps_beliefs_by_scope_and_replaces_them(tmp_path: Path) -> None:
    """A search finds what was said in its scope, in its last words, and nothing after a reset."""
    with serve_engrams(tmp_path, []) as engrams_port, serve_provider(engrams_port) as port:
        _call(port, "DELETE", "/reset")
        _call(port, "POST", "/add", _belief("b1", "Redis is our cache.", "domain:code"))
        _call(port, "POST", "/add", _belief("b2", "Redis is a jazz pianist.", "domain:writing"))
        _call(port, "PUT", "/update", _belief("b1", "Redis is our rate limiter.", "domain:code"))
        question = {"query": "what is Redis?", "user_id": "u", "limit": 5, "scope": "domain:code"}
        (hit,) = _call(port, "POST", "/search", question)["results"]
        assert hit == {"id": "b1", "memory": "Redis is our rate limiter."}
        _call(port, "DELETE", "/reset")
        assert _call(port, "POST", "/search", question)["results"] == []


def test_figures_count_what_came_and_what_should_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Cases without an answer count as silence; those that ask for nothing are left out."""
    cases = [
        {"caseId": "a", "query": "redis?", "scope": ["code"], "expect": {}},
        {"caseId": "b", "query": "vue?", "scope": ["code"], "expect": {}},
        {"caseId": "c", "query": " ", "scope": ["code"], "expect": {}},
        {
            "caseId": "d",
            "query": "go?",
            "scope": ["code"],
            "expect": {},
            "budget": {"maxBeliefs": 0},
        },
    ]
    rows = [
        {
            "caseId": case["caseId"],
            "retrievalPrecision": 0.5 if case["caseId"] == "a" else None,
            "retrievalRecall": 1.0 if case["caseId"] == "a" else None,
            "relevantBeliefs": ["b1", "b2"] if case["caseId"] == "a" else [],
            "passed": case["caseId"] != "a",
        }
        for case in cases
    ]
    print_figures(cases, rows, all_cases=True)
    printed = capsys.readouterr().out
    assert "precision, recall         0.50, 1.00" in printed
    assert "nothing where nothing is  1 of 1" in printed
    assert "a: 'redis?' in code" in printed
