"""Add the hook to coding agents' settings, and remove it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any

from engrams.errors import InputError
from engrams.surfaces.hook.json_edit import append_member, find_members, locate_value, remove_member

_SECONDS = 10
_OURS = re.compile(r"engrams(?:\.exe)?['\"]* hook\b")
_CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


@dataclass(frozen=True, slots=True)
class AgentHookLocation:
    """Settings file and format of one coding agent's hooks."""

    title: str
    """Name of the agent, for people."""
    home: tuple[str, str]
    """Variable that moves the agent's folder, and this folder in the user's home."""
    user_file: str
    """Path below the agent's folder."""
    project_file: str
    """Path below a project's folder."""
    events: tuple[str, ...] = ()
    """Events that the hook answers, as the agent calls them."""
    entry: Callable[[str, str], dict[str, Any]] | None = None
    """Makes the entry of an event for a command."""
    frame: Mapping[str, Any] | None = None
    """Members of a new file beside the hooks."""

    def file(self, project: Path | None) -> Path:
        """Return the file to change: the user's, or a project's."""
        if project is not None:
            return project / self.project_file
        variable, folder = self.home
        return Path(os.environ.get(variable) or Path.home() / folder) / self.user_file


@dataclass(frozen=True, slots=True)
class AgentSettingsFileEdit:
    """Planned change of an agent's settings file: text before and after."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """Return the change as a unified diff; empty if nothing changes."""
        old, new = (
            [] if text is None else text.splitlines(keepends=True)
            for text in (self.before, self.after)
        )
        difference = unified_diff(
            old, new, "/dev/null" if self.before is None else str(self.path), str(self.path), n=2
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in difference)

    def apply(self) -> None:
        """Write the file at once, or remove it. OSError: it cannot be."""
        target = self.path.resolve()
        if self.after is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.write_text(self.after, "utf-8", newline="")
        if target.exists():
            temporary.chmod(target.stat().st_mode)
        temporary.replace(target)


def _nested_entry(command: str, _event: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": _SECONDS}]}


def _gemini_entry(command: str, event: str) -> dict[str, Any]:
    only = {"matcher": "write_file|replace"} if event == "AfterTool" else {}
    return {
        **only,
        "hooks": [
            {"name": "engrams", "type": "command", "command": command, "timeout": _SECONDS * 1000}
        ],
    }


def _cursor_entry(command: str, _event: str) -> dict[str, Any]:
    return {"command": command}


def _copilot_entry(command: str, event: str) -> dict[str, Any]:
    return {"type": "command", "bash": f"{command} --event {event}", "timeoutSec": _SECONDS}


INSTALLERS: dict[str, AgentHookLocation] = {
    "claude-code": AgentHookLocation(
        title="Claude Code",
        home=("CLAUDE_CONFIG_DIR", ".claude"),
        user_file="settings.json",
        project_file=".claude/settings.json",
        events=_CLAUDE_EVENTS,
        entry=_nested_entry,
    ),
    "codex": AgentHookLocation(
        title="Codex",
        home=("CODEX_HOME", ".codex"),
        user_file="hooks.json",
        project_file=".codex/hooks.json",
        events=_CLAUDE_EVENTS[:4],
        entry=_nested_entry,
    ),
    "cursor": AgentHookLocation(
        title="Cursor",
        home=("", ".cursor"),
        user_file="hooks.json",
        project_file=".cursor/hooks.json",
        events=(
            "sessionStart",
            "beforeSubmitPrompt",
            "afterFileEdit",
            "afterAgentResponse",
            "preCompact",
            "sessionEnd",
        ),
        entry=_cursor_entry,
        frame={"version": 1},
    ),
    "gemini": AgentHookLocation(
        title="Gemini CLI",
        home=("", ".gemini"),
        user_file="settings.json",
        project_file=".gemini/settings.json",
        events=(
            "SessionStart",
            "BeforeAgent",
            "AfterTool",
            "AfterAgent",
            "PreCompress",
            "SessionEnd",
        ),
        entry=_gemini_entry,
    ),
    "copilot": AgentHookLocation(
        title="Copilot CLI",
        home=("COPILOT_HOME", ".copilot"),
        user_file="hooks/engrams.json",
        project_file=".github/hooks/engrams.json",
        events=("sessionStart", "userPromptSubmitted", "agentStop", "preCompact", "sessionEnd"),
        entry=_copilot_entry,
        frame={"version": 1},
    ),
    "opencode": AgentHookLocation(
        "opencode", ("", ".config/opencode"), "plugins/engrams.js", ".opencode/plugins/engrams.js"
    ),
}
"""Agents by the name that the command line takes."""


def plan_install(
    agent: AgentHookLocation, command: Sequence[str], project: Path | None = None
) -> AgentSettingsFileEdit:
    """Plan the change that lets an agent run ``command`` at its events.

    InputError: its settings are no JSON object.
    """
    path = agent.file(project)
    before = _read_text(path)
    if agent.entry is None:
        plugin = files("engrams.surfaces.hook").joinpath("opencode.js").read_text("utf-8")
        return AgentSettingsFileEdit(
            path, before, plugin.replace('["engrams", "hook"]', json.dumps(list(command)))
        )
    text = _remove_ours(_parse_settings(path, before))
    for name, value in (agent.frame or {}).items():
        if locate_value(text, name) is None:
            text = append_member(text, locate_value(text) or 0, value, name)
    entries = {event: agent.entry(join_command(command), event) for event in agent.events}
    if locate_value(text, "hooks") is None:
        text = append_member(
            text,
            locate_value(text) or 0,
            {event: [entry] for event, entry in entries.items()},
            "hooks",
        )
        entries = {}
    for event, entry in entries.items():
        if (inner := locate_value(text, "hooks", event)) is None:
            text = append_member(text, locate_value(text, "hooks") or 0, [entry], event, 2)
        else:
            text = append_member(text, inner, entry, "", 3)
    is_unchanged = before is not None and before.strip() and json.loads(before) == json.loads(text)
    return AgentSettingsFileEdit(path, before, before if is_unchanged else text)


def plan_undo(agent: AgentHookLocation, project: Path | None = None) -> AgentSettingsFileEdit:
    """Plan the removal of the hook; a file of nothing else goes."""
    path = agent.file(project)
    before = _read_text(path)
    if before is None or agent.entry is None:
        return AgentSettingsFileEdit(path, before, None)
    text = _remove_ours(_parse_settings(path, before))
    return AgentSettingsFileEdit(
        path, before, None if json.loads(text) == dict(agent.frame or {}) else text
    )


def join_command(command: Sequence[str]) -> str:
    """Join a command as the system's shell splits it."""
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not text.", hint="Repair or move it, then run this again."
        ) from None


