"""Read and write files: foreign exports, plain text, own exchange format.

``read`` recognises a file by its contents and yields its pieces one by one, in the same order each
time. A malformed piece becomes an ``UnreadablePiece`` and reading goes on. A list of any length is
read without holding it in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from engrams.core import NO_META, EntityNet, Meta, Record
from engrams.errors import EngramsError, InputError
from engrams.transfer.formats import (
    basic_memory,
    chatgpt,
    claude,
    cognee,
    csv_table,
    engrams_jsonl,
    hindsight,
    honcho,
    json_messages,
    langgraph,
    letta,
    locomo,
    markdown_export,
    mcp_graph,
    mem0,
    obsidian_vault,
    plain_text,
    sqlite_stores,
    statement_export,
    supermemory,
    zep,
)
from engrams.transfer.formats.decode import STDIN, DecodedTextReader, Origin, open_text
from engrams.transfer.formats.detect import FORMATS, Format, recognise_format
from engrams.transfer.formats.import_file import ImportFile
from engrams.transfer.formats.import_files import open_parts
from engrams.transfer.formats.import_preview import ImportPreview
from engrams.transfer.formats.json_stream import read_elements
from engrams.transfer.formats.obsidian_vault import is_vault
from engrams.transfer.formats.parsed_items import (
    ExportedEdge,
    ExportedRecord,
    ImportItem,
    ParsedTurn,
    UnreadablePiece,
)
from engrams.transfer.formats.plain_text import parse_memories

__all__ = [
    "FORMATS",
    "STDIN",
    "ExportedEdge",
    "ExportedRecord",
    "Format",
    "ImportFile",
    "ImportItem",
    "ImportPreview",
    "ParsedTurn",
    "UnreadablePiece",
    "is_vault",
    "open_parts",
    "parse_memories",
]

_ReadFunction: TypeAlias = Callable[[DecodedTextReader], Iterator[ImportItem | UnreadablePiece]]

ExportFormat: TypeAlias = Literal[
    "jsonl", "markdown", "csv", "mem0", "langgraph", "letta", "obsidian"
]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
FOLDERS: tuple[ExportFormat, ...] = ("markdown", "obsidian")
"""Export formats that are a folder."""

_READERS: dict[str, _ReadFunction] = {
    "engrams": lambda feed: engrams_jsonl.read(feed.lines()),
    "turns": lambda feed: json_messages.read_lines(feed.lines()),
    "json": lambda feed: json_messages.read_values(read_elements(feed.pieces(), "memories")),
    "lines": lambda feed: plain_text.read(feed.lines()),
    "chatgpt": lambda feed: chatgpt.read(read_elements(feed.pieces())),
    "claude": lambda feed: claude.read(read_elements(feed.pieces())),
    "csv": lambda feed: csv_table.read(feed.lines()),
    "locomo": lambda feed: locomo.read(read_elements(feed.pieces(), "conversations")),
    "mem0": lambda feed: mem0.read(read_elements(feed.pieces(), "results")),
    "mcp": lambda feed: (
        mcp_graph.read_lines(feed.lines())
        if _is_by_line(feed.head)
        else mcp_graph.read(read_elements(feed.pieces()))
    ),
    "zep": lambda feed: zep.read(read_elements(feed.pieces())),
    "letta": lambda feed: letta.read(read_elements(feed.pieces())),
    "cognee": lambda feed: cognee.read(read_elements(feed.pieces())),
    "hindsight": lambda feed: hindsight.read(read_elements(feed.pieces())),
    "honcho": lambda feed: honcho.read(read_elements(feed.pieces())),
    "supermemory": lambda feed: supermemory.read(read_elements(feed.pieces())),
    "langgraph": lambda feed: langgraph.read(read_elements(feed.pieces())),
    "basic_memory": lambda feed: basic_memory.read(feed.lines()),
    "memvara": lambda _: iter(
        (UnreadablePiece(1, "A database of memvara was expected.", broken=True),)
    ),
}


def detect(origin: Origin, name: str = "") -> Format:
    """Detect the format of a file by its contents.

    ``name``: of the file, where ``origin`` does not tell it. InputError: it cannot be read.
    """
    if sqlite_stores.is_database(origin):
        return sqlite_stores.detect(origin)
    with open_text(origin) as feed:
        return recognise_format(feed.head, whole=feed.whole, name=name or _file_name(origin))


def read(origin: Origin, format: str = "auto") -> Iterator[ImportItem | UnreadablePiece]:
    """Yield the pieces of a file or open stream, in order.

    ``origin``: a path (``-``: standard input), or a stream of bytes or text. ``format``: auto, or
    one of FORMATS. InputError: the file cannot be read at all, or the format is unknown.
    """
    if format != "auto" and format not in FORMATS:
        raise InputError(
            f"There is no format {format!r}.", hint=f"The formats are auto, {', '.join(FORMATS)}."
        )
    if sqlite_stores.is_database(origin):
        named = sqlite_stores.detect(origin)
        if format not in ("auto", named):
            raise InputError(
                f"It is a database of {named}, not {format}.",
                hint=f"Give --format {named}, or none.",
            )
        yield from sqlite_stores.read(origin)
        return
    with open_text(origin) as feed:
        chosen = (
            _READERS.get(format)
            or _READERS[recognise_format(feed.head, whole=feed.whole, name=_file_name(origin))]
        )
        yield from chosen(feed)


def preview(source: Path | str, format: str, now: datetime, name: str = "") -> ImportPreview:
    """Count what an import of a file, folder or zip would bring.

    ``name``: of the file, where its path does not tell it. InputError: it is one file, and cannot
    be read.
    """
    found = ImportPreview()
    with open_parts(source, name) as parts:
        for part in parts:
            try:
                found.format = detect(part.open(), part.name) if format == "auto" else format
                for item in read(part.open(), found.format):
                    found.add(item, now)
                found.files += 1
            except InputError as problem:
                if len(parts) == 1:
                    raise InputError(f"{part.name}: {problem.message}", hint=problem.hint) from None
                found.rejected += 1
                found.bad.append((0, f"{part.name}: {problem.message}"))
    return found


def read_text(origin: Origin) -> str:
    """Read a whole file (``-``: standard input) in any encoding."""
    with open_text(origin) as feed:
        return "".join(feed.pieces())


def write(
    target: Path,
    items: Iterable[ExportedRecord | ExportedEdge | Record],
    format: ExportFormat = "jsonl",
    *,
    header: Meta = NO_META,
    net: EntityNet | None = None,
) -> int:
    """Write an export and return the number of records.

    ``markdown`` and ``obsidian``: a folder; else a file that appears only when it is complete.
    ``header``: JSON values for the first line of the JSONL. ``net``: entities for ``obsidian``.
    InputError: the place cannot be written.
    """
    try:
        match format:
            case "markdown":
                target.mkdir(parents=True, exist_ok=True)  # also of no memories
                return markdown_export.write(target, items)
            case "obsidian":
                return obsidian_vault.write(target, map(_get_record, items), net or EntityNet())
            case "jsonl":
                return _write_lines(
                    target,
                    (
                        (line, line.startswith('{"record":'))
                        for line in engrams_jsonl.to_lines(items, header)
                    ),
                )
            case "csv":
                return _write_lines(target, statement_export.to_csv(map(_get_record, items)))
            case "mem0":
                return _write_lines(target, statement_export.to_mem0(map(_get_record, items)))
            case "langgraph":
                return _write_lines(target, statement_export.to_langgraph(map(_get_record, items)))
            case "letta":
                return _write_lines(target, statement_export.to_letta(map(_get_record, items)))
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


def _get_record(item: ExportedRecord | ExportedEdge | Record) -> Record:
    match item:
        case ExportedRecord():
            return item.record
        case Record():
            return item
        case _:
            raise InputError("An edge has no place in this export.", hint="Use --format jsonl.")


def _write_lines(target: Path, lines: Iterable[tuple[str, int]]) -> int:
    """Write lines, each with its number of records; return how many records."""
    records = 0
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for line, held in lines:
                records += held
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except (OSError, EngramsError):
        part.unlink(missing_ok=True)
        raise
    return records


def _file_name(origin: Origin) -> str:
    return str(origin if isinstance(origin, str | Path) else getattr(origin, "name", ""))


def _is_by_line(head: str) -> bool:
    """Tell one object per line from a single object."""
    return bool(re.match(r'\s*\{[^\n]*"type"[^\n]*\}[ \t\r]*(?:\n|$)', head))
