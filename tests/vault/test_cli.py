"""The vault from the command line."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from engrams.program.main import COMMANDS, main

pytest.importorskip("dulwich")
pytestmark = pytest.mark.skipif("sync" not in COMMANDS, reason="the commands are not registered")


@pytest.fixture
def run(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run one command on a home with a vault: code, output, errors."""
    monkeypatch.setenv("ENGRAMS_VAULT__ENABLED", "true")
    monkeypatch.setenv("ENGRAMS_USER", "alice")
    monkeypatch.setenv("ENGRAMS_WRITE__EXTRACT", "off")
    monkeypatch.setenv("HOME", str(home.parent))

    def once(*command: str) -> tuple[int, str, str]:
        code = main([*command, "--home", str(home)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return once


def the_file(home: Path) -> Path:
    (path,) = (home / "vault/entries").rglob("*.md")
    return path


def test_edit_ask_log_and_revert(run: Callable[..., tuple[int, str, str]], home: Path) -> None:
    """A fact edited in an editor changes the answer;
    log, diff and blame tell of it; revert takes it back.
    """
    assert run("add", "My dentist is Doctor Brown.")[0] == 0
    the_file(home).write_text(the_file(home).read_text().replace("Brown", "Green"))
    assert "Doctor Green" in run("search", "Who is my dentist?")[1]
    code, out, _ = run("log", "--json")
    log = json.loads(out)["commits"]
    assert code == 0 and len(log) == 2 and "edited by hand" in log[0]["message"]
    assert "by hand" in run("log")[1]
    diff = run("diff", log[0]["id"][:8])[1]
    assert "-My dentist is Doctor Brown." in diff and "+My dentist is Doctor Green." in diff
    id = json.loads(run("list", "--json")[1])["records"][0]["id"]
    assert "Doctor Green" in run("blame", id[:20])[1]
    assert json.loads(run("log", id, "--json")[1])["commits"]
    assert run("revert", log[0]["id"][:8])[0] == 0
    assert (
        "Doctor Brown" in run("search", "Who is my dentist?")[1]
        and "Brown" in the_file(home).read_text()
    )
    assert run("diff")[1].strip() == ""
    assert run("revert", "0000000")[0] == 3


@pytest.mark.covers("S2.19", "S2.21")
def test_the_database_can_be_deleted(run: Callable[..., tuple[int, str, str]], home: Path) -> None:
    """reindex builds the same memories from the files, whether the database is there or not;

    --files does the reverse.
    """
    for text in ("I like tea.", "My car is red.", "Anna is my sister."):
        run("add", text)
    before = json.loads(run("list", "--json")[1])["records"]
    code, out, _ = run("reindex", "--json")
    assert code == 0 and json.loads(out) == {"memories": 3, "files": 3, "problems": 0}
    assert (home / "memory.db.old").exists() and json.loads(run("list", "--json")[1])[
        "records"
    ] == before
    for path in home.glob("memory.db*"):
        path.unlink()
    run("reindex")
    assert json.loads(run("list", "--json")[1])["records"] == before
    for path in home.glob("vault.db*"):
        path.unlink()
    for path in home.glob("memory.db*"):
        path.unlink()
    assert json.loads(run("list", "--json")[1])["records"] == before
    import shutil

    shutil.rmtree(home / "vault")
    assert run("sync")[0] == 5
    assert run("reindex", "--files")[0] == 0
    assert len(list((home / "vault/entries").rglob("*.md"))) == 3
    assert json.loads(run("list", "--json")[1])["records"] == before


@pytest.mark.slow
def test_sync_dream_backup_and_recover(
    run: Callable[..., tuple[int, str, str]], home: Path, tmp_path: Path
) -> None:
    """sync tells what it did and stops at many missing files;
    dream plans, applies and undoes; a backup comes back.
    """
    run("add", "My dentist is Doctor Brown.")
    assert "Nothing to do." in run("sync")[1]
    (home / "vault/entries/user/alice/facts/new.md").write_text("The plumber is Mister Black.")
    assert "added 1" in run("sync")[1] and "plumber" in run("search", "plumber")[1]
    assert "Nothing to do." in run("sync")[1]
    from datetime import UTC, datetime

    day = home / f"vault/memory/users/alice/{datetime.now(UTC):%Y-%m-%d}.md"
    assert (
        "Doctor Brown" in run("dream", "--plan")[1]
        and "- My dentist is Doctor Brown." in day.read_text()
    )
    assert "Nothing new." in run("dream", "--user", "nobody")[1]
    day.write_text("# Day\n\n## note\n\n- The parrot is called Zephyr.\n")
    assert "Zephyr" in run("dream", "--plan")[1] and not (day.parent / "MEMORY.md").exists()
    assert run("dream", "--apply")[0] == 0 and "Zephyr" in (day.parent / "MEMORY.md").read_text()
    assert run("dream", "--undo")[0] == 0 and not (day.parent / "MEMORY.md").exists()
    assert run("dream", "--apply")[0] == 4
    assert run("backup", str(tmp_path / "b"), "--passphrase", "p")[0] == 0
    assert run("recover", str(tmp_path / "b"))[0] == 1
    assert (
        main(
            ["recover", str(tmp_path / "b"), "--passphrase", "x", "--home", str(tmp_path / "other")]
        )
        == 4
    )
    assert (
        main(
            ["recover", str(tmp_path / "b"), "--passphrase", "p", "--home", str(tmp_path / "other")]
        )
        == 0
    )
    assert (
        main(
            ["restore", str(tmp_path / "b"), "--passphrase", "p", "--home", str(tmp_path / "third")]
        )
        == 0
    )
    assert (tmp_path / "third/memory.db").exists() and "recover" in run(
        "restore", str(tmp_path / "nothing")
    )[2]
    for number in range(20):
        run("add", f"Thing number {number} is here.")
    for path in list((home / "vault/entries").rglob("*.md"))[:15]:
        path.unlink()
    code, out, err = run("sync")
    assert code == 4 and "--accept" in err and "gone 15" in out
    assert "forgotten 15" in run("sync", "--accept")[1]


def test_a_purge_says_that_the_history_of_the_files_still_holds_it(
    run: Callable[..., tuple[int, str, str]], home: Path
) -> None:
    """Commits of before are named, with what to do;
    with --git they are rewritten, also for what was purged before.
    """
    run("add", "My dentist is Doctor Brown.")
    run("add", "I like tea with milk.")
    (first,) = (
        record["id"]
        for record in json.loads(run("list", "--json")[1])["records"]
        if "dentist" in record["text"]
    )
    code, out, _ = run("purge", first, "--confirm", "purge")
    assert code == 0 and "--git" in out and "not proven" in out
    report = json.loads(run("purge", first, "--confirm", "purge", "--git", "--json")[1])
    assert (
        report["proven"]
        and {check["name"]: check["left"] for check in report["places"]}["git history"] == 0
    )
    git = partial(subprocess.run, cwd=home / "vault", capture_output=True, check=True)
    log_text = git(["git", "log", "-p", "--all", "--stat=300"]).stdout
    assert (
        b"Brown" not in log_text
        and b"doctor-brown" not in log_text
        and b"tea with milk" in log_text
    )
    assert not git(["git", "status", "--short"]).stdout


def test_without_a_vault_it_says_how_to_turn_it_on(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command of the vault without one is an error whose hint names the setting."""
    monkeypatch.setenv("ENGRAMS_VAULT__ENABLED", "false")
    code, _, err = run("log")
    assert code == 1 and "vault.enabled" in err


def test_a_passphrase_is_asked_where_nobody_sees_it(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--passphrase -` reads it from standard input; one in the command line gets a note."""
    run("add", "I live in Oslo.")
    file = str(tmp_path / "asked")
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    code, out, err = run("backup", file, "--passphrase", "-", "--json")
    assert (code, json.loads(out)["sealed"], "command line" in err) == (0, True, False)
    code, _, err = run("backup", str(tmp_path / "seen"), "--passphrase", "correct horse")
    assert code == 0
    assert "other users of this machine can see" in err
    for given, expected in (("battery staple", 4), ("correct horse", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{given}\n"))
        other = str(tmp_path / f"home of {given}")
        assert main(["recover", file, "--passphrase", "-", "--home", other]) == expected
