"""Run the six file commands of models trained on memory directories.

``MemoryFileCommandTool.run`` is the entry. The commands are view, create, str_replace, insert,
delete and rename. Paths begin with ``/memories``. Below it lie the owner's free documents, and in
``/memories/entries`` the files of memories, whose changes flow into memory at once. Answers and
errors are worded as such models know them.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

from engrams.errors import (
    ConflictError,
    EngramsError,
    InputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.vault.files.folder_access import make_private

ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_NUMBERS = ("insert_line", "view_range")
"""Parameters that are line numbers; all others are texts."""
_MAX_NAME_BYTES = 200
_MAX_LINES = 999_999
_LINES_AROUND = 3
"""Lines that are shown before and after a change."""
_HINT = "Paths begin with /memories."


def _ignore_paths(_paths: Sequence[Path]) -> None:
    return None


def _keep_text(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class MemoryFileCommandTool:
    """File commands over one owner's folder."""

    root: Path
    """The folder that ``/memories`` stands for."""
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Folders of its first level that lie elsewhere, by name."""
    on_change: Callable[[Sequence[Path]], None] = _ignore_paths
    """Called with every file that was written or removed."""
    clean_text: Callable[[str], str] = _keep_text
    """Returns a text as it may be written."""

    def run(self, call: Mapping[str, Any]) -> str:
        """Run a model's call, such as ``{"command": "view", "path": "/memories"}``.

        EngramsError: it cannot be done; the message is meant for the model.
        """
        arguments = {
            name: value for name, value in call.items() if name != "command" and value is not None
        }
        if call.get("command") not in COMMANDS:
            raise InputError(
                f"Unknown command: {call.get('command')!r:.80}",
                hint=f"The commands are {', '.join(COMMANDS)}.",
            )
        command = getattr(self, call["command"])
        try:
            signature(command).bind(**arguments)
        except TypeError as problem:
            raise InputError(
                f"{call['command']}: {problem}", hint="Give the parameters of that command."
            ) from None
        for name, value in arguments.items():
            is_text = isinstance(value, str)
            should_be_text = name not in _NUMBERS
            if is_text != should_be_text:
                raise InputError(
                    f"{call['command']}: {name} has the wrong type",
                    hint="Lines are numbers, the rest are texts.",
                )
        try:
            return str(command(**arguments))
        except EngramsError:
            raise
        except (TypeError, ValueError, OverflowError, LookupError):
            raise InputError(
                f"{call['command']}: a value has the wrong type",
                hint="Lines are numbers, the rest are texts.",
            ) from None

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Show a folder two levels deep, or a file's numbered lines.

        ``view_range``: first and last line, from 1 (-1: the end).
        """
        file = self._locate(path)
        if file.is_dir() and not file.is_symlink():
            return self._list_folder(path, file)
        lines = self._read_text(path, file).split("\n")
        if len(lines) > _MAX_LINES:
            raise InputError(
                f"File {path} exceeds maximum line limit of {_MAX_LINES:,} lines.",
                hint="Give a smaller file.",
            )
        first = 1
        last = len(lines)
        if view_range:
            if len(view_range) != 2:
                raise InputError(
                    "Invalid `view_range` parameter: two line numbers are needed.",
                    hint="Give [first, last].",
                )
            first = max(1, int(view_range[0]))
            last = len(lines) if view_range[1] == -1 else min(int(view_range[1]), len(lines))
        return (
            f"Here's the content of {path} with line numbers:\n{_number_lines(lines, first, last)}"
        )

    def create(self, path: str, file_text: str) -> str:
        file = self._locate(path)
        if os.path.lexists(file):
            raise ConflictError(
                f"File {path} already exists",
                hint="Change it with str_replace or insert, or delete it first.",
            )
        self._write(file, self.clean_text(file_text))
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs exactly once."""
        file = self._locate(path)
        text = self._read_text(path, file)
        count = text.count(old_str) if old_str else 0
        if not count:
            raise InputError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in"
                f" {path}.",
                hint="View the file.",
            )
        if count > 1:
            line_numbers = sorted(
                {text.count("\n", 0, start) + 1 for start in _find_all(text, old_str)}
            )
            raise InputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in"
                f" lines: {', '.join(map(str, line_numbers))}. Please ensure it is unique",
                hint="Give more of the text around it.",
            )
        start = text.index(old_str)
        new_text = self.clean_text(text[:start] + new_str + text[start + len(old_str) :])
        self._write(file, new_text)
        line = text.count("\n", 0, start) + 1
        lines = new_text.split("\n")
        first = max(1, line - _LINES_AROUND)
        last = min(len(lines), line + new_str.count("\n") + _LINES_AROUND)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{_number_lines(lines, first, last)}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line ``insert_line`` (0: at the beginning)."""
        file = self._locate(path)
        text = self._read_text(path, file)
        lines = text.split("\n")
        count = len(lines) - (lines[-1] == "")
        if not 0 <= insert_line <= count:
            raise InputError(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0,"
                f" {count}]",
                hint="View the file.",
            )
        if lines[-1] == "":
            lines.pop()
        lines[insert_line:insert_line] = insert_text.removesuffix("\n").split("\n")
        self._write(file, self.clean_text("\n".join(lines) + "\n"))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Remove a file or folder; its memories can be restored."""
        target = self._locate_movable(path, "delete")
        files = _list_files(target)
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()
        self.on_change(files)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        source = self._locate_movable(old_path, "rename")
        target = self._locate(new_path)
        if os.path.lexists(target):
            raise ConflictError(
                f"The destination {new_path} already exists", hint="Choose another name."
            )
        files = _list_files(source)
        try:
            make_private(target.parent)
            source.rename(target)
        except OSError as problem:
            raise _write_error(new_path, problem) from None
        moved = [target if file == source else target / file.relative_to(source) for file in files]
        self.on_change([*files, *moved])
        return f"Successfully renamed {old_path} to {new_path}"

    def _locate(self, path: str) -> Path:
        """Return a path's file. InputError, RefusedError: it is outside."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise InputError(f"Path must start with {ROOT}, got: {path}", hint=_HINT)
        parts: list[str] = []
        for part in path[len(ROOT) :].split("/"):
            if part == ".." and parts and parts[-1] != "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if "\0" in path or any(part.startswith(".") or "\\" in part for part in parts):
            raise RefusedError(f"Path {path} would escape {ROOT} directory", hint=_HINT)
        if any(
            len(part.encode("utf-8", "replace")) > _MAX_NAME_BYTES or not part.isprintable()
            for part in parts
        ):
            raise InputError(
                f"{path!r:.120} is not the path of a file", hint="Use short printable names."
            )
        base = self.root
        if parts and parts[0] in self.mounts:
            base = self.mounts[parts[0]]
            parts = parts[1:]
        # Links are resolved here, once: one that is changed later has no effect.
        file = base.joinpath(*parts).resolve()
        if not file.is_relative_to(base.resolve()):
            raise RefusedError(
                f"Path {path} would escape {ROOT} directory", hint="Links may not lead out."
            )
        return file

    def _locate_movable(self, path: str, verb: str) -> Path:
        """Return the file of a path that may be deleted or renamed: not the folders themselves."""
        file = self._locate(path)
        if file == self.root.resolve() or file in (
            mount.resolve() for mount in self.mounts.values()
        ):
            shown_path = ROOT if file == self.root.resolve() else path
            raise RefusedError(
                f"Cannot {verb} the {shown_path} directory itself",
                hint=f"{verb.capitalize()} what is in it.",
            )
        if not os.path.lexists(file):
            raise NotFoundError(f"The path {path} does not exist", hint="View /memories.")
        return file

    def _read_text(self, path: str, source: Path) -> str:
        """Read a plain file. ``path``: as the model named it, for errors."""
        if not os.path.lexists(source):
            raise NotFoundError(
                f"The path {path} does not exist. Please provide a valid path.",
                hint="View /memories.",
            )
        if source.is_symlink() or not source.is_file():
            raise RefusedError(f"Unsupported file type: {path}", hint="Only plain files are read.")
        try:
            handle = os.open(source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as problem:
            if problem.errno != errno.ELOOP:
                raise
            raise RefusedError(f"{path} is a symlink", hint="Only plain files are read.") from None
        with os.fdopen(handle, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def _write(self, target: Path, text: str) -> None:
        temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
        try:
            make_private(target.parent)
            with os.fdopen(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(text.encode("utf-8", "replace"))
            temporary.replace(target)
        except OSError as problem:
            with suppress(OSError):
                temporary.unlink()
            raise _write_error(target.name, problem) from None
        self.on_change([target])

    def _list_folder(self, path: str, folder: Path) -> str:
        name = path.rstrip("/")
        rows = [(name, folder), *self._iter_below(name, folder, 2)]
        listing = "\n".join(f"{_format_size(file)}\t{shown}" for shown, file in rows)
        return (
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden"
            f" items:\n{listing}"
        )

    def _iter_below(self, name: str, folder: Path, depth: int) -> Iterator[tuple[str, Path]]:
        """Yield what lies in a folder, with its name as it is shown, ``depth`` levels deep."""
        entries = {file.name: file for file in folder.iterdir()} if folder.is_dir() else {}
        if folder == self.root.resolve():
            entries |= {mount: target for mount, target in self.mounts.items() if target.is_dir()}
        for entry_name, file in sorted(entries.items()):
            is_inside = not file.is_symlink() or file.resolve().is_relative_to(self.root.resolve())
            if entry_name.startswith(".") or not is_inside:
                continue
            yield f"{name}/{entry_name}{'/' if file.is_dir() else ''}", file
            if depth > 1 and file.is_dir() and not file.is_symlink():
                yield from self._iter_below(f"{name}/{entry_name}", file, depth - 1)


def _number_lines(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(f"{number:6d}\t{lines[number - 1]}" for number in range(first, last + 1))


def _find_all(text: str, searched: str) -> Iterator[int]:
    """Yield every position of a text in another, overlapping ones too."""
    position = text.find(searched)
    while position >= 0:
        yield position
        position = text.find(searched, position + 1)


def _list_files(path: Path) -> list[Path]:
    """List the files below a folder, or the file itself."""
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def _format_size(path: Path) -> str:
    """Format the size of a file, or of all files in a folder."""
    if path.is_dir():
        number = float(sum(file.stat().st_size for file in _list_files(path)))
    else:
        number = float(path.stat().st_size)
    for unit in ("B", "K", "M"):
        if number < 1024:
            return f"{number:.0f}{unit}" if unit == "B" else f"{number:.1f}{unit}"
        number /= 1024
    return f"{number:.1f}G"


def _write_error(path: str, problem: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be written: {problem.strerror}",
        hint="There may be a file in the place of a folder, or the disk is full.",
    )
