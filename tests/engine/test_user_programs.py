"""Programs of users, read by type checkers in their strict mode: no error, and no cast needed.

In ``typed_mistakes.py`` each wrong call is marked as ignored, and a mark without a mistake is an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.conformance.environments import make_environment

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted([*(ROOT / "tests/engine").glob("typed_*.py"), *(ROOT / "examples").glob("*.py")])
STRICT = {
    "typeCheckingMode": "strict",
    "enableTypeIgnoreComments": False,
    "reportUnnecessaryTypeIgnoreComment": "error",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The programs in a folder of their own, as a user has them."""
    for program in PROGRAMS:
        (tmp_path / program.name).write_text(program.read_text("utf-8"), "utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(STRICT), "utf-8")
    return tmp_path


def run_checker(folder: Path, *command: str) -> None:
    names = [program.name for program in PROGRAMS]
    finished = subprocess.run([*command, *names], cwd=folder, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.slow
def test_mypy_finds_the_mistakes_and_nothing_else(folder: Path) -> None:
    """mypy, strict: the programs have no error, and each mistake is one."""
    run_checker(folder, sys.executable, "-m", "mypy", "--strict")


@pytest.mark.slow
def test_pyright_finds_the_mistakes_and_nothing_else(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Pyright's checker, strict, from a package that brings its own Node."""
    environment = tmp_path_factory.mktemp("pyright")
    try:
        python = make_environment(environment, ["basedpyright", "[server]"])
    except subprocess.CalledProcessError:
        pytest.skip("the package basedpyright cannot be installed here")
    run_checker(folder, str(python.with_name("basedpyright")), "--pythonpath", str(python))
