"""Change values in ``config.toml``, and nothing else in it."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from engrams.errors import SettingsError


def set_values(file: Path, table: str, values: Mapping[str, str]) -> None:
    """Set texts of one table, atomically and readable by the owner alone.

    SettingsError: the file cannot be parsed, or holds these settings in a form that is not
    understood here.
    """
    old = file.read_text("utf-8") if file.exists() else ""
    try:
        was = tomllib.loads(old)
        new = replace_values(old, table, values)
        now = tomllib.loads(new)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{file} cannot be changed: {problem}", hint="Correct the file, then try again."
        ) from None
    if now != {**was, table: {**was.get(table, {}), **values}}:
        raise SettingsError(
            f"{file} holds [{table}] in a form that cannot be changed here.",
            hint=f"Write it as a table [{table}].",
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".config-")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(new)
        out.flush()
        os.fsync(out.fileno())
    Path(temporary).replace(file)


def replace_values(text: str, table: str, values: Mapping[str, str]) -> str:
    """Replace or add ``key = "value"`` lines in ``[table]``."""
    lines = text.splitlines()
    start = next(
        (
            n
            for n, line in enumerate(lines)
            if re.fullmatch(rf"\s*\[\s*{table}\s*\]\s*(#.*)?", line)
        ),
        None,
    )
    if start is None:
        lines += ["", f"[{table}]"] if lines else [f"[{table}]"]
        start = len(lines) - 1
    for key, value in values.items():
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
        end = next(
            (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")),
            len(lines),
        )
        place = next(
            (n for n in range(start + 1, end) if re.match(rf"\s*{key}\s*=", lines[n])), None
        )
        if place is None:
            while not lines[end - 1].strip():
                end -= 1
            lines.insert(end, line)
        else:
            lines[place] = line
    return "\n".join(lines) + "\n"