def _parse_settings(path: Path, text: str | None) -> str:
    """Return the text of settings whose hooks are lists by event."""
    text = text if text and text.strip() else "{}\n"
    try:
        document = json.loads(text)
    except ValueError as fault:
        raise InputError(
            f"{path} is not plain JSON ({fault}).",
            hint="Remove comments, repair it, then run this again.",
        ) from None
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(
        isinstance(entries, list) for entries in hooks.values()
    ):
        raise InputError(
            f"The hooks in {path} are not lists by event.", hint="Repair it, then run this again."
        )
    return text


def _remove_ours(text: str) -> str:
    """Remove our entries, and lists that become empty."""
    hooks = json.loads(text).get("hooks", {})
    for event, entries in hooks.items():
        for index in reversed([index for index, entry in enumerate(entries) if _is_ours(entry)]):
            text = remove_member(text, locate_value(text, "hooks", event) or 0, index)
        if entries and all(map(_is_ours, entries)):
            text = _remove_key(text, event, "hooks")
    return _remove_key(text, "hooks") if hooks and not json.loads(text)["hooks"] else text


def _remove_key(text: str, key: str, *path: str) -> str:
    at = locate_value(text, *path) or 0
    return remove_member(
        text,
        at,
        next(index for index, member in enumerate(find_members(text, at)[0]) if member.key == key),
    )


def _is_ours(entry: Any) -> bool:
    if isinstance(entry, dict):
        return any(_is_ours(value) for value in entry.values())
    return (
        any(map(_is_ours, entry))
        if isinstance(entry, list)
        else isinstance(entry, str) and bool(_OURS.search(entry))
    )
