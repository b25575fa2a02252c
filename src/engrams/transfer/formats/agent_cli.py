"""agent-cli: the memory of its chat proxy, one Markdown file a memory.

Each file below ``entries/CONVERSATION/`` has front matter with ``id``, ``role``, ``conversation_id`` and
``created_at``; its body is the text. Files below a folder ``deleted`` are tombstones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

import yaml

from engrams.core import Kind, StatedFields, Turn
from engrams.transfer.formats.decode import DecodedTextReader
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import ForeignObject, convert, make_statement
from engrams.transfer.formats.foreign_values import scope_label
from engrams.transfer.formats.pieces import ForeignPiece, ParsedTurn, UnreadablePiece

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<front>.*?\n)---[ \t]*(?:\n|$)", re.DOTALL)
_KEYS = {"id", "role", "conversation_id", "created_at"}
_KEY = re.compile(r"^(\w+):", re.MULTILINE)
_TOMBSTONES = "deleted"
"""Folder of what was deleted or replaced."""
_EVERYWHERE = "global"
"""Conversation whose memories belong to all conversations."""
_KINDS = {"memory": Kind.FACT, "summary": Kind.NOTE}
"""Role to kind; other roles are those of messages."""


def recognises(head: FileHead) -> bool:
    """Recognise a memory by the keys of its front matter, in a file of Markdown or unnamed."""
    if head.has_name and not head.has_suffix(".md", ".markdown"):
        return False
    matter = _FRONT_MATTER.match(head.text)
    return matter is not None and set(_KEY.findall(matter["front"])) >= _KEYS


def read(text: DecodedTextReader) -> Iterator[ForeignPiece]:
    """Yield the memory of a file; a deleted one yields nothing, a replaced one is history."""
    content = "".join(text.chunks()).lstrip("\ufeff")
    matter = _FRONT_MATTER.match(content)
    if matter is None:
        yield UnreadablePiece(1, "A memory with front matter was expected.", broken=True)
        return
    try:
        values = yaml.load(matter["front"], yaml.BaseLoader)  # noqa: S506 - makes nothing but text, lists and mappings
    except yaml.YAMLError:
        yield UnreadablePiece(1, "The front matter is not YAML.", broken=True)
        return
    is_deleted = _TOMBSTONES in PurePath(text.name).parts

    def parse(entry: ForeignObject) -> ParsedTurn | None:
        return _parse_entry(entry, content[matter.end() :].strip(), is_deleted=is_deleted)

    yield from convert(1, values, parse)


def _parse_entry(entry: ForeignObject, text: str, *, is_deleted: bool) -> ParsedTurn | None:
    """Convert a memory; None: it was deleted. ValueError: it has no text or id, or an odd time."""
    is_replaced = bool(entry.label("replaced_by"))
    if is_deleted and not is_replaced:
        return None
    entry_id = entry.label("id")
    if not entry_id:
        raise ValueError("it has no id")
    role = entry.label("role").lower()
    conversation = scope_label(entry.label("conversation_id"))
    said_at = entry.moment("created_at")
    turn = Turn(
        text,
        "assistant" if role == "assistant" else "user",
        at=said_at,
        external_id=entry_id,
        meta=entry.pick("summary_kind", "replaced_by"),
        stated=StatedFields(retired_at=said_at if is_replaced else None),
    )
    piece = make_statement(turn, kind=_KINDS.get(role, Kind.TURN))
    return replace(piece, conversation="" if conversation == _EVERYWHERE else conversation)
