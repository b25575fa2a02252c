"""Hooks beside a running server: it answers them, and the home is not opened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ipc.serving import ENTRY, answered, command, served

import engrams
from engrams import demo
from engrams.surfaces.hook.events import AgentHookEvent
from engrams.surfaces.hook.run import HookCallOptions, answer_event

REX = "My dog is called Rex and he is a greyhound."


@pytest.fixture
def served_home(home: Path) -> Iterator[Path]:
    """A home with `engrams serve` on it."""
    with served(home, "--user", "ann"):
        yield home


def hooked(home: Path, event: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [*ENTRY, "hook", "--home", str(home), "--user", "ann", "--seconds", "60", *arguments]
    script = (
        f"import runpy, sys; sys.argv = {line[2:]!r}\ntry:\n    runpy.run_module({line[2]!r},"
        " run_name='__main__')\n"
    )
    script += (
        "finally:\n    print('opened' if 'engrams.engine.engine' in sys.modules else 'asked',"
        " file=sys.stderr)"
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_server_answers(served_home: Path, tmp_path: Path) -> None:
    """Prompts, answers and ends of sessions go to the server;
    what it has comes back; the hook loads no engine.
    """
    first = hooked(
        served_home,
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": REX, "cwd": "/a"},
        "--project",
        ".",
    )
    assert (first.returncode, first.stdout, first.stderr) == (0, "", "asked\n")
    stop = {
        "hook_event_name": "Stop",
        "session_id": "s1",
        "last_assistant_message": "Nice to meet Rex.",
        "cwd": "/a",
    }
    for _ in range(2):
        assert hooked(served_home, stop, "--project", ".").stderr == "asked\n"
    assert (
        hooked(
            served_home,
            {"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": "/a"},
            "--project",
            ".",
        ).stderr
        == "asked\n"
    )
    assert (
        hooked(
            served_home,
            {"hook_event_name": "SessionEnd", "session_id": "never", "cwd": "/a"},
            "--project",
            ".",
        ).stderr
        == "asked\n"
    )
    ask = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s2",
        "prompt": "What is my dog called?",
        "cwd": "/a",
    }
    recalled = hooked(served_home, ask, "--project", ".")
    assert recalled.stderr == "asked\n" and "greyhound" in recalled.stdout
    assert hooked(served_home, {**ask, "cwd": "/b"}, "--project", ".").stdout == ""
    # A transcript that is not written yet holds nothing to read.
    unwritten = {
        "session_id": "s3",
        "transcript_path": "/none/t.jsonl",
        "cwd": "/a",
        "last_assistant_message": "Bye.",
    }
    assert [
        hooked(served_home, {**unwritten, "hook_event_name": name}).stderr
        for name in ("SessionStart", "Stop")
    ] == ["asked\n"] * 2
    # A command of a folder is answered for its project, and no other folder sees what it stored.
    boat, house = (tmp_path / name for name in ("boat", "house"))
    (boat / "src").mkdir(parents=True)
    (boat / ".git").mkdir()
    house.mkdir()
    project = ("--user", "ann", "--project", ".", "--verbose")
    assert answered(
        command(served_home, "add", *project, "The rudder is new.", folder=boat / "src")
    )
    for folder, is_found in ((boat, True), (house, False)):
        shown = command(served_home, "search", *project, "what about the rudder?", folder=folder)
        assert answered(shown) and ("rudder is new" in shown.stdout) is is_found
    listed = command(served_home, "list", "--user", "ann", "--json")
    assert listed.stdout.count("Nice to meet Rex.") <= 1


def test_a_call_with_settings_of_its_own_opens_the_home(served_home: Path) -> None:
    """A server cannot know the caller's settings."""
    finished = hooked(
        served_home,
        {"hook_event_name": "SessionStart", "session_id": "s1"},
        "--set",
        "read.limit=3",
    )
    assert finished.stderr == "opened\n"


def test_work_that_memory_knows_nothing_of(home: Path) -> None:
    """A year of conversation about other things says nothing to tasks on code, and what a question
    needs to the question.
    """
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.load(demo.sample_path(), scope=("user", "ann"))
    call = HookCallOptions({"home": str(home), "user": "ann"}, seconds=60.0)
    for prompt in (
        "Refactor the parser module",
        "rename this variable everywhere",
        "what is 7 times 13?",
    ):
        assert answer_event(call, AgentHookEvent("UserPromptSubmit", "s1", prompt=prompt)) == "", (
            prompt
        )
    assert "Judith" in answer_event(
        call, AgentHookEvent("UserPromptSubmit", "s1", prompt="When does Judith marry?")
    )
