"""Test mode: the real home is not touched, whichever way memory is reached."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from starlette.testclient import TestClient

import engrams
from engrams.admin import open_audit_log, open_uploads
from engrams.api_keys import ApiKeyStore
from engrams.core import ImportOptions, Kind, Role, Scope
from engrams.ports import NoteReason
from engrams.program.main import main
from engrams.program.registry import create_app
from engrams.settings import TEST_FOLDER as FOLDER
from engrams.settings import Settings, in_test_mode, load
from engrams.settings.read import KindName
from engrams.settings.vault import NoteReasonName
from engrams.settings.write import RoleName

ANN = ("user", "ann")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a home but those of test mode: its bytes, and when it was written."""
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file() and FOLDER not in path.relative_to(folder).parts
    ]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


@pytest.fixture
def real(home: Path) -> Path:
    """A home with memories, files, history, an audit log and a key, and a setting in its
    config.toml.
    """
    home.mkdir()
    (home / "config.toml").write_text('user = "ann"\n[vault]\nenabled = true\n', "utf-8")
    settings = load({"home": str(home)}).settings
    with engrams.open(settings) as engine:
        engine.add("My bicycle is red.", scope=ANN)
        engine.drain()
    open_audit_log(settings).note("add", owner="user/ann")
    ApiKeyStore.open(settings.home).add("laptop", Scope(ANN), ("write",), engine.now())
    return home


@pytest.mark.covers("S3.72")
def test_the_real_home_stays_as_it_is(real: Path) -> None:
    """After writing, reading, uploading, logging and purging in test mode every file of the real
    home has the bytes that it had.
    """
    before = contents(real)
    settings = load({"home": str(real), "test": True}).settings
    with engrams.open(settings) as engine:
        assert engine.search("bicycle", scope=ANN).hits == ()
        written = engine.add("My bicycle is green.", scope=ANN)
        assert [hit.record.text for hit in engine.search("bicycle", scope=ANN).hits] == [
            "My bicycle is green."
        ]
        engine.context("bicycle", scope=ANN)
        engine.drain()
        engine.purge(written.id, scope=ANN)
        kept = open_uploads(engine)
        kept.begin(Scope(ANN), ImportOptions(name="chat.txt"))
        kept.close()
        assert engine.status()["test"] is True
    open_audit_log(settings).note("add", owner="user/ann")
    ApiKeyStore.open(settings.home).add("phone", Scope(ANN), ("read",), engine.now())
    assert contents(real) == before
    inside = {path.name for path in (real / FOLDER).iterdir()}
    assert {"memory.db", "vault", "audit", "keys", "uploads"} <= inside
    with engrams.open(home=real) as engine:
        assert [hit.record.text for hit in engine.search("bicycle", scope=ANN).hits] == [
            "My bicycle is red."
        ]
        assert engine.status()["test"] is False


@pytest.mark.covers("S3.72")
def test_every_way_in_is_kept_apart(
    real: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The flag of a command, the variable, the hook of an agent, the server and the library:
    none of them writes to the real home.
    """
    before = contents(real)
    assert main(["add", "I own a canoe.", "--home", str(real), "--test"]) == 0
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "prompt": "I own a dinghy.",
        "cwd": str(real.parent),
    }
    start = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "hook",
        "--home",
        str(real),
        "--test",
        "--seconds",
        "50",
    ]
    done = subprocess.run(
        start, input=json.dumps(event).encode(), capture_output=True, timeout=60, check=True
    )
    assert done.stderr == b""
    with monkeypatch.context() as patch:
        patch.setenv("ENGRAMS_TEST", "1")
        patch.setenv("ENGRAMS_HOME", str(real))
        assert main(["add", "I own a kayak."]) == 0
        settings = load().settings
        with (
            engrams.open() as engine,
            TestClient(create_app(engine, settings), base_url="http://127.0.0.1") as client,
        ):
            assert client.get("/health").json()["memory_store"] == str(real / FOLDER / "memory.db")
            engine.add("I own a raft.", scope=ANN)
    with engrams.open(Settings(home=real, test=True)) as engine:
        assert (
            len(engine.search("what do I own", scope=ANN, kinds=(Kind.TURN, Kind.NOTE)).hits) == 4
        )
    assert contents(real) == before
    capsys.readouterr()
    assert main(["status", "--json", "--home", str(real), "--test"]) == 0
    assert json.loads(capsys.readouterr().out)["test"] is True
    assert main(["status", "--home", str(real), "--test"]) == 0
    assert str(real / FOLDER) in capsys.readouterr().out
    main(["doctor", "--offline", "--home", str(real), "--test"])
    assert "test mode" in capsys.readouterr().out


@pytest.mark.covers("S3.72")
def test_nothing_outside_of_the_home_is_reached_either(tmp_path: Path) -> None:
    """A database, a folder of files and a git remote that are set by hand are the real ones, and
    not those of test mode.
    """
    elsewhere = tmp_path / "elsewhere.db"
    asked = {
        "home": str(tmp_path / "home"),
        "store.url": str(elsewhere),
        "vault.path": str(tmp_path / "files"),
        "vault.remote": "x:y",
    }
    settings = load({**asked, "test": True}).settings
    assert (settings.store.url, settings.vault.path, settings.vault.remote) == ("", "", "")
    with engrams.open(settings) as engine:
        engine.add("I own a canoe.", scope=ANN)
    assert not elsewhere.exists()
    assert (
        load({"home": str(tmp_path), "store.url": ":memory:", "test": True}).settings.store.url
        == ":memory:"
    )


def test_a_test_home_is_not_put_into_itself(tmp_path: Path) -> None:
    """Settings that are of test mode already stay as they are;
    without it they are what they were.
    """
    once = in_test_mode(Settings(home=tmp_path, test=True))
    assert once.home == tmp_path / FOLDER
    assert in_test_mode(once) == once
    assert load({"home": str(once.home), "test": "yes"}).settings.home == once.home
    assert in_test_mode(Settings(home=tmp_path)).home == tmp_path


def test_names_in_settings_are_those_of_the_engine() -> None:
    """A setting takes every kind, role and reason that there is."""
    for names, allowed in (
        (KindName, list(Kind)),
        (RoleName, get_args(Role)),
        (NoteReasonName, get_args(NoteReason)),
    ):
        assert get_args(names) == tuple(allowed)
