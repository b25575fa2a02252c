"""Files of memories: recognised, read piece by piece, and written.

``detect`` recognises a file by its contents, ``read`` yields its pieces in the same order each time,
``open_files`` lists the files of a folder or zip, ``write`` writes an export. A malformed piece
becomes an ``UnreadablePiece`` and reading goes on; a list of any length is read without holding it
in memory.

To add a format: a module with a generator ``read`` and a test ``recognises``, its name in ``Format``,
and a line in ``_FORMATS``. To add an export: a line in ``writers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from engrams.errors import InputError
from engrams.transfer.formats import (
    agent_cli,
    basic_memory,
    chatgpt,
    claude,
    cognee,
    csv_table,
    engrams_jsonl,
    hindsight,
    honcho,
    jcode,
    json_messages,
    langgraph,
    letta,
    locomo,
    mcp_graph,
    mem0,
    plain_text,
    sqlite_stores,
    supermemory,
    telegram,
    zep,
)
from engrams.transfer.formats.decode import DecodedTextReader, open_text
from engrams.transfer.formats.engrams_jsonl import record_from_json, record_to_json
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_values import derive_id
from engrams.transfer.formats.import_files import iter_folder, open_files
from engrams.transfer.formats.import_sources import STDIN, ImportFile, ImportSource, describe_source
from engrams.transfer.formats.json_stream import read_elements, read_members
from engrams.transfer.formats.obsidian_vault import is_vault
from engrams.transfer.formats.pieces import (
    ExportedEdge,
    ExportedRecord,
    ForeignLink,
    JsonElement,
    ParsedTurn,
    Piece,
    TextLine,
    UnreadablePiece,
)
from engrams.transfer.formats.plain_text import parse_memories
from engrams.transfer.formats.writers import EXPORT_FORMATS, FOLDERS, ExportFormat, write

__all__ = [
    "EXPORT_FORMATS",
    "FOLDERS",
    "FORMATS",
    "STDIN",
    "ExportFormat",
    "ExportedEdge",
    "ExportedRecord",
    "ForeignLink",
    "Format",
    "ImportFile",
    "ParsedTurn",
    "Piece",
    "UnreadablePiece",
    "derive_id",
    "detect",
    "is_vault",
    "iter_folder",
    "open_files",
    "parse_memories",
    "read",
    "read_text",
    "record_from_json",
    "record_to_json",
    "write",
]

Format: TypeAlias = Literal[
    "engrams", "turns", "json", "lines", "csv", "chatgpt", "claude", "locomo", "mem0", "mcp", "zep", "letta", "cognee", "hindsight",
    "honcho", "supermemory", "memvara", "basic_memory", "langgraph", "telegram", "jcode",
    "agent_cli",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
"""Names of the formats, as the command line and the API take them."""


class _TextFormat(NamedTuple):
    """One format of text files."""

    read: Callable[[DecodedTextReader], Iterator[Piece]]
    recognises: Callable[[FileHead], bool]


def _by_line(
    read_lines: Callable[[Iterable[TextLine]], Iterator[Piece]],
) -> Callable[[DecodedTextReader], Iterator[Piece]]:
    return lambda text: read_lines(text.lines())


def _by_element(
    read_elements_of: Callable[[Iterable[JsonElement]], Iterator[Piece]], key: str = ""
) -> Callable[[DecodedTextReader], Iterator[Piece]]:
    """Read the elements of a JSON list, or those of the list ``key`` of a JSON object."""
    return lambda text: read_elements_of(read_elements(text.chunks(), key))


def _read_telegram(text: DecodedTextReader) -> Iterator[Piece]:
    return telegram.read(read_members(text.chunks(), *telegram.MESSAGE_LISTS))


_FORMATS: Mapping[Format, _TextFormat] = {
    "csv": _TextFormat(_by_line(csv_table.read), csv_table.recognises),
    "agent_cli": _TextFormat(agent_cli.read, agent_cli.recognises),
    "basic_memory": _TextFormat(_by_line(basic_memory.read), basic_memory.recognises),
    "engrams": _TextFormat(_by_line(engrams_jsonl.read), engrams_jsonl.recognises),
    "chatgpt": _TextFormat(_by_element(chatgpt.read), chatgpt.recognises),
    "claude": _TextFormat(_by_element(claude.read), claude.recognises),
    "jcode": _TextFormat(jcode.read, jcode.recognises),
    "langgraph": _TextFormat(_by_element(langgraph.read), langgraph.recognises),
    "telegram": _TextFormat(_read_telegram, telegram.recognises),
    "letta": _TextFormat(_by_element(letta.read), letta.recognises),
    "cognee": _TextFormat(_by_element(cognee.read), cognee.recognises),
    "hindsight": _TextFormat(_by_element(hindsight.read), hindsight.recognises),
    "honcho": _TextFormat(_by_element(honcho.read), honcho.recognises),
    "supermemory": _TextFormat(_by_element(supermemory.read), supermemory.recognises),
    "zep": _TextFormat(_by_element(zep.read), zep.recognises),
    "locomo": _TextFormat(_by_element(locomo.read, "conversations"), locomo.recognises),
    "mcp": _TextFormat(mcp_graph.read_text, mcp_graph.recognises),
    "mem0": _TextFormat(_by_element(mem0.read, "results"), mem0.recognises),
    "turns": _TextFormat(_by_line(json_messages.read_lines), json_messages.recognises_lines),
    "json": _TextFormat(_by_element(json_messages.read, "memories"), json_messages.recognises),
    "lines": _TextFormat(_by_line(plain_text.read), lambda _: True),
}
"""Formats of text files, in the order in which they are tried.

