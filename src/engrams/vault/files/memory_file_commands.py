"""Run the six file commands of models trained on memory directories.

They are view, create, str_replace, insert, delete and rename. Paths begin with ``/memories``. Below
it lie the owner's free documents, and in ``/memories/entries`` the files of memories, whose changes
flow into memory at once. Answers and errors are worded as such models know them.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
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
from engrams.frozen_data import dataclass
from engrams.vault.files.folder_access import make_private

ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_NUMBERS = ("insert_line", "view_range")
_LONGEST = 200
_MOST_LINES = 999_999
_AROUND = 3
_HINT = "Paths begin with /memories."


def _ignore_paths(_paths: Sequence[Path]) -> None:
    return None


def _keep_text(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class MemoryFileCommandTool:
    """File commands over one owner's folder.

    ``root``: the folder that ``/memories`` stands for. ``mounts``: folders of its first level that
    lie elsewhere. ``changed`` is told of every file written or removed; ``clean`` gives a text as
    it may be written.
    """

    root: Path
    mounts: Mapping[str, Path] = field(default_factory=dict)
    changed: Callable[[Sequence[Path]], None] = _ignore_paths
    clean: Callable[[str], str] = _keep_text

    def run(self, asked: Mapping[str, Any]) -> str:
        """Run a model's call, such as ``{"command": "view", "path": "/memories"}``.

        EngramsError: it cannot be done; the message is meant for the model.
        """
        given = {
            name: value for name, value in asked.items() if name != "command" and value is not None
        }
        if asked.get("command") not in COMMANDS:
            raise InputError(
                f"Unknown command: {asked.get('command')!r:.80}",
                hint=f"The commands are {', '.join(COMMANDS)}.",
            )
        command = getattr(self, asked["command"])
        try:
            signature(command).bind(**given)
        except TypeError as problem:
            raise InputError(
                f"{asked['command']}: {problem}", hint="Give the parameters of that command."
            ) from None
        wrong = [
            name for name, value in given.items() if isinstance(value, str) is (name in _NUMBERS)
        ]
        if wrong:
            raise InputError(
                f"{asked['command']}: {wrong[0]} has the wrong type",
                hint="Lines are numbers, the rest are texts.",
            )
        try:
            return str(command(**given))
        except EngramsError:
            raise
        except (TypeError, ValueError, OverflowError, LookupError):
            raise InputError(
                f"{asked['command']}: a value has the wrong type",
                hint="Lines are numbers, the rest are texts.",
            ) from None

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Show a folder two levels deep, or a file's numbered lines.

        ``view_range``: first and last line, from 1 (-1: the end).
        """
        place = self._locate(path)
        if place.is_dir() and not place.is_symlink():
            return self._list_folder(path, place)
        lines = self._read_text(path, place).split("\n")
        if len(lines) > _MOST_LINES:
            raise InputError(
                f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.",
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
        place = self._locate(path)
        if os.path.lexists(place):
            raise ConflictError(
                f"File {path} already exists",
                hint="Change it with str_replace or insert, or delete it first.",
            )
        self._write(place, self.clean(file_text))
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs exactly once."""
        place = self._locate(path)
        text = self._read_text(path, place)
        found = text.count(old_str) if old_str else 0
        if not found:
            raise InputError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in"
                f" {path}.",
                hint="View the file.",
            )
        at = text.index(old_str)
        if found > 1:
            told = ", ".join(
                map(
                    str,
                    sorted({text.count("\n", 0, begin) + 1 for begin in _find_all(text, old_str)}),
                )
            )
            raise InputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in"
                f" lines: {told}. Please ensure it is unique",
                hint="Give more of the text around it.",
            )
        changed = self.clean(text[:at] + new_str + text[at + len(old_str) :])
        self._write(place, changed)
        line = text.count("\n", 0, at) + 1
        lines = changed.split("\n")
        shown = _number_lines(
            lines, max(1, line - _AROUND), min(len(lines), line + new_str.count("\n") + _AROUND)
        )
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line"
            f" numbers):\n{shown}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line ``insert_line`` (0: at the beginning)."""
        place = self._locate(path)
        text = self._read_text(path, place)
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
        self._write(place, self.clean("\n".join(lines) + "\n"))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Remove a file or folder; its memories can be restored."""
        place = self._locate_movable(path, "delete")
        gone = (
            [place] if not place.is_dir() else [file for file in place.rglob("*") if file.is_file()]
        )
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        self.changed(gone)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        source = self._locate_movable(old_path, "rename")
        target = self._locate(new_path)
        if os.path.lexists(target):
            raise ConflictError(
                f"The destination {new_path} already exists", hint="Choose another name."
            )
        files = (
            [source]
            if not source.is_dir()
            else [file for file in source.rglob("*") if file.is_file()]
        )
        try:
            make_private(target.parent)
            source.rename(target)
        except OSError as problem:
            raise _write_error(new_path, problem) from None
        moved = [target if file == source else target / file.relative_to(source) for file in files]
        self.changed([*files, *moved])
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
            len(part.encode("utf-8", "replace")) > _LONGEST or not part.isprintable()
            for part in parts
        ):
            raise InputError(
                f"{path!r:.120} is no path of a file", hint="Use short printable names."
            )
        base = self.mounts.get(parts[0]) if parts else None
        base, parts = (self.root, parts) if base is None else (base, parts[1:])
        # Links are resolved here, once: one that is changed later has no effect.
        place = base.joinpath(*parts).resolve()
        if not place.is_relative_to(base.resolve()):
            raise RefusedError(
                f"Path {path} would escape {ROOT} directory", hint="Links may not lead out."
            )
        return place

    def _locate_movable(self, path: str, does: str) -> Path:
        place = self._locate(path)
        if place == self.root.resolve() or place in (
            mount.resolve() for mount in self.mounts.values()
        ):
            named = ROOT if place == self.root.resolve() else path
            raise RefusedError(
                f"Cannot {does} the {named} directory itself",
                hint=f"{does.capitalize()} what is in it.",
            )
        if not os.path.lexists(place):
            raise NotFoundError(f"The path {path} does not exist", hint="View /memories.")
        return place

    def _read_text(self, path: str, place: Path) -> str:
        if not os.path.lexists(place):
            raise NotFoundError(
                f"The path {path} does not exist. Please provide a valid path.",
                hint="View /memories.",
            )
        if place.is_symlink() or not place.is_file():
            raise RefusedError(f"Unsupported file type: {path}", hint="Only plain files are read.")
        try:
            handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as problem:
            if problem.errno != errno.ELOOP:
                raise
            raise RefusedError(f"{path} is a symlink", hint="Only plain files are read.") from None
        with os.fdopen(handle, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def _write(self, place: Path, text: str) -> None:
        temporary = place.with_name(f".{os.urandom(8).hex()}.tmp")
        try:
            make_private(place.parent)
            with os.fdopen(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(text.encode("utf-8", "replace"))
            temporary.replace(place)
        except OSError as problem:
            with suppress(OSError):
                temporary.unlink()
            raise _write_error(place.name, problem) from None
        self.changed([place])

    def _list_folder(self, path: str, place: Path) -> str:
        name = path.rstrip("/")
        rows = [(name, place), *self._iter_below(name, place, 2)]
        told = "\n".join(f"{_format_size(file)}\t{shown}" for shown, file in rows)
        return (
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden"
            f" items:\n{told}"
        )

    def _iter_below(self, name: str, place: Path, depth: int) -> Iterator[tuple[str, Path]]:
        found = {file.name: file for file in place.iterdir()} if place.is_dir() else {}
        if place == self.root.resolve():
            found |= {mount: folder for mount, folder in self.mounts.items() if folder.is_dir()}
        for each, file in sorted(found.items()):
            inside = not file.is_symlink() or file.resolve().is_relative_to(self.root.resolve())
            if each.startswith(".") or not inside:
                continue
            yield f"{name}/{each}{'/' if file.is_dir() else ''}", file
            if depth > 1 and file.is_dir() and not file.is_symlink():
                yield from self._iter_below(f"{name}/{each}", file, depth - 1)


def _number_lines(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(f"{number:6d}\t{lines[number - 1]}" for number in range(first, last + 1))


def _find_all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _format_size(place: Path) -> str:
    number = float(
        sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        if place.is_dir()
        else place.stat().st_size
    )
    for unit in ("B", "K", "M"):
        if number < 1024:
            return f"{number:.0f}{unit}" if unit == "B" else f"{number:.1f}{unit}"
        number /= 1024
    return f"{number:.1f}G"


def _write_error(path: str, problem: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be written: {problem.strerror}",
        hint="A file may stand where a folder is needed, or the disk is full.",
    )
