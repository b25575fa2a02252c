"""Key files, lines of the audit log and settings that another program changed or took away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run

from engrams.api_keys import ApiKeyStore
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


def test_a_kill_while_the_ledger_is_made_is_no_alarm(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """A process that dies when it has made the ledger, and wrote nothing in it, left no edit."""
    engrams("keys add", "a")
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


@pytest.mark.parametrize("writes_on", [False, True], ids=["left alone", "made anew"])
@pytest.mark.parametrize("rest", [None, b""], ids=["deleted", "emptied"])
def test_a_ledger_that_is_gone_is_named(
    engrams: Run,
    home: Path,
    diagnose: Callable[..., dict[str, str]],
    rest: bytes | None,
    writes_on: bool,
) -> None:
    """The database knows that there was a ledger: one that is gone is named until it is accepted."""
    engrams("keys add", "a")
    _log(home, "2026-03-10")
    engrams("add", "I live in Oslo.")
    (home / "audit" / "2026-03-10.jsonl").unlink()
    (home / "seal.files").unlink()
    if rest is not None:
        (home / "seal.files").write_bytes(rest)
    if writes_on:
        _log(home, "2026-03-11")
        engrams("add", "I keep bees.")
    assert "seal.files" in diagnose()["seals"]
    assert "seal.files" in diagnose()["seals"]
    assert diagnose("--accept") == {} and diagnose() == {}
    engrams("add", "I have a cat.")
    assert diagnose() == {}


def test_a_ledger_that_was_put_back_is_named(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """An older ledger, with the key files of its time, does not make a new key unseen."""
    engrams("keys add", "a")
    engrams("add", "I live in Oslo.")
    ledger = (home / "seal.files").read_bytes()
    key = engrams("keys add", "b", "--json").json["id"]
    engrams("add", "I keep bees.")
    (home / "seal.files").write_bytes(ledger)
    (home / "keys" / f"{key}.json").unlink()
    assert "seal.files" in diagnose()["seals"]


def test_a_key_that_was_revoked_stays_so(
    engrams: Run, home: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """The sound file of a key from before its revocation opens nothing, and is named."""
    engrams("add", "I live in Oslo.")
    made = engrams("keys add", "a", "--json").json
    file = home / "keys" / f"{made['id']}.json"
    content = file.read_bytes()
    engrams("keys revoke", made["id"])
    assert diagnose() == {}
    file.write_bytes(content)
    assert made["id"] in diagnose()["keys"]
    assert engrams("keys list", "--json").json["keys"] == []
    assert ApiKeyStore.open(home).list() == ()


def test_restoring_a_backup_is_no_alarm(
    engrams: Run, home: Path, tmp_path: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """A backup with its number of the ledger is put back over a newer home, and into an empty one."""
    engrams("keys add", "a")
    engrams("add", "I live in Oslo.")
    assert diagnose() == {}
    engrams("backup", str(tmp_path / "memory.backup"))
    engrams("keys add", "b")
    engrams("add", "I keep bees.")
    assert diagnose() == {}
    engrams("restore", str(tmp_path / "memory.backup"), "--yes")
    assert diagnose() == {}
    other = tmp_path / "other"
    engrams("recover", str(tmp_path / "memory.backup"), "--home", str(other))
    assert diagnose("--home", str(other)) == {}


def test_an_older_copy_of_the_home_is_named_by_its_head(
    engrams: Run, home: Path, tmp_path: Path, diagnose: Callable[..., dict[str, str]]
) -> None:
    """With a head elsewhere, the doctor names a home that was put back as a whole."""
    head = ("--set", f"store.head_file={tmp_path / 'head.json'}")
    engrams("add", "I live in Oslo.", *head)
    shutil.copytree(home, tmp_path / "older")
    engrams("add", "I moved to Rome.", *head)
    assert diagnose(*head) == {}
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "older", home)
    assert "earlier state" in diagnose(*head)["seals"]
    assert diagnose(*head, "--accept") == {} and diagnose(*head) == {}
