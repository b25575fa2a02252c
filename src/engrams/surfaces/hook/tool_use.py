"""Sentences about the work of a coding agent's tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from engrams.frozen_data import dataclass
from engrams.text.acknowledgements import is_acknowledgement

_WRITERS = frozenset(
    """
    edit write multiedit notebookedit write_file replace apply_patch create str_replace
    strreplace editnotebook
    """.split()
)
_SHELLS = frozenset(
    "bash shell shell_command exec_command local_shell run_shell_command powershell".split()
)
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path")
_MAX_QUOTE_CHARS = 200
_MAX_FILES = 20
_MAX_PLAN_CHARS = 2000
_MOST_FIXES = 3
"""Commands that are told as what made another work."""
_NEAR = 8
"""Commands after a failure among which another form of the same command is looked for."""

_ERROR_NAME = re.compile(
    r"\b(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Statement|Failure|Fault|Violation)\b|\bE\s{2,}\S"
    r"|\b(?:ERR_|E[A-Z]{4,}\b)"
)
"""Name of an error, as most languages print it."""
_ERROR_WORDS = re.compile(
    r"\b(?:error|fatal|denied|cannot|can't|could not|unable|not found|no such|conflict|refused"
    r"|unauthori[sz]ed|forbidden|mismatch|missing|invalid|unknown|unexpected|multiple|failed|exceeded"
    r"|timed out|required)\b",
    re.IGNORECASE,
)
_NO_CAUSE = re.compile(
    r"^\W*(?:exit code|process exited|wall time|output:|\d+ (?:failed|passed)|\(\d+ failed|tests?:? +\d"
    r"|test (?:files|suites)|snapshots|duration|ran all|at [\w.$<]|❯|file \"|traceback|short test summary"
    r"|error: script|npm err! code|elifecycle|=+|-+$)",
    re.IGNORECASE,
)
"""Lines of an error that name no cause: counts, places, frames."""
_LOOKING = re.compile(
    r"(?:cd|ls|cat|head|tail|less|grep|rg|find|fd|echo|pwd|which|wc|stat|file|tree|env|printenv|date|sleep"
    r"|sed -n|git (?:status|diff|log|show|blame|branch$)|docker (?:ps|images|logs)|kubectl (?:get|describe|logs))\b"
)
"""Commands that only look, and so mend nothing."""
_TESTING = re.compile(
    r"\b(?:pytest|vitest|jest|mocha|tox|nox|rspec|phpunit|ctest|playwright)\b|\b(?:test|lint|check|typecheck)\b"
)
"""Commands whose narrower form says nothing about the failure."""
_CAUSE = re.compile(
    r"\b(?:root cause|the (?:real |actual |underlying )?(?:problem|issue|cause|bug|reason|culprit)"
    r" (?:is|was)|(?:it )?turns out|was caused by|is caused by|happens because|failed because"
    r"|fails because)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MOVE = re.compile(r"\s*(?:git\s+)?mv\s+(?:-\w+\s+)*(\S+)\s+(\S+)\s*")
_REMOVAL = re.compile(r"\s*(?:git\s+)?rm\s+(?:-\w+\s+)*([^-\s]\S*)\s*")
_IN_PLACE = re.compile(r"\s*sed\s+-i\S*\s+(?:-e\s+)?(?:'[^']*'|\"[^\"]*\"|\S+)\s+(\S+)\s*")
_JOINED = re.compile(r"&&|;|\n")


@dataclass(frozen=True, slots=True)
class AgentToolUse:
    """One use of a tool by a coding agent."""

    name: str
    arguments: Mapping[str, Any]
    result: Any
    failed: bool
    prompt: str = ""
    """The user's message that the agent was working on."""
    remark: str = ""
    """What the agent said last before this use."""


