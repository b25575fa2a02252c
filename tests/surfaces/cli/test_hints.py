"""Hints name commands that exist, and mistakes at the command line lead on."""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import typer

from engrams.installation import install_hint
from engrams.program.main import _SYNONYMS, COMMANDS, app, main

ROOT = Path(__file__).parents[3]
_OPTION = re.compile(r"--[a-z][a-z-]+")
_FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def mentions() -> list[tuple[str, str]]:
    """Every `engrams …` in hints, documentation and README, with its file."""
    collected = []
    for path in (*ROOT.glob("src/engrams/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"):
        text = path.read_text("utf-8")
        blocks = (
            [
                textwrap.dedent(body)
                for kind, body in _FENCE.findall(text)
                if kind in ("", "sh", "console", "bash")
            ]
            if path.suffix == ".md"
            else []
        )
        quoted = re.findall(r"`((?:\.venv/bin/)?engrams [^`\n]+)`", text)
        lines = [
            line
            for block in blocks
            for line in block.splitlines()
            if re.match(r"(?:\$ )?(?:\.venv/bin/)?engrams ", line)
        ]
        collected += [(path.name, line) for line in (*quoted, *lines)]
    return collected


def test_every_command_that_is_named_exists() -> None:
    """Hints, documentation and README name commands and options that the command line takes."""
    group = typer.main.get_command(app)
    wrong = []
    for name, line in mentions():
        words = re.split(r"\s+", line.removeprefix("$ ").split(" #")[0].strip())[1:]
        words = words[
            : next(
                (at for at, word in enumerate(words) if word in ("|", ">", "&", "&&", "<")),
                len(words),
            )
        ]
        command: Any = group
        while (
            words and hasattr(command, "get_command") and re.fullmatch(r"[a-z][a-z0-9-]*", words[0])
        ):
            subcommand = command.get_command(None, words.pop(0))
            if subcommand is None:
                wrong.append((name, line))
                break
            command = subcommand
        else:
            option_names = {
                option
                for parameter in command.params
                for option in (*parameter.opts, *parameter.secondary_opts)
            } | {"--help", "-h"}
            wrong += [
                (name, line, option)
                for option in _OPTION.findall(" ".join(words).split('"')[0])
                if option not in option_names
            ]
    assert len(mentions()) > 80
    assert not wrong


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("delete x", "forget"),
        ("get 1", "show"),
        ("find tea", "search"),
        ("check --repair", "doctor"),
        ("serch tea", "search"),
        ("undo", "restore"),
    ],
)
def test_other_names_lead_to_ours(engrams: Any, typed: str, meant: str) -> None:
    """A command of another program gets the name of ours."""
    finished = engrams(*shlex.split(typed))
    assert (finished.code, f"Did you mean '{meant}'?" in finished.err) == (2, True)


def test_other_options_lead_to_ours(engrams: Any) -> None:
    """An option of another program is answered with ours."""
    for typed in ("--memory-path ./my-memories", "--memory-path=./my-memories"):
        finished = engrams("serve", *shlex.split(typed))
        assert (finished.code, "--home DIR" in finished.err, "vault.path" in finished.err) == (
            2,
            True,
            True,
        )


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`help` alone, and with a command's name."""
    assert main(["help"]) == 0
    assert "Commands" in capsys.readouterr().out
    assert main(["help", "export"]) == 0
    assert "--overwrite" in capsys.readouterr().out


def test_common_options_may_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--json, --home and --user work before the command as after it."""
    home = str(tmp_path / "other")
    assert main(["--home", home, "--json", "add", "I keep bees"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "stored"
    assert main(["--json", f"--home={home}", "search", "bees"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"]
    assert main(["--json", "--home", home, "show", "nothing"]) == 3
    assert "error" in json.loads(capsys.readouterr().err)
    assert main(["--version"]) == 0


def test_places_that_are_wrong_say_so(engrams: Any, tmp_path: Path) -> None:
    """A home that is not there, a backup into no folder, an export onto a folder."""
    missing = tmp_path / "nope"
    assert f"{missing} does not exist" in engrams("search", "key", "--home", str(missing)).err
    engrams("add", "I keep bees")
    backup = engrams("backup", str(missing / "x.bak"))
    assert (backup.code, "does not exist" in backup.err, missing.exists()) == (1, True, False)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").touch()
    export = engrams("export", str(folder))
    assert (
        export.code,
        "is a folder" in export.err,
        "memory.jsonl" in export.err,
        "--overwrite" in export.err,
    ) == (1, True, True, False)


def test_extras_are_installed_from_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout the hint names its folder, since nothing is published."""
    monkeypatch.setattr("engrams.installation.find_spec", lambda name: name)
    assert install_hint("server") == f"pip install '.[server]' in {ROOT}"


def test_extras_are_installed_into_an_environment_without_pip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment of `make run` has no pip:
    the line names its interpreter, and any Python's pip takes it.
    """
    monkeypatch.setattr("engrams.installation.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "base_prefix", str(ROOT))
    assert (
        install_hint("postgres")
        == f"python3 -m pip --python {shlex.quote(sys.executable)} install -e '.[postgres]' in"
        f" {ROOT}"
    )


def test_extras_are_installed_by_the_tool_that_installed_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment of a tool the hint names that tool:
    it has no pip; the command's other parts stay.
    """
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "uv-receipt.toml").touch()
    assert install_hint("local") == f"uv tool install --force '.[all,local]' in {ROOT}"


def test_synonyms_are_no_commands() -> None:
    """A name that became a command of ours is no synonym any more."""
    assert set(_SYNONYMS.values()) <= set(COMMANDS)


def test_bytes_that_are_no_text_are_shown_as_they_are_stored(engrams: Any) -> None:
    """A lone surrogate, as broken bytes become in arguments, is a question mark in the receipt as
    in memory.
    """
    finished = engrams("add", "The gate \ud800 is green \udcff")
    assert (finished.code, finished.err) == (0, "")
    assert finished.out.endswith("The gate ? is green ?\n")
    assert "The gate ? is green ?" in engrams("search", "gate \ud800").out
