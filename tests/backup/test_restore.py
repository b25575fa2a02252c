"""A restore that is killed is finished, or leaves the home as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import engrams
from engrams import admin
from engrams.errors import ConflictError

ANN = ("user", "ann")
SAID = {f"The blue boat number {n} lies in harbour {n * 7}" for n in range(20)}
KILLED = """
import os, shutil, signal, engrams
from pathlib import Path
from engrams.backup import archive, home_backup
from engrams.program.main import main
step, count = os.environ["STEP"], 0
def die(real):
    def called(*given, **named):
        global count
        if count == int(os.environ["COUNT"]):
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        return real(*given, **named)
    return called
module = {"move": shutil, "_extract_file": archive, "_finish_unpacked": home_backup}[step]
setattr(module, step, die(getattr(module, step)))
main(["recover", os.environ["SOURCE"], "--home", os.environ["TARGET"]])
"""


def open_home(home: Path) -> engrams.MemoryEngine:
    return engrams.open(home=home, vault__enabled=True, vault__watch="off", jobs__workers=0)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of twenty memories with their files."""
    folder = tmp_path_factory.mktemp("source")
    with open_home(folder / "home") as memory:
        for text in sorted(SAID):
            memory.add(text, scope=ANN)
        admin.backup(memory, folder / "b.engrams")
    return folder / "b.engrams"


def kill(source: Path, home: Path, step: str, count: int) -> None:
    """Kill `engrams recover` before the given call of a step."""
    env = {
        **os.environ,
        "STEP": step,
        "COUNT": str(count),
        "SOURCE": str(source),
        "TARGET": str(home),
    }
    result = subprocess.run(
        [sys.executable, "-c", KILLED], env=env, timeout=60, check=False, capture_output=True
    )
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert [path.name for path in home.iterdir() if path.name.startswith("engrams-restore-")]


def texts(home: Path) -> set[str]:
    with open_home(home) as memory:
        assert not memory.vault.sync().problems  # type: ignore[union-attr]
        return {record.text for record in memory.list(scope=ANN, limit=100).records}


def left(home: Path) -> list[str]:
    return [path.name for path in home.iterdir() if path.name.startswith("engrams-")]


STEPS = [
    ("_extract_file", 0),
    ("_extract_file", 5),
    ("_finish_unpacked", 1),
    ("move", 0),
    ("move", 1),
    ("move", 2),
]


@pytest.mark.parametrize(("step", "count"), STEPS)
def test_repeating_it_finishes_it(source: Path, tmp_path: Path, step: str, count: int) -> None:
    """Whenever it was killed, the same command brings everything back, and nothing of the first run
    lies about.
    """
    home = tmp_path / "two"
    kill(source, home, step, count)
    line = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "recover",
        str(source),
        "--home",
        str(home),
    ]
    again = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr
    assert left(home) == []
    assert texts(home) == SAID


@pytest.mark.parametrize(("step", "count"), [("_extract_file", 5), ("move", 1), ("move", 2)])
def test_opening_the_home_finishes_it(source: Path, tmp_path: Path, step: str, count: int) -> None:
    """What was read whole is put into place;
    else the home is empty, and a restore into it is possible.
    """
    home = tmp_path / "two"
    kill(source, home, step, count)
    assert texts(home) == (set() if step == "_extract_file" else SAID)
    assert left(home) == []


def test_another_backup_is_refused_once_it_is_finished(source: Path, tmp_path: Path) -> None:
    """What the killed restore brought stays; the second backup needs a home of its own."""
    with open_home(tmp_path / "other") as memory:
        memory.add("Something else.", scope=ANN)
        admin.backup(memory, tmp_path / "o.engrams")
        settings = memory.settings.model_copy(update={"home": tmp_path / "two"})
    kill(source, tmp_path / "two", "move", 1)
    with pytest.raises(ConflictError):
        admin.recover(settings, tmp_path / "o.engrams")
    assert left(tmp_path / "two") == []
    assert texts(tmp_path / "two") == SAID
