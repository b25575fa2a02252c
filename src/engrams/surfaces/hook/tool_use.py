"""Sentences about the work of a coding agent's tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from engrams.frozen_data import dataclass
from engrams.text.system_texts import remove_system_texts

_WRITERS = frozenset(
    {
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "write_file",
        "replace",
        "apply_patch",
        "create",
        "str_replace",
    }
)
_SHELLS = frozenset({"bash", "shell", "run_shell_command", "powershell"})
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path")
_MAX_QUOTE_CHARS = 200
_MAX_FILES = 20
_MAX_PLAN_CHARS = 2000


@dataclass(frozen=True, slots=True)
class AgentToolUse:
    """One use of a tool by a coding agent."""

    name: str
    arguments: Mapping[str, Any]
    result: Any
    failed: bool
    prompt: str = ""
    """The user's message that the agent was working on."""


def describe_work(uses: Sequence[AgentToolUse], folder: str) -> list[tuple[str, str]]:
    """Describe files changed, errors solved and decisions taken, as (role, text).

    ``folder``: the project's; paths in it are shown relative to it.
    """
    return [
        *_describe_files(uses, folder),
        *_describe_solved(uses, folder),
        *_describe_decisions(uses),
    ]


def read_tool_uses(entries: Sequence[Mapping[str, Any]]) -> list[AgentToolUse]:
    """Read the tool uses of a transcript's entries that have a result."""
    open_calls: dict[str, tuple[str, Mapping[str, Any], str]] = {}
    uses: list[AgentToolUse] = []
    prompt = ""
    for entry in entries:
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if entry.get("type") == "user" and isinstance(content, str):
            prompt = remove_system_texts(content)
        for part in content if isinstance(content, list) else ():
            match part:
                case {
                    "type": "tool_use",
                    "id": str(id),
                    "name": str(name),
                    "input": dict(arguments),
                }:
                    open_calls[id] = (name, arguments, prompt)
                case {"type": "tool_result", "tool_use_id": str(id)} if id in open_calls:
                    tool, tool_arguments, served_prompt = open_calls.pop(id)
                    result = entry.get("toolUseResult", part.get("content"))
                    uses.append(
                        AgentToolUse(
                            name=tool,
                            arguments=tool_arguments,
                            result=result,
                            failed=bool(part.get("is_error")),
                            prompt=served_prompt,
                        )
                    )
                case {"type": "text", "text": str(text)} if entry.get("type") == "user":
                    prompt = remove_system_texts(text) or prompt
    return uses


def _describe_files(uses: Sequence[AgentToolUse], folder: str) -> Iterator[tuple[str, str]]:
    """Name the files that were changed for each prompt."""
    for prompt in dict.fromkeys(use.prompt for use in uses):
        files = _list_files([use for use in uses if use.prompt == prompt], folder)
        if files:
            purpose = f" for the request: {_shorten(prompt)}" if prompt else ""
            yield "tool", f"The agent changed {_join(files)}{purpose}"


def _describe_solved(uses: Sequence[AgentToolUse], folder: str) -> Iterator[tuple[str, str]]:
    """Name commands that failed, and the files changed before they worked again."""
    failures: dict[str, int] = {}
    for index, use in enumerate(uses):
        command = _command(use)
        if command and use.failed:
            failures.setdefault(command, index)
        elif command and command in failures:
            failed_index = failures.pop(command)
            files = _list_files(uses[failed_index:index], folder)
            cause = f" after changes to {_join(files)}" if files else ""
            yield (
                "tool",
                (
                    f"`{_shorten(command)}` failed ({_find_reason(uses[failed_index].result)}) and worked"
                    f" again{cause}."
                ),
            )


def _describe_decisions(uses: Sequence[AgentToolUse]) -> Iterator[tuple[str, str]]:
    """Quote the user's answers to the agent's questions, and the plans that the user agreed to."""
    for use in uses:
        if use.failed:
            continue
        answers = use.result.get("answers") if isinstance(use.result, dict) else None
        if use.name == "AskUserQuestion" and isinstance(answers, dict):
            yield from (
                ("user", f"{question} {answer}")
                for question, answer in answers.items()
                if isinstance(answer, str)
            )
        elif (
            use.name == "ExitPlanMode"
            and isinstance(plan := use.arguments.get("plan"), str)
            and plan.strip()
        ):
            yield "tool", f"The user agreed to this plan:\n{plan.strip()[:_MAX_PLAN_CHARS]}"


def _list_files(uses: Sequence[AgentToolUse], folder: str) -> list[str]:
    paths = [_path(use) for use in uses if use.name.casefold() in _WRITERS and not use.failed]
    return list(dict.fromkeys(_relative(path, folder) for path in paths if path))


def _path(use: AgentToolUse) -> str:
    return next((path for name in _PATHS if isinstance(path := use.arguments.get(name), str)), "")


def _relative(path: str, folder: str) -> str:
    is_in_folder = folder and PurePath(path).is_relative_to(folder)
    return PurePath(path).relative_to(folder).as_posix() if is_in_folder else path


def _command(use: AgentToolUse) -> str:
    command = use.arguments.get("command")
    return command.strip() if use.name.casefold() in _SHELLS and isinstance(command, str) else ""


def _find_reason(result: Any) -> str:
    """Return the last line of an error's text, which names the cause."""
    match result:
        case {"stderr": str(text)} if text.strip():
            lines = text.strip().splitlines()
        case str(text) if text.strip():
            lines = text.strip().splitlines()
        case [{"text": str(text)}, *_] if text.strip():
            lines = text.strip().splitlines()
        case _:
            return "no message"
    return _shorten(lines[-1])


def _join(files: Sequence[str]) -> str:
    more_files = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return ", ".join(files[:_MAX_FILES]) + more_files


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTE_CHARS else f"{line[:_MAX_QUOTE_CHARS]}…"
