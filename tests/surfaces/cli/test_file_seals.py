"""Key files, lines of the audit log and settings that another program changed or took away."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run

from engrams.logs.audit_files import AuditEventFiles
from engrams.ports import AuditEventBatch, AuditLogEntry


@pytest.fixture
def diagnose(engrams: Run) -> Callable[..., dict[str, str]]:
    """Run the doctor; return the checks that are not well, by name."""

    def run(*arguments: str) -> dict[str, str]:
        checks = engrams("doctor", "--offline", "--json", *arguments).json["checks"]
        bad = [check for check in checks if check["state"] in ("warn", "fail")]
        return {check["name"]: check["detail"] for check in bad}

    return run


def _log(home: Path, *days: str) -> None:
    """Log two events on each day, each time as a process of its own."""
    for number, day in enumerate(days):
        events = [
            AuditLogEntry(
                at=f"{day}T08:0{minute}:00+00:00", action="memory.add", target=f"{number}"
            )
            for minute in range(2)
        ]
        files = AuditEventFiles(home / "audit")
        files.append_events(AuditEventBatch(tuple(events), number))
        files.close()


def test_one_bad_key_does_not_hide_the_others(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """`keys list` shows the sound keys, and names a file that was changed and one that is gone."""
    engrams("add", "I live in Oslo.")
    bad, gone, good = (engrams("keys add", name, "--json").json["id"] for name in "abc")
    file = home / "keys" / f"{bad}.json"
    file.write_text(file.read_text("utf-8").replace("read", "admin"), "utf-8")
    (home / "keys" / f"{gone}.json").unlink()
    listed = engrams("keys list", "--json").json
    assert [key["id"] for key in listed["keys"]] == [good]
    assert [bad in listed["problems"][0], gone in listed["problems"][1]] == [True, True]
    assert good in (shown := engrams("keys list")).out and bad in shown.err and gone in shown.err
    assert bad in diagnose()["keys"] and gone in diagnose()["keys"]
    file.unlink()
    assert diagnose("--accept") == {}
    assert diagnose() == {} and engrams("keys list", "--json").json["problems"] == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: [lines[0].replace("add", "get"), *lines[1:]],
        lambda lines: [*lines[:1], *lines[2:]],
        lambda lines: lines[:-1],
        lambda lines: [*lines, lines[1]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda _: [],
    ],
    ids=["changed", "taken away", "cut off", "added", "exchanged", "emptied"],
)
def test_an_edit_of_the_audit_log_is_named(
    engrams: Run,
    home: Path,
    diagnose: Callable[..., dict[str, str]],
    edit: Callable[[list[str]], list[str]],
) -> None:
    """The doctor names the audit log after an edit of any line, and after later events, too."""
    engrams("add", "I live in Oslo.")
    _log(home, "2026-03-10", "2026-03-11")
    assert diagnose() == {}
    file = home / "audit" / "2026-03-11.jsonl"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(edit(lines)), "utf-8")
    assert "audit" in diagnose()
    _log(home, "2026-03-12")
    assert "audit" in diagnose()
    assert diagnose("--accept") == {}
    _log(home, "2026-03-13")
    assert diagnose() == {}


def test_a_deleted_day_of_the_audit_log_is_named(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """A day that another program deleted is named; one that was kept long enough is not."""
    engrams("add", "I live in Oslo.")
    _log(home, "2026-03-10", "2026-03-11", "2026-03-12")
    AuditEventFiles(home / "audit").drop_events(date(2026, 3, 11))
    assert diagnose() == {}
    (home / "audit" / "2026-03-11.jsonl").unlink()
    assert "audit" in diagnose()


def test_lines_that_a_crash_left_are_no_alarm(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """A process that dies between a line and its note, or within a line, leaves nothing to name."""
    engrams("add", "I live in Oslo.")
    _log(home, "2026-03-10", "2026-03-11")
    ledger = (home / "seal.files").read_bytes()
    _log(home, "2026-03-10", "2026-03-11")
    (home / "seal.files").write_bytes(ledger)
    assert diagnose() == {}
    _log(home, "2026-03-11")
    assert diagnose() == {}
    with (home / "audit" / "2026-03-11.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"at": "2026-03-11T')
    assert diagnose() == {}
    (home / "seal.files").write_bytes(b"")
    assert diagnose() == {}


def test_a_changed_setting_that_guards_is_named(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """A setting that guards memory is named after an edit of `config.toml`, until it is accepted."""
    engrams("add", "I live in Oslo.")
    file = home / "config.toml"
    file.write_text("[audit]\nreads = true\n", "utf-8")
    assert diagnose() == {}
    file.write_text("[quota]\nrecords = 9\n", "utf-8")
    assert diagnose()["settings"] == "config.toml was changed: audit.reads, quota.records."
    assert diagnose("--accept") == {} and diagnose() == {}


def test_a_changed_ledger_is_named(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """The ledger itself has a seal."""
    engrams("add", "I live in Oslo.")
    engrams("keys add", "a")
    ledger = json.loads((home / "seal.files").read_text("utf-8"))
    (home / "seal.files").write_text(json.dumps({**ledger, "keys": []}), "utf-8")
    assert "seal.files" in diagnose()["files"]
    assert diagnose("--accept") == {} and diagnose() == {}
