"""Read Claude exports: conversations with their messages in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.formats.fieldparsers import clean_label, derive_id, first_filled, parse_moment, scope_label
from engrams.formats.parseditems import ParsedTurn, UnreadablePiece
from engrams.types import Json, Role, Turn


def read(values: Iterable[tuple[int, Json] | UnreadablePiece]) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield user and assistant messages, without thinking and tool calls."""
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
        elif not isinstance(value[1], dict) or not isinstance(value[1].get("chat_messages"), list):
            yield UnreadablePiece(value[0], "A conversation with chat_messages was expected.")
        else:
            yield from _read_conversation(value[0], value[1])


def _read_conversation(line: int, talk: Mapping[str, Any]) -> Iterator[ParsedTurn | UnreadablePiece]:
    name = scope_label(first_filled(talk, "uuid", "id")) or derive_id(talk.get("name"), talk.get("created_at"))
    meta = {"title": title} if (title := clean_label(talk.get("name"))) else {}
    for place, message in enumerate(_current_branch(talk)):
        if not isinstance(message, dict) or message.get("sender") not in ("human", "assistant"):
            yield UnreadablePiece(line, f"Message {place + 1} of {name} has no sender.")
            continue
        text, caption = _message_text(message), _message_caption(message)
        if not (text or caption):
            continue
        try:
            at = parse_moment(first_filled(message, "created_at", "updated_at") or talk.get("created_at"))
        except ValueError as problem:
            yield UnreadablePiece(line, f"A message of {name} was left out: {problem}.")
            continue
        source = clean_label(message.get("uuid")) or derive_id(name, place, text)
        role: Role = "user" if message["sender"] == "human" else "assistant"
        yield ParsedTurn(Turn(text or caption, role, "", at, name, source, caption if text else "", meta), name)


def _current_branch(talk: Mapping[str, Any]) -> list[Any]:
    """List the messages of the current branch, or all of them."""
    messages: list[Any] = talk["chat_messages"]
    leaf = talk.get("current_leaf_message_uuid")
    nodes = {message["uuid"]: message for message in messages if isinstance(message, dict) and isinstance(message.get("uuid"), str)}
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
    said = [block.get("text") for block in held if isinstance(block, dict) and block.get("type") == "text"]
    whole = "\n\n".join(text.strip() for text in said if isinstance(text, str) and text.strip())
    flat = message.get("text")
    return whole or (flat.strip() if isinstance(flat, str) else "")


def _message_caption(message: Mapping[str, Any]) -> str:
    lists = [held for name in ("attachments", "files", "files_v2") if isinstance(held := message.get(name), list)]
    names = [clean_label(file.get("file_name")) for files in lists for file in files if isinstance(file, dict)]
    return ", ".join(dict.fromkeys(name for name in names if name))
