"""Plays recorded sessions through the hook, and keeps what was injected.

``HookProcesses`` runs ``engrams hook --resident`` for each event, as an agent does. ``HookCalls`` gives
the same input to the functions that the command calls, with one engine, which is quicker.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import engrams
from bench.agents.sessions.agent_formats import AgentWriter, open_agent
from bench.agents.sessions.recorded import (
    FollowingDay,
    LabelledPrompt,
    RecordedProject,
    RecordedSession,
)
from engrams.surfaces.hook.events import parse_event
from engrams.surfaces.hook.run import answer_with, parse_arguments

_LIMIT_SECONDS = 60
_CHARACTERS_PER_TOKEN = 4
_ITEM = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)
_IDLE_SECONDS = 20


@dataclass(frozen=True)
class Injection:
    """Text that one hook gave to the agent."""

    project: str
    agent: str
    text: str
    items: tuple[str, ...]
    """Memories in it, each with all of its lines, without the mark of the list."""
    repeated: tuple[str, ...] = ()
    """Items that the session had been given before, or had said itself."""
    prompt: LabelledPrompt | None = None
    """Prompt of the following day that it was given for; None: a start, or a recorded session."""
    start: str = ""
    """What the session of the prompt began with."""

    @property
    def tokens(self) -> int:
        """Tokens, one for four characters."""
        return len(self.text) // _CHARACTERS_PER_TOKEN


@dataclass
class Playback:
    """What was injected while the sessions of a half were played."""

    starts: list[Injection] = field(default_factory=list)
    """Starts of following days."""
    prompts: list[Injection] = field(default_factory=list)
    """Prompts of following days."""
    recorded: list[Injection] = field(default_factory=list)
    """Starts and prompts within the recorded sessions."""


class HookDoor(Protocol):
    """Way in which an agent's events reach engrams."""

    def send(self, body: Mapping[str, Any], options: Sequence[str]) -> str:
        """Send the input of a hook; return its output."""
        ...

    def settle(self) -> None:
        """Wait until everything is learned of what was sent."""
        ...

    def close(self) -> None:
        """Close the home."""
        ...


class HookProcesses:
    """The command, a process for each event."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._environment = {
            **os.environ,
            "ENGRAMS_SERVE__RESIDENT_SECONDS": str(_IDLE_SECONDS),
            "ENGRAMS_HOME": str(home),
        }
        self._run("init", "--no-model", "--yes")

    def send(self, body: Mapping[str, Any], options: Sequence[str]) -> str:
        """Run the command as ``engrams install`` writes it."""
        seconds = str(_LIMIT_SECONDS)
        arguments = ["--resident", "--seconds", seconds, "--project", ".", *options]
        return self._run("hook", *arguments, body=json.dumps(body))

    def settle(self) -> None:
        self._run("status", "--wait")

    def close(self) -> None:
        """The process that keeps the home open ends by itself."""

    def _run(self, *arguments: str, body: str = "") -> str:
        finished = subprocess.run(
            [sys.executable, "-m", "engrams.program.entry", *arguments],
            input=body,
            capture_output=True,
            text=True,
            timeout=2 * _LIMIT_SECONDS,
            env=self._environment,
            check=True,
        )
        if "engrams hook:" in finished.stderr:
            raise RuntimeError(finished.stderr)
        return finished.stdout


class HookCalls:
    """The functions of the command, in this process."""

    def __init__(self, home: Path) -> None:
        self._engine = engrams.open(home=home, jobs__workers=0, write__extract="rules")

    def send(self, body: Mapping[str, Any], options: Sequence[str]) -> str:
        call = parse_arguments(["--project", ".", *options])
        event = parse_event(json.dumps(body).encode(), call.event)
        if event is None:
            raise ValueError(f"{body} is no event.")
        return answer_with(self._engine, call, event, self._engine.settings)

    def settle(self) -> None:
        self._engine.drain(_LIMIT_SECONDS)

    def close(self) -> None:
        self._engine.close()


class SessionPlayer:
    """Plays the projects of one person on one home."""

    def __init__(self, folder: Path, person: str, door: type[HookProcesses | HookCalls]) -> None:
        self._folder = folder / person
        self._folder.mkdir()
        self._number = 0
        self._door: HookDoor = door(self._folder / "home")

    def close(self) -> None:
        """Close the home."""
        self._door.close()

    def play_sessions(self, project: RecordedProject, playback: Playback) -> None:
        """Play the recorded sessions of a project."""
        repository = self._folder / project.name
        self._make_repository(project, repository)
        for session in project.sessions:
            self._play_session(project, session, playback)

    def play_days(self, project: RecordedProject, playback: Playback) -> None:
        """Play the labelled prompts of a project's following days."""
        for day in project.days:
            self._play_day(project, day, playback)

    def _make_repository(self, project: RecordedProject, repository: Path) -> None:
        for name in project.files:
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name}\n", "utf-8")
        for arguments in (
            ["init", "-q", "-b", "main"],
            ["remote", "add", "origin", project.remote],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "begin"],
        ):
            subprocess.run(["git", *arguments], cwd=repository, check=True)

    def _play_session(
        self, project: RecordedProject, session: RecordedSession, playback: Playback
    ) -> None:
        live = self._open(project, session.agent)
        self._start(live, playback.recorded, source="startup")
        answer = ""
        for step in session.steps:
            match step.kind:
                case "user":
                    # The agent is done with the message before.
                    if live.said:
                        self._call(live.writer, "stop", live.writer.make_stop(answer))
                    playback.recorded += self._ask(live, step.text)
                    answer = ""
                case "assistant":
                    answer = step.text
                case "edit":
                    self._edit(live.writer, step.text)
                case _:
                    pass
            is_compaction = step.kind == "compaction" and live.writer.has_event("compact")
            if is_compaction:
                self._call(live.writer, "compact", live.writer.make_event("compact"))
            live.writer.write(step)
            if is_compaction:
                live.forget()
                self._start(live, playback.recorded, source="compact")
        self._call(live.writer, "stop", live.writer.make_stop(answer))
        self._end(live.writer)

    def _play_day(self, project: RecordedProject, day: FollowingDay, playback: Playback) -> None:
        live = self._open(project, day.agent)
        self._start(live, playback.starts, source="startup")
        for prompt in day.prompts:
            playback.prompts += self._ask(live, prompt.text, prompt)
            self._call(live.writer, "stop", live.writer.make_stop(""))
        self._end(live.writer)

    def _open(self, project: RecordedProject, agent: str) -> _LiveSession:
        self._number += 1
        session = f"00000000-0000-4000-8000-{self._number:012}"
        transcript = self._folder / f"{session}.jsonl"
        writer = open_agent(agent, session, self._folder / project.name, transcript)
        return _LiveSession(project.name, agent, writer)

    def _start(self, live: _LiveSession, injections: list[Injection], *, source: str) -> None:
        body = live.writer.make_event("start", source=source)
        injection = live.take(self._call(live.writer, "start", body))
        live.start = injection.text
        injections.append(injection)

    def _ask(
        self, live: _LiveSession, prompt: str, label: LabelledPrompt | None = None
    ) -> list[Injection]:
        """Send a prompt; nothing is given where the agent drops what a hook says to it."""
        body = live.writer.make_event("prompt", prompt=prompt)
        text = self._call(live.writer, "prompt", body)
        given = [live.take(text, label)] if live.writer.GIVES_PROMPT_MEMORIES else []
        live.said.append(_normalize(prompt))
        return given

    def _edit(self, writer: AgentWriter, name: str) -> None:
        path = writer.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("changed\n")
        if writer.has_event("edit"):
            self._call(writer, "edit", writer.make_edit(name))

    def _end(self, writer: AgentWriter) -> None:
        """End a session; what is to be learned of it is learned before the next one."""
        if writer.has_event("end"):
            self._call(writer, "end", writer.make_event("end", reason="other"))
        self._door.settle()

    def _call(self, writer: AgentWriter, name: str, body: dict[str, Any]) -> str:
        """Run the hook of an event; return what it says to the agent."""
        answer = self._door.send(body, writer.list_options(name))
        document = json.loads(answer) if answer.strip() else {}
        nested = document.get("hookSpecificOutput", document)
        return str(nested.get("additionalContext") or nested.get("additional_context") or "")


class _LiveSession:
    """Session that is being played: what it said and was given."""

    def __init__(self, project: str, agent: str, writer: AgentWriter) -> None:
        self.writer = writer
        self.start = ""
        self.said: list[str] = []
        self._given: list[str] = []
        self._project = project
        self._agent = agent

    def take(self, text: str, label: LabelledPrompt | None = None) -> Injection:
        """Take what a hook gave to the session."""
        items = tuple(_list_items(text))
        earlier = [*self._given, *(said for said in self.said if len(said.split()) > 2)]
        normalized = list(map(_normalize, items))
        repeated = tuple(
            item
            for item, words in zip(items, normalized, strict=True)
            if any(_holds_each_other(words, other) for other in earlier)
        )
        self._given += normalized
        return Injection(self._project, self._agent, text, items, repeated, label, self.start)

    def forget(self) -> None:
        """Forget all: a compaction took it out of the conversation."""
        self._given.clear()
        self.said = [""]


def _holds_each_other(item: str, text: str) -> bool:
    return item in text or (len(text.split()) > 2 and text in item and 2 * len(text) > len(item))


def _normalize(text: str) -> str:
    """Leave the words of an item, without who said it and when."""
    text = re.sub(r"^(?:user|assistant|tool): ", "", text.lower())
    text = re.sub(r"\s*\((?:user|assistant|personal|[^()]*20\d\d[^()]*)\)", "", text)
    return re.sub(r"[^\w`/.]+", " ", text).strip(" .")


def _list_items(text: str) -> Iterator[str]:
    """Yield the memories of an injected text; headings and frames are none."""
    marks = list(_ITEM.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends[: len(marks)], strict=True):
        block = text[mark.end() : end]
        lines = block.splitlines()
        kept = [line for line in lines[1:] if line.startswith("  ")]
        yield "\n".join([*lines[:1], *kept])
