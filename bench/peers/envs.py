"""Environments for peers, apart from this project's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).parent / "pins"
ENVS = ROOT / "bench" / "out" / "envs"
_PROBE = (
    "import sqlite3, sys; print(sys.version_info >= (3, 11), hasattr(sqlite3.Connection,"
    " 'enable_load_extension'))"
)


class PeerError(Exception):
    """Peer that cannot be installed or run; the message is shown in its row."""


def prepare_python(name: str) -> Path:
    """Path of the Python that runs this peer, installed as pinned.

    A peer without pins needs the standard library only and runs on this Python. PeerError:
    installation failed.
    """
    pins = PINS / f"{name}.txt"
    if not pins.exists():
        return Path(sys.executable)
    python = _find_python()
    mark = hashlib.sha256(f"{python} {pins.read_text('utf-8')}".encode()).hexdigest()
    folder = ENVS / name
    inside = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text("utf-8") == mark:
        return inside
    print(f"{name}: installing into {folder.relative_to(ROOT)}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    _run([str(python), "-m", "venv", "--without-pip", str(folder)])
    pip = [
        _base_python(),
        "-m",
        "pip",
        "--python",
        str(inside),
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--quiet",
    ]
    _run([*pip, "--requirement", str(pins)])
    stamp.write_text(mark, "utf-8")
    return inside


def _find_python() -> str:
    """First Python whose SQLite can load extensions, else this one."""
    found = [
        _base_python(),
        *filter(
            None,
            (shutil.which(name) for name in ("python3", "python3.11", "python3.12", "python3.13")),
        ),
        "/usr/bin/python3",
    ]
    for candidate in dict.fromkeys(found):
        if Path(candidate).exists():
            probe = subprocess.run(
                [candidate, "-c", _PROBE], capture_output=True, text=True, check=False
            )
            if probe.stdout.split() == ["True", "True"]:
                return candidate
    return _base_python()


def _base_python() -> str:
    """Python behind this environment, which has pip."""
    return getattr(sys, "_base_executable", "") or sys.executable


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise PeerError(f"cannot be installed: {type(problem).__name__}") from None
    if done.returncode:
        lines = (
            [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            or [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
            or ["no reason given"]
        )
        raise PeerError(f"cannot be installed: {lines[-1][:200]}")