class ToolUseLog:
    """Uses of tools, of which calls and results come apart.

    ``prompt`` and ``remark`` are what the user and the agent said last; ``uses`` are those that
    have a result, in the order of their results.
    """

    __slots__ = ("_open_calls", "prompt", "remark", "uses")

    def __init__(self) -> None:
        self.prompt = ""
        self.remark = ""
        self.uses: list[AgentToolUse] = []
        self._open_calls: dict[str, AgentToolUse] = {}

    def open(self, id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """Note a call, which its result closes."""
        self._open_calls[id] = AgentToolUse(
            name, arguments, None, failed=False, prompt=self.prompt, remark=self.remark
        )

    def close(self, id: str, result: Any, *, failed: bool) -> None:
        """Note the result of a call; that of an unknown call is left out."""
        call = self._open_calls.pop(id, None)
        if call is not None:
            self.uses.append(replace(call, result=result, failed=failed))


def describe_work(uses: Sequence[AgentToolUse], folder: str) -> list[tuple[str, str]]:
    """Describe files changed, errors solved and decisions taken, as (role, text).

    ``folder``: the project's; paths in it are shown relative to it.
    """
    return [
        *_describe_files(uses, folder),
        *_describe_solved(uses, folder),
        *_describe_decisions(uses),
    ]


def _describe_files(uses: Sequence[AgentToolUse], folder: str) -> Iterator[tuple[str, str]]:
    """Name the files that were changed, moved or removed for each prompt."""
    for prompt in dict.fromkeys(use.prompt for use in uses):
        uses_of_prompt = [use for use in uses if use.prompt == prompt]
        # "yes please" and "go on" say nothing about why.
        is_reason = bool(prompt) and not is_acknowledgement(prompt)
        purpose = f" for the request: {_shorten(prompt)}" if is_reason else ""
        if files := _list_files(uses_of_prompt, folder):
            yield "tool", f"The agent changed {_join(files)}{purpose}"
        for old, new in _list_moves(uses_of_prompt, folder):
            change = f"moved {old} to {new}" if new else f"removed {old}"
            yield "tool", f"The agent {change}{purpose}"


def _describe_solved(uses: Sequence[AgentToolUse], folder: str) -> Iterator[tuple[str, str]]:
    """Name commands that failed, the error, and what was done until they or another form worked."""
    failures: dict[str, int] = {}
    for index, use in enumerate(uses):
        command = _command(use)
        if command and use.failed:
            failures.setdefault(command, index)
        elif command and command in failures:
            failed_index = failures.pop(command)
            between = uses[failed_index + 1 : index]
            solution = _describe_solution(between, command, folder)
            reason = _find_reason(uses[failed_index].result)
            cause = _find_cause([*between, use])
            yield (
                "tool",
                f"`{_shorten(command)}` failed ({reason}) and worked again{solution}.{cause}",
            )
        elif command:
            other_form = _find_other_form(command, failures, uses, index)
            if other_form:
                failed_index = failures.pop(other_form)
                reason = _find_reason(uses[failed_index].result)
                yield (
                    "tool",
                    f"`{_shorten(other_form)}` failed ({reason}); `{_shorten(command)}` worked.",
                )


def _find_other_form(
    command: str, failures: Mapping[str, int], uses: Sequence[AgentToolUse], index: int
) -> str:
    """Return the command that failed shortly before, of which this is another form; empty for none.

    Not of tests: a part of them that passes says nothing. Not of a command that worked later.
    """
    words = command.split()
    if _TESTING.search(command) or _LOOKING.match(command) or len(words) < 2:
        return ""
    for failed_command, failed_index in failures.items():
        is_near = index - failed_index <= _NEAR
        has_same_start = failed_command.split()[:2] == words[:2]
        works_later = any(
            _command(use) == failed_command and not use.failed for use in uses[index:]
        )
        if is_near and has_same_start and not words[1].startswith("-") and not works_later:
            return failed_command
    return ""


def _describe_solution(between: Sequence[AgentToolUse], command: str, folder: str) -> str:
    """Name the files that were changed and the commands that were run before a command worked."""
    files = _list_files(between, folder)
    commands = dict.fromkeys(
        shell_command
        for use in between
        if not use.failed
        and (shell_command := _command(use))
        and shell_command != command
        and not _LOOKING.match(shell_command)
        and not _TESTING.search(shell_command)
    )
    steps = [f"`{_shorten(shell_command)}`" for shell_command in list(commands)[-_MOST_FIXES:]]
    if files:
        steps.append(f"changes to {_join(files)}")
    return f" after {' and '.join(steps)}" if steps else ""


def _find_cause(uses: Sequence[AgentToolUse]) -> str:
    """Quote the cause of an error that the agent named before it was solved; empty for none."""
    for use in reversed(uses):
        for sentence in _SENTENCE_END.split(use.remark):
            if _CAUSE.search(sentence):
                return f" The agent observed: {_shorten(sentence)}"
    return ""


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
    paths = [
        path
        for use in uses
        if not use.failed
        for path in (_written_paths(use) if use.name.casefold() in _WRITERS else _edited_paths(use))
    ]
    return list(dict.fromkeys(_relative(path, folder) for path in paths if path))


def _written_paths(use: AgentToolUse) -> list[str]:
    paths = use.arguments.get("paths")
    if isinstance(paths, list):
        return [path for path in paths if isinstance(path, str)]
    return [path for name in _PATHS if isinstance(path := use.arguments.get(name), str)][:1]


def _edited_paths(use: AgentToolUse) -> list[str]:
    """List the files that a shell command edits in place."""
    matches = (_IN_PLACE.fullmatch(step) for step in _JOINED.split(_command(use)))
    return [match[1].strip("'\"") for match in matches if match]


def _list_moves(uses: Sequence[AgentToolUse], folder: str) -> list[tuple[str, str]]:
    """List (old path, new path) of files that shell commands moved; removed ones have no new path."""
    moves: list[tuple[str, str]] = []
    for step in (step for use in uses if not use.failed for step in _JOINED.split(_command(use))):
        if moved := _MOVE.fullmatch(step):
            moves.append((_relative(moved[1], folder), _relative(moved[2], folder)))
        elif removed := _REMOVAL.fullmatch(step):
            moves.append((_relative(removed[1], folder), ""))
    return list(dict.fromkeys(moves))


def _relative(path: str, folder: str) -> str:
    is_in_folder = folder and PurePath(path).is_relative_to(folder)
    return PurePath(path).relative_to(folder).as_posix() if is_in_folder else path


def _command(use: AgentToolUse) -> str:
    command = use.arguments.get("command")
    return command.strip() if use.name.casefold() in _SHELLS and isinstance(command, str) else ""


def _find_reason(result: Any) -> str:
    """Return the line of an error's text that names the cause.

    That is the first with the name of an error, else the first with a word of failure, else the
    last. Counts of tests, places and frames name none.
    """
    lines = [line.strip() for line in _error_text(result).splitlines() if line.strip()]
    telling = [line for line in lines if not _NO_CAUSE.match(line)]
    for pattern in (_ERROR_NAME, _ERROR_WORDS):
        matching = [line for line in telling if pattern.search(line)]
        if matching:
            return _shorten(matching[0])
    return _shorten((telling or lines or ["no message"])[-1])


def _error_text(result: Any) -> str:
    match result:
        case {"stderr": str(error), "stdout": str(output)}:
            return error if error.strip() else output
        case {"stderr": str(text)}:
            return text
        case str(text):
            return text.removeprefix("Error: ")
        case [{"text": str(text)}, *_]:
            return text
        case _:
            return ""


def _join(files: Sequence[str]) -> str:
    more_files = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    return ", ".join(files[:_MAX_FILES]) + more_files


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTE_CHARS else f"{line[:_MAX_QUOTE_CHARS]}…"
