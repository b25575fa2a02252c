"""The check of what memory holds true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.truth.__main__ import answer_case, judge, main

CASE = {
    "id": "t-1",
    "cat": "move",
    "lang": "en",
    "say": [
        {"at": "2025-01-10T10:00", "who": "user", "text": "I'm vegetarian and I live in Paris."},
        {"at": "2025-03-10T10:00", "who": "user", "text": "I moved to Berlin."},
    ],
    "ask": "Where do I live?",
    "as_of": None,
    "now": ["moved to Berlin"],
    "stale": ["live in Paris"],
    "keep": ["I'm vegetarian"],
}


def test_a_clause_that_says_that_it_is_over_passes_strictly() -> None:
    """The clause is marked in its place, and the rest of its message stays."""
    assert all(judge(answer_case(CASE, {})).values())


def test_an_outdated_line_without_a_mark_fails_strictly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without rules and detector nothing says that the earlier line is over."""
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(CASE) + "\n", "utf-8")
    off = ["--set", "write.changes.enabled=false", "--set", "write.extract=off"]
    for strict in ([], ["--strict"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["truth", str(file), "--min", "1", *strict, *off])
            assert main() == 1
    assert "shown 1" in capsys.readouterr().out


def test_a_mark_of_what_holds_fails_strictly() -> None:
    """Where the case says that nothing ended, a closing counts as wrong."""
    trap = {**CASE, "stale": [], "now": ["live in Paris"]}
    results = judge(answer_case(trap, {}))
    assert not results["marks"]


def test_a_statement_that_is_over_is_counted_with_its_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fact that is only in doubt stays a false one, and is told apart from one without a mark."""
    doubted = {
        **CASE,
        "say": [
            {
                "at": "2025-01-06T12:00",
                "who": "user",
                "text": "I ride a Vespa, mint green. My helmet is a size M.",
            },
            {
                "at": "2025-05-17T12:00",
                "who": "user",
                "text": "The Vespa was replaced by an e-bike.",
            },
        ],
        "ask": "What do I ride?",
        "now": ["replaced by an e-bike"],
        "stale": ["I ride a Vespa"],
        "keep": [],
    }
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(doubted) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["truth", str(file), "--strict"])
        main()
    assert "over and listed with a mark: 1 of 1" in capsys.readouterr().out
