"""Claude's data export: conversations with their messages in order, and its memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import make_scope_labels
from engrams.transfer.formats.foreign_values import (
    clean_label,
    derive_id,
    first_filled,
    parse_moment,
    scope_label,
)
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece
from engrams.transfer.formats.plain_text import strip_prefix

_HEADING = re.compile(r"\*\*([^*\n]{1,100})\*\*:?|#{1,6}\s+([^\n]{1,100})")


def recognises(head: FileHead) -> bool:
    """Recognise conversations by their messages, and the memory."""
    return bool({"chat_messages", "conversations_memory"} & head.shape.keys)


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield messages, without thinking and tool calls, and the lines of Claude's memory."""
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        fields = data if isinstance(data, dict) else {}
        if "conversations_memory" in fields:
            yield from _read_memory(fields)
        elif isinstance(fields.get("chat_messages"), list):
            yield from _read_conversation(line, fields)
        else:
            yield UnreadablePiece(line, "A conversation with chat_messages was expected.")


def _read_memory(memory: Mapping[str, Any]) -> Iterator[ParsedTurn]:
    """Yield a memory line by line, each project's in its scope."""
    project_texts = memory.get("project_memories")
    texts = {
        "": memory.get("conversations_memory"),
        **(project_texts if isinstance(project_texts, dict) else {}),
    }
    for project, text in texts.items():
        for heading, line in _iter_memory_lines(text if isinstance(text, str) else ""):
            turn = Turn(
                line,
                external_id=derive_id("claude memory", project, heading, line),
                meta={"heading": heading} if heading else {},
            )
            yield ParsedTurn(turn, kind=Kind.NOTE, scope_labels=make_scope_labels(project=project))


def _iter_memory_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a memory with the heading above it."""
    heading = ""
    for paragraph in re.split(r"\n\s*\n", text):
        if match := _HEADING.fullmatch(paragraph.strip()):
            heading = match[1] or match[2]
            continue
        for line in map(strip_prefix, paragraph.splitlines()):
            if line:
                yield heading, line


def _read_conversation(line: int, talk: Mapping[str, Any]) -> Iterator[ForeignPiece]:
    name = scope_label(first_filled(talk, "uuid", "id")) or derive_id(
        talk.get("name"), talk.get("created_at")
    )
    title = clean_label(talk.get("name"))
    meta = {"title": title} if title else {}
    for position, message in enumerate(_list_current_branch(talk)):
        if not isinstance(message, dict) or message.get("sender") not in ("human", "assistant"):
            yield UnreadablePiece(line, f"Message {position + 1} of {name} has no sender.")
            continue
        text = _join_text_blocks(message)
        caption = _name_attachments(message)
        if not (text or caption):
            continue
        try:
            at = parse_moment(
                first_filled(message, "created_at", "updated_at") or talk.get("created_at")
            )
        except ValueError as problem:
            yield UnreadablePiece(line, f"A message of {name} was left out: {problem}.")
            continue
        turn = Turn(
            text=text or caption,
            role="user" if message["sender"] == "human" else "assistant",
            at=at,
            session=name,
            external_id=clean_label(message.get("uuid")) or derive_id(name, position, text),
            caption=caption if text else "",
            meta=meta,
        )
        yield ParsedTurn(turn, name)


def _list_current_branch(talk: Mapping[str, Any]) -> list[Json]:
    """List the messages of the branch on the screen; all of them where none is named."""
    messages: list[Json] = talk["chat_messages"]
    message_id = talk.get("current_leaf_message_uuid")
    nodes = {
        message["uuid"]: message
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("uuid"), str)
    }
    if not isinstance(message_id, str) or message_id not in nodes:
        return messages
    branch = []
    while isinstance(message_id, str) and message_id in nodes:
        message = nodes.pop(message_id)  # each message once, also where a damaged tree is a circle
        branch.append(message)
        message_id = message.get("parent_message_uuid")
    return branch[::-1]


def _join_text_blocks(message: Mapping[str, Any]) -> str:
    """Join a message's text blocks; older exports have its text in one field."""
    blocks = message.get("content")
    texts = [
        block.get("text")
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    joined = "\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
    if joined:
        return joined
    text = message.get("text")
    return text.strip() if isinstance(text, str) else ""


def _name_attachments(message: Mapping[str, Any]) -> str:
    lists = [message.get(name) for name in ("attachments", "files", "files_v2")]
    names = [
        clean_label(file.get("file_name"))
        for files in lists
        if isinstance(files, list)
        for file in files
        if isinstance(file, dict)
    ]
    return ", ".join(dict.fromkeys(name for name in names if name))