Those with keys that no other has stand before those that any JSON may look like; plain text takes
what is left. Databases are told apart by ``sqlite_stores``.
"""


def detect(source: ImportSource, name: str = "") -> Format:
    """Detect the format of a file by its contents.

    ``name``: the file's name, if ``source`` is a stream without one. A CSV table is recognised only by
    its name.
    InputError: it cannot be read.
    """
    if sqlite_stores.is_database(source):
        return sqlite_stores.detect(source)
    with open_text(source) as text:
        return _recognise(text, name or describe_source(source))


def read(source: ImportSource, format: str = "auto") -> Iterator[Piece]:
    """Yield the pieces of a file or open stream, in order.

    ``source``: a path (``-``: standard input), or a stream of bytes or text. ``format``: auto, or
    one of FORMATS. InputError: the file cannot be read at all, or the format is unknown.
    """
    chosen = None if format == "auto" else _check_name(format)
    if sqlite_stores.is_database(source):
        detected = sqlite_stores.detect(source)
        if chosen not in (None, detected):
            raise InputError(
                f"It is a database of {detected}, not {chosen}.",
                hint=f"Give --format {detected}, or none.",
            )
        yield from sqlite_stores.read(source)
        return
    with open_text(source) as text:
        chosen = chosen or _recognise(text, describe_source(source))
        if chosen not in _FORMATS:  # a format that only databases have
            yield UnreadablePiece(1, f"A database of {chosen} was expected.", broken=True)
        else:
            yield from _FORMATS[chosen].read(text)


def read_text(source: ImportSource) -> str:
    """Read a whole file (``-``: standard input) in any encoding."""
    with open_text(source) as text:
        return "".join(text.chunks())


def _recognise(text: DecodedTextReader, name: str) -> Format:
    head = FileHead(text.head, whole=text.whole, name=name)
    return next(format for format in _FORMATS if _FORMATS[format].recognises(head))


def _check_name(name: str) -> Format:
    for format in FORMATS:
        if format == name:
            return format
    raise InputError(
        f"There is no format {name!r}.", hint=f"The formats are auto, {', '.join(FORMATS)}."
    )
