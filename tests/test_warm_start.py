"""A process that starts warm does what a cold one does, as far as its caller sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.warm_start import WarmPopen, WarmProcess

PROGRAM = [sys.executable, "-m", "engrams.program.entry"]


@pytest.fixture(scope="module")
def warm_process() -> Iterator[WarmProcess]:
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture(params=["warm", pytest.param("cold", marks=pytest.mark.slow)])
def start(
    request: pytest.FixtureRequest, warm_process: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Start the processes of a test in this way."""
    monkeypatch.setattr(WarmPopen, "warm", warm_process if request.param == "warm" else None)
    monkeypatch.setattr(subprocess, "Popen", WarmPopen)
    return str(request.param)


def command(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        env={**os.environ, "ENGRAMS_HOME": str(home), **more},
        cwd=home.parent,
        input="The spare key hangs behind the boiler.\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.usefixtures("start")
def test_streams_directory_environment_and_exit_status_are_the_calls(tmp_path: Path) -> None:
    """Also of a command that fails."""
    home = tmp_path / "home"
    (tmp_path / "note.txt").write_text("The boiler was serviced in May.", "utf-8")
    piped = command(home, "add", "-", ENGRAMS_USER="ann")
    assert (piped.returncode, piped.stderr) == (0, "")
    assert command(home, "add", "--file", "note.txt", ENGRAMS_USER="ann").returncode == 0
    listed = command(home, "list", ENGRAMS_USER="ann").stdout
    assert "behind the boiler" in listed
    assert "serviced in May" in listed
    assert "boiler" not in command(home, "list", ENGRAMS_USER="ben").stdout
    wrong = command(home, "no-such-command")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no-such-command" in wrong.stderr


def test_a_process_is_waited_for_and_ended_by_signals(start: str, tmp_path: Path) -> None:
    """It leads a session of its own, and is gone at the end."""
    with subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0"],
        env={**os.environ, "ENGRAMS_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert "listens on http" in process.stdout.readline()
        assert (hasattr(process, "_ended") and process._ended != -1) == (start == "warm")  # type: ignore[attr-defined]
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(30) == 0
        begun = time.monotonic()
        assert process.wait(30) == 0
        assert time.monotonic() - begun < 1
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.usefixtures("start")
def test_a_killed_process_tells_its_signal(tmp_path: Path) -> None:
    """As the exit status that ``Popen`` gives for one."""
    with subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0"],
        env={**os.environ, "ENGRAMS_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        assert process.wait(30) == -signal.SIGKILL


@pytest.mark.usefixtures("start")
def test_what_python_reads_when_it_starts_is_not_lost(tmp_path: Path) -> None:
    """An environment that changes it starts cold."""
    told = subprocess.run(
        [*PROGRAM, "add", "Zoë"],
        env={
            **os.environ,
            "ENGRAMS_HOME": str(tmp_path / "home"),
            "PYTHONIOENCODING": "latin-1:backslashreplace",
        },
        capture_output=True,
        check=True,
    )
    assert b"Zo\xeb" in told.stdout
    direct = subprocess.run([sys.executable, "-c", "print(2)"], capture_output=True, check=True)
    assert direct.stdout == b"2\n"
