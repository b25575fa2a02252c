"""Read ChatGPT exports: conversations as trees, and saved memories."""

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
from engrams.transfer.formats.source_objects import SourceObject, convert, make_statement

_TEXT_TYPES = frozenset({"text", "multimodal_text"})
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201|【\\d{1,4}†[^】]{0,300}】")


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield messages of the current branch, and saved memories."""
    for value in values:
        if isinstance(value, UnreadablePiece):
            yield value
        elif (
            isinstance(value[1], dict)
            and "mapping" not in value[1]
            and isinstance(value[1].get("content"), str)
        ):
            yield from convert(value[0], value[1], _parse_memory)
        elif not isinstance(value[1], dict) or not isinstance(value[1].get("mapping"), dict):
            yield UnreadablePiece(value[0], "A conversation with a mapping was expected.")
        else:
            yield from _read_conversation(value[0], value[1])


def _parse_memory(found: SourceObject) -> ParsedTurn | None:
    """A memory that was switched off is left out."""
    if found.data.get("enabled") is False:
        return None
    text = found.text("content")
    at = found.moment("created_at", "create_time", "updated_at", "update_time")
    return make_statement(
        Turn(text, at=at, external_id=found.label("id") or derive_id("chatgpt memory", text)),
        kind=Kind.NOTE,
    )


def _read_conversation(
    line: int, talk: Mapping[str, Any]
) -> Iterator[ParsedTurn | UnreadablePiece]:
    name = scope_label(first_filled(talk, "conversation_id", "id")) or derive_id(
        talk.get("title"), talk.get("create_time")
    )
    meta = {"title": title} if (title := clean_label(talk.get("title"))) else {}
    last = talk.get("create_time")
    for place, message in enumerate(_current_branch(talk)):
        role = _message_role(message)
        text = _content_text(message.get("content"))
        caption = _message_caption(message)
        if not role or not (text or caption):
            continue
        last = message.get("create_time") or last
        try:
            at = parse_moment(last)
        except ValueError as problem:
            yield UnreadablePiece(line, f"A message of {name} was left out: {problem}.")
            continue
        source = clean_label(message.get("id")) or derive_id(name, place, text)
        turn = Turn(
            text=text or caption,
            role=role,
            speaker="",
            at=at,
            session=name,
            external_id=source,
            caption=caption if text else "",
            meta=meta,
        )
        yield ParsedTurn(turn, name)


def _current_branch(talk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List messages from the root to the current (or newest) node."""
    nodes: dict[str, Any] = talk["mapping"]
    key = talk.get("current_node")
    if not isinstance(key, str) or key not in nodes:
        key = max(nodes, key=lambda name: _created_at(nodes[name]), default="")
    branch = []
    seen = set()
    while isinstance(key, str) and key not in seen and isinstance(node := nodes.get(key), dict):
        seen.add(key)
        if isinstance(node.get("message"), dict):
            branch.append(node["message"])
        key = node.get("parent") or ""
    return branch[::-1]


def _created_at(node: Json) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    born = message.get("create_time") if isinstance(message, dict) else None
    return float(born) if isinstance(born, int | float) else 0.0


def _message_role(message: Mapping[str, Any]) -> Role | None:
    author = message.get("author")
    content = message.get("content")
    extra = _as_dict(message.get("metadata"))
    role = author.get("role") if isinstance(author, dict) else None
    if (
        role not in ("user", "assistant")
        or not isinstance(content, dict)
        or content.get("content_type") not in _TEXT_TYPES
    ):
        return None
    hidden = extra.get("is_visually_hidden_from_conversation") or extra.get(
        "is_user_system_message"
    )
    if hidden or message.get("recipient", "all") not in ("all", None, ""):
        return None
    return "user" if role == "user" else "assistant"


def _content_text(content: Json) -> str:
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return ""
    texts = [
        part if isinstance(part, str) else clean_label(_as_dict(part).get("text")) for part in parts
    ]
    return _CITATION.sub("", "\n".join(text for text in texts if text)).strip("\0 \t\r\n")


def _message_caption(message: Mapping[str, Any]) -> str:
    """Describe pictures and files: the image prompt, or attachment names."""
    parts = _as_dict(message.get("content")).get("parts")
    words = [
        clean_label(_as_dict(_as_dict(_as_dict(part).get("metadata")).get("dalle")).get("prompt"))
        for part in _as_list(parts)
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
