"""Quick commands:
what they print without the command parser is what the parser prints, and they load little.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest
import typer

from engrams import __version__
from engrams.program.command_help import format_overview
from engrams.program.main import app

SCRIPT = """import sys
sys.argv = {!r}
try:
    from engrams.program.entry import run; run()
finally:
    print(*sys.modules, file=sys.stderr)"""


def loaded(*words: str) -> Mapping[str, str]:
    """What a command line printed, and the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(["engrams", *words])],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return {"out": done.stdout, **dict.fromkeys(done.stderr.split(), "")}


@pytest.mark.parametrize("columns", ["20", "50", "61", "80", "200"])
def test_the_overview_is_what_the_parser_prints(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every width of a terminal the overview of the commands is the same."""
    monkeypatch.setenv("COLUMNS", columns)
    group = typer.main.get_command(app)
    assert (
        format_overview().rstrip()
        == group.get_help(group.make_context("engrams", [], resilient_parsing=True)).rstrip()
    )


def test_the_version_and_the_overview_load_little() -> None:
    """Neither needs the parser of commands, settings or the engine."""
    heavy = {
        "typer",
        "pydantic",
        "numpy",
        "apsw",
        "dataclasses",
        "engrams.settings",
        "engrams.composition",
    }
    version = loaded("--version")
    overview = loaded("--help")
    assert version["out"] == f"{__version__}\n" and overview["out"] == format_overview()
    assert not heavy & {*version, *overview}


def test_the_package_runs_as_a_module() -> None:
    """``python -m engrams`` is the command, where no script is on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "engrams", "--version"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, __version__, "")
