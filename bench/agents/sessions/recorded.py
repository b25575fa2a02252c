"""Reader of recorded sessions: what was said and done, and the labels of the following day.

A file is one project. ``read_project`` reads it line by line:

    person lena                 whose home it is
    project shopfront           folder of its repository
    remote URL                  remote of the repository
    file PATH                   file that the repository has from the beginning
    session AGENT               a session begins; its steps follow
    > TEXT                      message of the user
    < TEXT                      message of the agent
    $ COMMAND                   shell command; ``! LINE`` below it: it failed, ``| LINE``: it worked
    + PATH                      the agent changes a file
    @ KIND TEXT                 line that the agent writes by itself: compaction, subagent, task,
                                shell, rules
    rule A ; B                  rule that one line of the next start has to hold, with these words
    never KIND: PATTERN         what nothing that is injected may say
    open PATTERN                what the next start has to say of the last session
    day AGENT                   the session of the following day begins; its prompts follow
    ? TEXT                      prompt
    need PATTERN                an item has to match it, here or at the start
    help PATTERN                items that match it belong here, too
    none                        nothing belongs here

Patterns are regular expressions; their case does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SESSIONS = Path(__file__).parent
HALVES = ("dev", "held", "tones_dev", "tones_held")


@dataclass(frozen=True)
class Step:
    """One thing that was said or done in a session."""

    kind: str
    """``user``, ``assistant``, ``command``, ``edit``, or the kind of an ``@`` line."""
    text: str
    output: list[str] = field(default_factory=list)
    """Lines of a command's output."""
    failed: list[bool] = field(default_factory=list)
    """Per line of the output, whether it was written as a failure."""


@dataclass(frozen=True)
class RecordedSession:
    """Session of one agent."""

    agent: str
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class LabelledPrompt:
    """Prompt of the following day."""

    text: str
    needed: list[re.Pattern[str]] = field(default_factory=list)
    helpful: list[re.Pattern[str]] = field(default_factory=list)


@dataclass(frozen=True)
class FollowingDay:
    """Session of the following day, by one agent."""

    agent: str
    prompts: list[LabelledPrompt] = field(default_factory=list)


@dataclass
class RecordedProject:
    """Sessions of a project with their labels."""

    person: str = ""
    name: str = ""
    remote: str = ""
    files: list[str] = field(default_factory=list)
    sessions: list[RecordedSession] = field(default_factory=list)
    rules: list[tuple[str, ...]] = field(default_factory=list)
    forbidden: list[tuple[str, re.Pattern[str]]] = field(default_factory=list)
    """(kind, pattern) of what may not be injected."""
    open_loops: list[re.Pattern[str]] = field(default_factory=list)
    days: list[FollowingDay] = field(default_factory=list)


def read_projects(half: str) -> list[RecordedProject]:
    """Read the projects of a half."""
    return [read_project(path) for path in sorted((SESSIONS / half).glob("*.txt"))]


def read_project(path: Path) -> RecordedProject:
    """Read one file. ValueError: a line is none of those above."""
    project = RecordedProject()
    for number, line in _list_lines(path):
        word, _, rest = line.partition(" ")
        is_read = (
            _read_head(project, word, rest)
            or _read_step(project, word, rest)
            or _read_label(project, word, rest)
        )
        if not is_read:
            raise ValueError(
                f"{path}:{number}: no line of a recorded session begins with {word!r}."
            )
    return project


def _list_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, text


def _read_head(project: RecordedProject, word: str, rest: str) -> bool:
    match word:
        case "person":
            project.person = rest
        case "project":
            project.name = rest
        case "remote":
            project.remote = rest
        case "file":
            project.files.append(rest)
        case "session":
            project.sessions.append(RecordedSession(rest))
        case "day":
            project.days.append(FollowingDay(rest))
        case _:
            return False
    return True


def _read_step(project: RecordedProject, word: str, rest: str) -> bool:
    kinds = {">": "user", "<": "assistant", "$": "command", "+": "edit"}
    steps = project.sessions[-1].steps if project.sessions else []
    if word in kinds:
        steps.append(Step(kinds[word], rest))
    elif word == "@":
        kind, _, text = rest.partition(" ")
        steps.append(Step(kind, text))
    elif word in ("!", "|"):
        steps[-1].output.append(rest)
        steps[-1].failed.append(word == "!")
    else:
        return False
    return True


def _read_label(project: RecordedProject, word: str, rest: str) -> bool:
    match word:
        case "rule":
            project.rules.append(tuple(part.strip().lower() for part in rest.split(" ; ")))
        case "never":
            kind, _, pattern = rest.partition(": ")
            project.forbidden.append((kind, _compile(pattern)))
        case "open":
            project.open_loops.append(_compile(rest))
        case "?":
            project.days[-1].prompts.append(LabelledPrompt(rest))
        case "need":
            project.days[-1].prompts[-1].needed.append(_compile(rest))
        case "help":
            project.days[-1].prompts[-1].helpful.append(_compile(rest))
        case "none":
            pass
        case _:
            return False
    return True


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
