"""Write an export in one of the formats of the table ``_LINE_WRITERS``, or as a folder.

``write`` is the entry. A file appears only when it is complete; a folder is written file by file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from engrams.core import NO_META, EntityNet, Meta, Record
from engrams.errors import EngramsError, InputError
from engrams.transfer.formats import (
    csv_table,
    engrams_jsonl,
    langgraph,
    letta,
    markdown_export,
    mem0,
    obsidian_vault,
)
from engrams.transfer.formats.pieces import ExportedEdge, ExportedRecord, ExportLine

ExportFormat: TypeAlias = Literal[
    "jsonl", "markdown", "csv", "mem0", "langgraph", "letta", "obsidian"
]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
FOLDERS: tuple[ExportFormat, ...] = ("markdown", "obsidian")
"""Export formats that are a folder."""

_ExportItem: TypeAlias = ExportedRecord | ExportedEdge | Record
_LINE_WRITERS: Mapping[str, Callable[[Iterable[Record]], Iterator[ExportLine]]] = {
    "csv": csv_table.to_lines,
    "mem0": mem0.to_lines,
    "langgraph": langgraph.to_lines,
    "letta": letta.to_lines,
}
"""Formats that are one file of records alone."""


def write(
    target: Path,
    items: Iterable[_ExportItem],
    format: ExportFormat = "jsonl",
    *,
    header: Meta = NO_META,
    net: EntityNet | None = None,
) -> int:
    """Write an export and return the number of records.

    ``header``: JSON values for the first line of the JSONL. ``net``: entities for ``obsidian``.
    InputError: the target cannot be written.
    """
    try:
        match format:
            case "jsonl":
                return _write_lines(target, engrams_jsonl.to_lines(items, header))
            case "markdown":
                target.mkdir(parents=True, exist_ok=True)  # also of no memories
                return markdown_export.write(target, items)
            case "obsidian":
                return obsidian_vault.write(target, _iter_records(items), net or EntityNet())
            case _ if format in _LINE_WRITERS:
                return _write_lines(target, _LINE_WRITERS[format](_iter_records(items)))
            case _:
                raise InputError(
                    f"There is no export format {format!r}.",
                    hint=f"The formats are {', '.join(EXPORT_FORMATS)}.",
                )
    except OSError as problem:
        raise InputError(
            f"{target} cannot be written: {problem.strerror or problem}.",
            hint="Choose another place.",
        ) from None


def _iter_records(items: Iterable[_ExportItem]) -> Iterator[Record]:
    for item in items:
        match item:
            case ExportedRecord():
                yield item.record
            case Record():
                yield item
            case _:
                raise InputError("An edge has no place in this export.", hint="Use --format jsonl.")


def _write_lines(target: Path, lines: Iterable[ExportLine]) -> int:
    """Write lines to a file; return how many records are in them."""
    record_count = 0
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for text, count in lines:
                record_count += count
                file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except (OSError, EngramsError):
        part.unlink(missing_ok=True)
        raise
    return record_count
