"""The command line as a user has it, in this process and against a fresh home."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engrams.program.main import main


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value it printed."""
        assert self.out.count("\n") == 1, self.out + self.err
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def engrams(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one command line, or one of a group ("project page"); ``stdin`` is what it reads."""

    def run(command: str, *arguments: str, stdin: str | bytes = "") -> Done:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        code = main([*command.split(), "--home", str(home), "--user", "ann", *arguments])
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return run


@pytest.fixture
def grouped(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command of a group, or one alone: the home is named behind it."""

    def run(*words: str) -> Done:
        index = 2 if words[0] in ("feedback", "garden", "keys", "safety") else 1
        code = main([*words[:index], "--home", str(home), *words[index:]])
        output = capsys.readouterr()
        return Done(code, output.out, output.err)

    return run
