"""Hook of a git repository that tells after each commit which memories it makes untrue."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from engrams.errors import InputError
from engrams.settings.project_name import find_git_directories, find_root, read_hooks_path
from engrams.surfaces.hook.install import AgentSettingsFileEdit

_BEGIN = "# engrams: which memories does this commit make untrue?"
_END = "# engrams: end"
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


def plan_git_hook(
    folder: Path, command: Sequence[str], *, undo: bool = False
) -> AgentSettingsFileEdit:
    """Plan the change of a repository's ``post-commit`` hook; an existing hook stays.

    InputError: the folder is in no repository, or its hook is no shell script.
    """
    path = _find_hook(folder)
    before = path.read_text("utf-8", errors="surrogateescape") if path.is_file() else None
    own_text = _remove_ours(before or "")
    if undo:
        is_empty = not own_text.strip() or own_text.strip() == "#!/bin/sh"
        return AgentSettingsFileEdit(path, before, None if is_empty else own_text)
    first_line = own_text.split("\n", 1)[0]
    if own_text.strip() and not _is_shell(first_line):
        raise InputError(
            f"{path} is no shell script.",
            hint=f"Add this call to it: {shlex.join(command)}",
        )
    head = own_text if own_text.strip() else "#!/bin/sh\n"
    line = "" if head.endswith("\n") else "\n"
    # The commit is made; a memory that cannot be read must not look like a failure of it.
    block = f"{_BEGIN}\n{shlex.join(command)} || true\n{_END}\n"
    return AgentSettingsFileEdit(path, before, f"{head}{line}{block}")


def _find_hook(folder: Path) -> Path:
    root = find_root(folder.resolve())
    if root is None:
        raise InputError(
            f"{folder} is in no git repository.", hint="Name one with --folder, or run `git init`."
        )
    _, common = find_git_directories(root)
    named_folder = read_hooks_path(common)
    hooks = root / Path(named_folder).expanduser() if named_folder else common / "hooks"
    return hooks / "post-commit"


def _is_shell(first_line: str) -> bool:
    words = first_line.removeprefix("#!").split()
    return bool(words) and words[-1].rsplit("/", 1)[-1] in _SHELLS


def _remove_ours(text: str) -> str:
    begin = text.find(_BEGIN)
    if begin < 0:
        return text
    end = text.find(_END, begin)
    after = text[end + len(_END) :].removeprefix("\n") if end >= 0 else ""
    return text[:begin] + after
