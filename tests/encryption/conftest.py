"""A home that is encrypted, through the doors that a user has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OWNER = ("user", "ada")
WORD = "zanzibar"
"""A word that must not be found in any file."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def passphrase(monkeypatch: pytest.MonkeyPatch) -> str:
    """The passphrase of this process."""
    monkeypatch.setenv("ENGRAMS_PASSPHRASE", "correct horse")
    return "correct horse"


@pytest.fixture
def run(home: Path) -> Run:
    """Run the command as a process; ``env`` is added to the environment, None removes."""

    def command(*words: str, **env: str | None) -> subprocess.CompletedProcess[str]:
        given: dict[str, Any] = {**os.environ, **env}
        line = [
            sys.executable,
            "-m",
            "engrams.program.entry",
            *words,
            "--home",
            str(home),
            "--user",
            "ada",
        ]
        held = {name: value for name, value in given.items() if value is not None}
        return subprocess.run(
            line, capture_output=True, text=True, timeout=120, env=held, stdin=subprocess.DEVNULL
        )

    return command


def traces(home: Path, word: str = WORD) -> list[str]:
    """Files of a home that hold a word in plain bytes, whatever the case."""
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes().lower()
    )
