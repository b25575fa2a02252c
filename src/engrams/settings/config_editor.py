"""Editor of ``config.toml``: it changes values, and nothing else in the file."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from engrams.errors import SettingsError


def set_values(file: Path, table: str, values: Mapping[str, str]) -> None:
    """Set texts of one table, atomically and readable by the owner alone.

    ``table``: empty for the settings above all tables.

    SettingsError: the file cannot be parsed, or has these settings in a form that this editor does
    not understand, such as an inline table.
    """
    text = file.read_text("utf-8") if file.exists() else ""
    try:
        tree = tomllib.loads(text)
        new_text = replace_values(text, table, values)
        new_tree = tomllib.loads(new_text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{file} cannot be changed: {problem}", hint="Correct the file, then try again."
        ) from None
    new_entries = {table: {**tree.get(table, {}), **values}} if table else values
    if new_tree != {**tree, **new_entries}:
        raise SettingsError(
            f"{file} holds [{table}] in a form that cannot be changed here.",
            hint=f"Write it as a table [{table}].",
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".config-")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(new_text)
        out.flush()
        os.fsync(out.fileno())
    Path(temporary).replace(file)


def replace_values(text: str, table: str, values: Mapping[str, str]) -> str:
    """Replace or add ``key = "value"`` lines in ``[table]``, or above all tables."""
    lines = text.splitlines()
    start = _find_line(lines, 0, rf"\s*\[\s*{table}\s*\]\s*(#.*)?$") if table else -1
    if start is None:
        lines += ["", f"[{table}]"] if lines else [f"[{table}]"]
        start = len(lines) - 1
    for key, value in values.items():
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        end = _find_line(lines, start + 1, r"\s*\[")
        end = len(lines) if end is None else end
        index = _find_line(lines[:end], start + 1, rf"\s*{key}\s*=")
        if index is not None:
            lines[index] = line
            continue
        while end > 0 and not lines[end - 1].strip():  # before the empty lines above the next table
            end -= 1
        lines[end:end] = [line] if end or not lines else [line, ""]
    return "\n".join(lines) + "\n"


def _find_line(lines: Sequence[str], start: int, pattern: str) -> int | None:
    """Return the index of the first line from ``start`` on whose beginning matches."""
    for index in range(start, len(lines)):
        if re.match(pattern, lines[index]):
            return index
    return None
