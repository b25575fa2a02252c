"""Read Claude exports: conversations with their messages in order, and its memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, Role, Turn
from engrams.transfer.formats.field_parsers import (
    clean_label,
    derive_id,
    first_filled,
    parse_moment,
    scope_label,
)
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.plain_text import strip_prefix
from engrams.transfer.formats.source_objects import place_in

_HEADING = re.compile(r"\*\*([^*\n]{1,100})\*\*:?|#{1,6}\s+([^\n]{1,100})")


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield messages, without thinking and tool calls, and its memory."""
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
        elif isinstance(value[1], dict) and "conversations_memory" in value[1]:
            yield from _read_memory(value[1])
        elif not isinstance(value[1], dict) or not isinstance(value[1].get("chat_messages"), list):
            yield UnreadablePiece(value[0], "A conversation with chat_messages was expected.")
        else:
            yield from _read_conversation(value[0], value[1])


def _read_memory(held: Mapping[str, Any]) -> Iterator[ParsedTurn]:
    """Yield a memory line by line, each project's in its scope."""
    projects = held.get("project_memories")
    texts = {
        "": held.get("conversations_memory"),
        **(projects if isinstance(projects, dict) else {}),
    }
    for project, text in texts.items():
        heading = ""
        for paragraph in re.split(r"\n\s*\n", text) if isinstance(text, str) else ():
            if found := _HEADING.fullmatch(paragraph.strip()):
                heading = found[1] or found[2]
                continue
            for line in paragraph.splitlines():
                if kept := strip_prefix(line):
                    meta = {"heading": heading} if heading else {}
                    yield ParsedTurn(
                        Turn(
                            kept,
                            external_id=derive_id("claude memory", project, heading, kept),
                            meta=meta,
                        ),
                        "",
                        Kind.NOTE,
                        place_in(project=project),
                    )


def _read_conversation(
    line: int, talk: Mapping[str, Any]
) -> Iterator[ParsedTurn | UnreadablePiece]:
    name = scope_label(first_filled(talk, "uuid", "id")) or derive_id(
        talk.get("name"), talk.get("created_at")
    )
    meta = {"title": title} if (title := clean_label(talk.get("name"))) else {}
    for place, message in enumerate(_current_branch(talk)):
        if not isinstance(message, dict) or message.get("sender") not in ("human", "assistant"):
            yield UnreadablePiece(line, f"Message {place + 1} of {name} has no sender.")
            continue
        text = _message_text(message)
        caption = _message_caption(message)
        if not (text or caption):
            continue
        try:
            at = parse_moment(
                first_filled(message, "created_at", "updated_at") or talk.get("created_at")
            )
        except ValueError as problem:
            yield UnreadablePiece(line, f"A message of {name} was left out: {problem}.")
            continue
        source = clean_label(message.get("uuid")) or derive_id(name, place, text)
        role: Role = "user" if message["sender"] == "human" else "assistant"
        yield ParsedTurn(
            Turn(
                text=text or caption,
                role=role,
                speaker="",
                at=at,
                session=name,
                external_id=source,
                caption=caption if text else "",
                meta=meta,
            ),
            name,
        )


def _current_branch(talk: Mapping[str, Any]) -> list[Any]:
    """List the messages of the current branch, or all of them."""
    messages: list[Any] = talk["chat_messages"]
    leaf = talk.get("current_leaf_message_uuid")
    nodes = {
        message["uuid"]: message
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("uuid"), str)
    }
    if not isinstance(leaf, str) or leaf not in nodes:
        return messages
    branch = []
    while isinstance(leaf, str) and leaf in nodes:
        message = nodes.pop(leaf)
        branch.append(message)
        leaf = message.get("parent_message_uuid")
    return branch[::-1]


def _message_text(message: Mapping[str, Any]) -> str:
    blocks = message.get("content")
    held = blocks if isinstance(blocks, list) else []
    said = [
        block.get("text")
        for block in held
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    whole = "\n\n".join(text.strip() for text in said if isinstance(text, str) and text.strip())
    flat = message.get("text")
    return whole or (flat.strip() if isinstance(flat, str) else "")


def _message_caption(message: Mapping[str, Any]) -> str:
    lists = [
        held
        for name in ("attachments", "files", "files_v2")
        if isinstance(held := message.get(name), list)
    ]
    names = [
        clean_label(file.get("file_name"))
        for files in lists
        for file in files
        if isinstance(file, dict)
    ]
    return ", ".join(dict.fromkeys(name for name in names if name))
