"""The server as a service of the user;
systemd itself is played by a program that notes what it is asked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, for a user whose `systemctl` notes its words in a file and fails where `fails`
    is there.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    systemctl = programs / "systemctl"
    systemctl.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ncase "$2" in is-active) echo active;; esac\n'
        f'if test -e {tmp_path}/fails; then echo "no bus" >&2; exit 1; fi\n'
    )
    systemctl.chmod(0o755)
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "ENGRAMS_HOME": str(tmp_path / "home"),
    }
    env.pop("XDG_CONFIG_HOME", None)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        program = str(Path(sys.executable).with_name("engrams"))
        return subprocess.run(
            [program, "service", *words],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return call


def test_a_service_comes_and_goes(run: Run, tmp_path: Path) -> None:
    """`install` shows the unit, writes and starts it;
    `status` tells how it is; `remove` stops it and leaves no file.
    """
    file = tmp_path / ".config" / "systemd" / "user" / "engrams.service"
    assert run("status").returncode == 3
    finished = run("install")
    assert finished.returncode == 4 and "--yes" in finished.stderr and not file.exists()
    finished = run("install", "--yes", "--home", str(tmp_path / "my 100% home"))
    assert finished.returncode == 0 and "serve --home" in finished.stdout, finished.stderr
    unit = file.read_text("utf-8")
    assert (
        f'/engrams serve --home "{tmp_path}/my 100%% home"\n' in unit
        and "Restart=on-failure" in unit
        and "WantedBy=default.target" in unit
    )
    if checker := shutil.which("systemd-analyze"):
        done = subprocess.run(
            [checker, "verify", "--user", str(file)], capture_output=True, text=True, check=False
        )
        assert "engrams.service" not in done.stderr, done.stderr
    assert '"state": "active"' in run("status", "--json").stdout
    assert run("remove").returncode == 4 and file.exists()
    assert run("remove", "--yes").returncode == 0 and not file.exists()
    calls = [line.removeprefix("--user ") for line in (tmp_path / "asked").read_text().splitlines()]
    assert calls[:3] == ["daemon-reload", "enable engrams.service", "restart engrams.service"]
    assert calls[-2:] == ["disable --now engrams.service", "daemon-reload"]


def test_a_systemd_that_refuses_is_told(run: Run, tmp_path: Path) -> None:
    """Where systemd has no session of this user, what it said and what to do are told."""
    (tmp_path / "fails").touch()
    finished = run("install", "--yes")
    assert (
        finished.returncode == 4
        and "no bus" in finished.stderr
        and "enable-linger" in finished.stderr
    )
    file = tmp_path / ".config" / "systemd" / "user" / "engrams.service"
    assert not file.exists()
    file.write_text("[Unit]\n")
    (tmp_path / "bin" / "systemctl").write_text('#!/bin/sh\necho "no bus" >&2\nexit 1\n')
    finished = run("status")
    assert finished.returncode == 4 and "no bus" in finished.stderr
    assert run("remove", "--yes").returncode == 0 and not file.exists()
