"""Commands service: the server as a systemd service of the user."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.surfaces.cli.confirm import confirm_change
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app
from engrams.surfaces.cli.output import clean, emit, say
from engrams.surfaces.cli.program_path import find_program

app = new_app()
service = new_app()
app.add_typer(service, name="service", help="Run the server from login on, by systemd.")

_NAME = "engrams.service"
_UNIT = """[Unit]
Description=engrams: memory for LLM agents
After=network.target

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=default.target
"""


@service.command()
@flatten_options
def install(
    options: GlobalOptions,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write and start it without a question.")
    ] = False,
) -> None:
    """Start the server now and at every login.

    The unit is shown first. --home goes into its command; everything else it takes from
    config.toml.
    """
    file = _find_file()
    home = options.home
    words = [
        str(find_program()),
        "serve",
        *(["--home", str(Path(home).expanduser().absolute())] if home else []),
    ]
    unit = _UNIT.format(command=" ".join(map(_quote, words)))
    if not options.json:
        say(clean(unit).rstrip())
    confirm_change(file, yes=yes)
    file.parent.mkdir(parents=True, exist_ok=True)
    previous_unit = file.read_text("utf-8") if file.exists() else None
    file.write_text(unit, "utf-8")
    try:
        _call("daemon-reload")
        _call("enable", _NAME)
        _call("restart", _NAME)
    except RefusedError:
        if previous_unit is None:
            file.unlink()
        else:
            file.write_text(previous_unit, "utf-8")
        raise
    if options.json:
        emit({"file": file, "unit": unit})
        return
    say(
        f"Written to {file} and started. `engrams service status` shows its state; `loginctl"
        " enable-linger` keeps it running after logout."
    )


@service.command()
@flatten_options
def status(options: GlobalOptions) -> None:
    """Show whether the service is installed and runs, with its last log lines.

    Exit code 3: it is not installed.
    """
    file = _find_file()
    if not file.exists():
        raise _missing(file)
    answer = _run("is-active", _NAME)
    state = answer.stdout.strip()
    if not state:
        raise _refusal("is-active", answer)
    if options.json:
        emit({"file": file, "state": state})
    else:
        say(clean(_run("status", "--no-pager", _NAME).stdout.strip()) or state)


@service.command()
@flatten_options
def remove(
    options: GlobalOptions,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Stop and delete it without a question.")
    ] = False,
) -> None:
    """Stop the service and delete its file; memory stays."""
    file = _find_file()
    if not file.exists():
        raise _missing(file)
    confirm_change(file, yes=yes)
    # Without an answer there is no systemd of the user: nothing runs, and the file can go.
    if _run("is-active", _NAME).stdout.strip():
        _call("disable", "--now", _NAME)
    file.unlink()
    _run("daemon-reload")
    if options.json:
        emit({"file": file})
    else:
        say(f"Stopped, and {file} is deleted. Memory is untouched.")


def _find_file() -> Path:
    if not shutil.which("systemctl"):
        raise InputError(
            "There is no systemd here.",
            hint=(
                "Let your system start `engrams serve`, or use the container in"
                " docs/guides/install.md."
            ),
        )
    return (
        Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
        / "systemd"
        / "user"
        / _NAME
    )


def _missing(file: Path) -> NotFoundError:
    return NotFoundError(
        f"There is no service: {file} does not exist.", hint="`engrams service install` creates it."
    )


def _quote(word: str) -> str:
    """Quote a word of a command as systemd reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != word or " " in word else word


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [shutil.which("systemctl") or "systemctl", "--user", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def _call(*words: str) -> None:
    completed = _run(*words)
    if completed.returncode:
        raise _refusal(words[0], completed)


def _refusal(word: str, completed: subprocess.CompletedProcess[str]) -> RefusedError:
    return RefusedError(
        f"systemctl --user {word} failed: {clean(completed.stderr.strip())}",
        hint=(
            "A service needs a session of your user's systemd: log in at the machine itself, or"
            " `loginctl enable-linger` first."
        ),
    )
