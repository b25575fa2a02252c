"""engrams safety and engrams feedback: kept, listed, purged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run


@pytest.mark.covers("S4.55", "S4.56")
def test_a_crisis_is_kept_listed_and_purged(grouped: Run, home: Path) -> None:
    """Once by its id, with --user's owner and a reason of 500 characters at most;
    listed by day; purged before a day, which stays.
    """
    arguments = (
        "s1",
        "--classifier",
        "model",
        "--severity",
        "high",
        "--reason",
        "r" * 600,
        "--id",
        "1",
        "--user",
        "ann",
        "--json",
    )
    assert [grouped("safety", "add", *arguments).json["outcome"] for _ in range(2)] == [
        "stored",
        "known",
    ]
    assert grouped("safety", "add", "s2", "--user", "bob").out == "stored\n"
    records = grouped("safety", "list", "--json").json["records"]
    assert {record["owner"] for record in records} == {"user/ann", "user/bob"}
    (mine,) = grouped("safety", "list", "--user", "ann", "--session", "s1", "--json").json[
        "records"
    ]
    assert (mine["classifier"], mine["severity"], mine["reason"]) == ("model", "high", "r" * 500)
    day = mine["at"][:10]
    assert len(grouped("safety", "list", "--day", day, "--json").json["records"]) == 2
    assert grouped("safety", "list", "--until", "2020-01-01", "--json").json == {"records": []}
    assert grouped("safety", "purge", "--before", day, "--confirm", "purge", "--json").json == {
        "purged": 0
    }
    assert (
        grouped("safety", "purge", "--before", "2100-01-01", "--confirm", "purge").out
        == "2 records erased.\n"
    )
    assert "safety.purge" in "".join(path.read_text() for path in (home / "audit").iterdir())


@pytest.mark.covers("S4.57")
def test_feedback_is_kept_listed_and_purged(grouped: Run) -> None:
    """A label of the three, with its source and modality; a fourth is a usage error."""
    for label in ("positive", "negative", "skip"):
        arguments = ("s1", label, "--source", "button", "--modality", "voice", "--user", "ann")
        assert grouped("feedback", "add", *arguments).out == "stored\n"
    assert grouped("feedback", "add", "s1", "great").code == 2
    records = grouped("feedback", "list", "--user", "ann", "--json").json["records"]
    assert [record["label"] for record in records] == ["skip", "negative", "positive"]
    assert {(record["source"], record["modality"]) for record in records} == {("button", "voice")}
    assert "negative" in grouped("feedback", "list").out
    assert grouped("feedback", "list", "--user", "bob").err == "Nothing here.\n"
    assert grouped(
        "feedback", "purge", "--before", "2100-01-01", "--confirm", "purge", "--json"
    ).json == {"purged": 3}


def test_purging_takes_the_word(grouped: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything but `purge` cancels with exit code 4, and what is no day is an error."""
    grouped("safety", "add", "s1")
    assert grouped("safety", "purge", "--before", "2100-01-01", "--confirm", "yes").code == 4
    assert grouped("feedback", "purge", "--before", "yesterday", "--confirm", "purge").code == 1
    assert len(grouped("safety", "list", "--json").json["records"]) == 1


def test_a_lost_record_is_an_error_here(grouped: Run, home: Path) -> None:
    """Where keeping it is all that was asked for, that it cannot be is exit code 5."""
    home.mkdir()
    (home / "ledgers").write_text("in the way")
    for group, arguments in (("safety", ("s1",)), ("feedback", ("s1", "skip"))):
        finished = grouped(group, "add", *arguments, "--json")
        assert (finished.code, finished.out) == (5, "")
        assert json.loads(finished.err.splitlines()[-1])["error"]["type"] == "StoreError"


def test_control_characters_do_not_reach_the_terminal(grouped: Run) -> None:
    """A reason that would steer a terminal is shown without what steers it."""
    grouped("safety", "add", "s1", "--reason", "\x1b[2Jgone\u202e")
    shown = grouped("safety", "list").out
    assert "gone" in shown and "\x1b" not in shown and "\u202e" not in shown
