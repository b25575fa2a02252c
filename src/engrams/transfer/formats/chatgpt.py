"""ChatGPT's data export: conversations as trees of messages, and saved memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, Role, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import ForeignObject, convert, make_statement
from engrams.transfer.formats.foreign_values import (
    clean_label,
    derive_id,
    first_filled,
    parse_moment,
    scope_label,
)
from engrams.transfer.formats.pieces import ForeignPiece, JsonElement, ParsedTurn, UnreadablePiece

_TEXT_TYPES = frozenset({"text", "multimodal_text"})
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201|【\\d{1,4}†[^】]{0,300}】")


def recognises(head: FileHead) -> bool:
    """Recognise conversations by their mapping, memories by their switch."""
    shape = head.shape
    is_conversation = "mapping" in shape.keys and shape.has_object("mapping")
    return is_conversation or {"content", "enabled"} <= shape.keys


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield messages of the current branch of each conversation, and saved memories."""
    for element in elements:
        if isinstance(element, UnreadablePiece):
            yield element
            continue
        line, data = element
        fields = data if isinstance(data, dict) else {}
        if "mapping" not in fields and isinstance(fields.get("content"), str):
            yield from convert(line, data, _parse_memory)
        elif isinstance(fields.get("mapping"), dict):
            yield from _read_conversation(line, fields)
        else:
            yield UnreadablePiece(line, "A conversation with a mapping was expected.")


def _parse_memory(memory: ForeignObject) -> ParsedTurn | None:
    """Convert a saved memory; None for one that was switched off."""
    if memory.data.get("enabled") is False:
        return None
    text = memory.text("content")
    turn = Turn(
        text,
        at=memory.moment("created_at", "create_time", "updated_at", "update_time"),
        external_id=memory.label("id") or derive_id("chatgpt memory", text),
    )
    return make_statement(turn, kind=Kind.NOTE)


def _read_conversation(line: int, talk: Mapping[str, Any]) -> Iterator[ForeignPiece]:
    name = scope_label(first_filled(talk, "conversation_id", "id")) or derive_id(
        talk.get("title"), talk.get("create_time")
    )
    title = clean_label(talk.get("title"))
    meta = {"title": title} if title else {}
    last_time = talk.get("create_time")
    for position, message in enumerate(_list_current_branch(talk)):
        role = _find_role(message)
        text = _join_content(message.get("content"))
        caption = _describe_attachments(message)
        if not role or not (text or caption):
            continue
        # A message without a time of its own was said after the one before it.
        last_time = message.get("create_time") or last_time
        try:
            at = parse_moment(last_time)
        except ValueError as problem:
            yield UnreadablePiece(line, f"A message of {name} was left out: {problem}.")
            continue
        turn = Turn(
            text=text or caption,
            role=role,
            at=at,
            session=name,
            external_id=clean_label(message.get("id")) or derive_id(name, position, text),
            caption=caption if text else "",
            meta=meta,
        )
        yield ParsedTurn(turn, name)


def _list_current_branch(talk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the messages from the root to the current (or newest) node.

    Edited questions and repeated answers are branches of the tree; one branch is on the screen.
    """
    nodes: dict[str, Any] = talk["mapping"]
    node_id = talk.get("current_node")
    if not isinstance(node_id, str) or node_id not in nodes:
        node_id = max(nodes, key=lambda name: _created_at(nodes[name]), default="")
    branch = []
    visited = set()  # a damaged tree may run in a circle
    while isinstance(node_id, str) and node_id not in visited:
        visited.add(node_id)
        node = nodes.get(node_id)
        if not isinstance(node, dict):
            break
        if isinstance(node.get("message"), dict):
            branch.append(node["message"])
        node_id = node.get("parent") or ""
    return branch[::-1]


def _created_at(node: Json) -> float:
    created = _as_dict(_as_dict(node).get("message")).get("create_time")
    return float(created) if isinstance(created, int | float) else 0.0


def _find_role(message: Mapping[str, Any]) -> Role | None:
    """Return who said a message that people see; None for tools, instructions and hidden ones."""
    role = _as_dict(message.get("author")).get("role")
    content = _as_dict(message.get("content"))
    metadata = _as_dict(message.get("metadata"))
    is_hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get(
        "is_user_system_message"
    )
    if content.get("content_type") not in _TEXT_TYPES or is_hidden:
        return None
    if message.get("recipient", "all") not in ("all", None, ""):
        return None
    if role == "user":
        return "user"
    return "assistant" if role == "assistant" else None


def _join_content(content: Json) -> str:
    texts = [
        part if isinstance(part, str) else clean_label(_as_dict(part).get("text"))
        for part in _as_list(_as_dict(content).get("parts"))
    ]
    return _CITATION.sub("", "\n".join(text for text in texts if text)).strip("\0 \t\r\n")


def _describe_attachments(message: Mapping[str, Any]) -> str:
    """Describe pictures by their prompts, and attached files by their names."""
    parts = _as_list(_as_dict(message.get("content")).get("parts"))
    words = [
        clean_label(_as_dict(_as_dict(_as_dict(part).get("metadata")).get("dalle")).get("prompt"))
        for part in parts
    ]
    words += [
        clean_label(_as_dict(file).get("name"))
        for file in _as_list(_as_dict(message.get("metadata")).get("attachments"))
    ]
    return ", ".join(word for word in words if word)


def _as_dict(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []
