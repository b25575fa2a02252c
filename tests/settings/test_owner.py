"""Whose memory it is where nobody is named: decided once, when the settings are made."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from engrams.errors import SettingsError
from engrams.program.main import main
from engrams.settings import load

_NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME")


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container whose user has no entry among the users."""

    def fail(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in _NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", fail)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
def test_the_owner_stays_when_descriptors_run_out(home: Path) -> None:
    """A server without a descriptor left still answers from the memory of the one who started it."""
    import resource

    environ = {name: value for name, value in os.environ.items() if name not in _NAMES}
    command = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "serve",
        "--home",
        str(home),
        "--port",
        "0",
        "--set",
        "jobs.workers=0",
    ]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            assert (
                _ask(
                    line,
                    "POST",
                    "/v1/memories",
                    {"text": "The key hangs in the cellar", "kind": "note"},
                )[0]
                == 201
            )
            owner = _ask(line, "GET", "/v1/stats")[1]
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, 3))
            assert "cellar" in _ask(line, "GET", "/v1/memories")[1]
            assert _ask(line, "GET", "/v1/stats")[1] == owner
        finally:
            server.kill()


@pytest.mark.usefixtures("nameless")
def test_without_any_name_it_does_not_start(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the setting and the option; with either of them all is well."""
    for command in (
        ("serve", "--port", "0"),
        ("add", "a secret"),
        ("mcp",),
        ("search", "a secret"),
    ):
        assert main([*command, "--home", str(home)]) == 1
        told = capsys.readouterr().err
        assert "`user`" in told
        assert "--user NAME" in told
    assert not (home / "memory.db").exists()
    assert main(["add", "a secret", "--home", str(home), "--user", "ann"]) == 0
    assert (
        load({"user": "ann"}, {}).settings.owner
        == load({}, {"ENGRAMS_USER": "ann"}).settings.owner
        == "ann"
    )
    with pytest.raises(SettingsError):
        _ = load({}, {}).settings.owner


def _ask(
    line: http.client.HTTPConnection, method: str, path: str, body: object = None
) -> tuple[int, str]:
    line.request(
        method,
        path,
        None if body is None else json.dumps(body),
        {"content-type": "application/json"},
    )
    answer = line.getresponse()
    return answer.status, answer.read().decode()
