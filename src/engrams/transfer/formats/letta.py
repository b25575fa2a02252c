"""Letta: agent files (memory blocks, messages) and passages of the archival memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from engrams.core import Json, Kind, Record, Role, StatedFields, Turn
from engrams.transfer.formats.file_head import FileHead
from engrams.transfer.formats.foreign_objects import (
    ForeignObject,
    convert_all,
    make_scope_labels,
    make_statement,
    unwrap_pages,
)
from engrams.transfer.formats.foreign_values import clean_label, derive_id
from engrams.transfer.formats.pieces import (
    ExportLine,
    ForeignPiece,
    JsonElement,
    ParsedTurn,
    UnreadablePiece,
)
from engrams.transfer.formats.plain_text import strip_prefix

_PERSONA = "persona"
"""Label of the block in which an agent describes itself."""
_SPEAKING_TOOL = "send_message"
_BLOCK_CHARS = 20_000
"""Characters of one exported memory block: Letta puts all blocks into each prompt."""
_IN_CONTEXT = 20
"""Messages that an exported agent has in its context; the others are its history."""
_BLOCKS = {
    "human": (
        "What is known about the person and their world.",
        frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION, Kind.NOTE}),
    ),
    "rules": ("Standing rules, and what never to do.", frozenset({Kind.RULE, Kind.NEGATIVE})),
    "procedures": ("How things are done.", frozenset({Kind.PROCEDURE})),
}
"""Label of an exported memory block to its description and the kinds of records in it."""
_SYSTEM = "You are a helpful agent. Your memory blocks hold what is known; keep them up to date."


def recognises(head: FileHead) -> bool:
    """Recognise agent files, old and new, and lists of passages."""
    shape = head.shape
    return shape.has_rows(
        {"agent_type", "core_memory"}, {"text", "archive_id"}, {"text", "embedding_config"}
    ) or shape.has_list("agents", "blocks")


def read(elements: Iterable[JsonElement]) -> Iterator[ForeignPiece]:
    """Yield lines of blocks and passages as facts, and the messages.

    Instructions, tools and reasoning stay out. Each agent has a scope of its own.
    """
    for item in unwrap_pages(elements):
        if isinstance(item, UnreadablePiece):
            yield item
        elif isinstance(item.data.get("agents"), list):
            shared_blocks = {block.label("id"): block for block in item.objects("blocks")}
            for agent in item.objects("agents"):
                listed = agent.data.get("block_ids")
                ids = [clean_label(id) for id in listed] if isinstance(listed, list) else []
                blocks = [shared_blocks[id] for id in ids if id in shared_blocks]
                yield from _read_agent(agent, blocks)
        elif {"core_memory", "agent_type", "system"} & item.data.keys():
            yield from _read_agent(item, [])
        else:
            yield from convert_all([item], partial(_parse_passage, agent=""), "A passage")


def _read_agent(agent: ForeignObject, shared_blocks: list[ForeignObject]) -> Iterator[ForeignPiece]:
    name = agent.label("name") or "agent"
    for block in [*shared_blocks, *agent.objects("core_memory", "memory_blocks", "blocks")]:
        yield from _read_block(block, name)
    yield from convert_all(
        agent.objects("messages"), partial(_parse_message, agent=name), "A message"
    )
    passages = agent.objects("archival_memory", "passages", "archival_passages")
    yield from convert_all(passages, partial(_parse_passage, agent=name), "A passage")


def _read_block(block: ForeignObject, agent: str) -> Iterator[ParsedTurn]:
    """Yield a block's lines; those of a persona speak of the agent."""
    label = block.label("label") or "block"
    value = block.data.get("value")
    is_persona = label == _PERSONA
    for number, line in enumerate(value.splitlines() if isinstance(value, str) else (), 1):
        text = strip_prefix(line)
        if not text.strip("-=*#"):
            continue
        turn = Turn(
            text=f"{agent} (persona): {text}" if is_persona else text,
            role="assistant" if is_persona else "user",
            speaker=agent if is_persona else "",
            external_id=derive_id("letta block", agent, label, number, text),
            meta={"block": label, **block.pick("description")},
            stated=StatedFields(tags=(label,)),
        )
        yield make_statement(turn, scope_labels=make_scope_labels(agent=agent))


def _parse_message(message: ForeignObject, agent: str) -> ParsedTurn | None:
    """Convert a message of user or agent; None for those of tools and the server."""
    role: Role
    match message.label("role"):
        case "assistant":
            role = "assistant"
            text = _find_agent_text(message)
        case "user":
            role = "user"
            text = _find_user_text(message)
        case _:
            return None
    if not text:
        return None
    turn = Turn(
        text=text,
        role=role,
        speaker=message.label("name") if role == "user" else "",
        at=message.moment("created_at", "date"),
        session=f"letta {agent}",
        external_id=derive_id(
            "letta message", agent, message.label("id"), message.label("created_at", "date"), text
        ),
    )
    return ParsedTurn(turn, scope_labels=make_scope_labels(agent=agent))


def _find_user_text(message: ForeignObject) -> str:
    """Unpack a user's message; empty for an event of the server."""
    text = message.text("content", "text")
    envelope = _parse_object(text)
    if "type" not in envelope:
        return text
    return clean_label(envelope.get("message")) if envelope["type"] == "user_message" else ""


def _find_agent_text(message: ForeignObject) -> str:
    """Find the words that were sent to the user.

    Older agents send them by a tool, and think in the text.
    """
    calls = [call.data.get("function") for call in message.objects("tool_calls")]
    sent = [
        _parse_object(call.get("arguments"))
        for call in calls
        if isinstance(call, Mapping) and call.get("name") == _SPEAKING_TOOL
    ]
    if sent:
        texts = [clean_label(arguments.get("message")) for arguments in sent]
        return "\n".join(text for text in texts if text)
    return "" if calls else message.text("content", "text")


def _parse_passage(passage: ForeignObject, agent: str) -> ParsedTurn:
    text = passage.text("text", "content")
    turn = Turn(
        text,
        at=passage.moment("created_at"),
        external_id=passage.label("id") or derive_id("letta passage", agent, text),
        meta=passage.pick("file_name", "metadata"),
        stated=StatedFields(tags=passage.labels("tags")),
    )
    return make_statement(turn, scope_labels=make_scope_labels(agent=agent))


def _parse_object(text: Json) -> dict[str, Any]:
    """Parse a JSON object; empty for anything else."""
    if not isinstance(text, str) or not text.startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def to_lines(records: Iterable[Record]) -> Iterator[ExportLine]:
    """Yield an agent file: statements in memory blocks, and messages; other records stay out."""
    texts: dict[str, list[str]] = {label: [] for label in _BLOCKS}
    messages: list[dict[str, Any]] = [_to_message(0, "system", _SYSTEM, None)]
    count = 0
    for record in records:
        label = _find_block(record.kind)
        if label:
            texts[label].append("- " + " ".join(record.text.split()))
        elif record.kind is Kind.TURN and record.role in ("user", "assistant"):
            messages.append(
                _to_message(len(messages), record.role, record.text, record.recorded_at)
            )
        else:
            continue
        count += 1
    all_blocks = (block for label, lines in texts.items() for block in _to_blocks(label, lines))
    blocks = [{"id": f"block-{number}", **block} for number, block in enumerate(all_blocks)]
    message_ids = [message["id"] for message in messages]
    agent = {
        "id": "agent-0",
        "name": "engrams",
        "agent_type": "letta_v1_agent",
        "system": _SYSTEM,
        "description": "Memory exported from engrams",
        "block_ids": [block["id"] for block in blocks],
        "messages": messages,
        "in_context_message_ids": [message_ids[0], *message_ids[1:][-_IN_CONTEXT:]],
    }
    empty_lists: dict[str, Json] = {
        name: [] for name in ("groups", "files", "sources", "tools", "mcp_servers", "skills")
    }
    file = {
        "agents": [agent],
        "blocks": blocks,
        **empty_lists,
        "metadata": {"source": "engrams"},
    }
    yield json.dumps(file, default=str) + "\n", count


def _find_block(kind: Kind) -> str:
    """Return the label of the block for a kind of record; empty: there is none."""
    for label, (_, kinds) in _BLOCKS.items():
        if kind in kinds:
            return label
    return ""


def _to_blocks(label: str, lines: list[str]) -> Iterator[dict[str, Json]]:
    """Yield the blocks of one label, each within its limit; "human" also without any line."""
    chunks: list[list[str]] = [[]]
    size = 0  # characters of the last chunk, with a line end each
    for line in lines:
        if chunks[-1] and size + len(line) > _BLOCK_CHARS:
            chunks.append([])
            size = 0
        chunks[-1].append(line)
        size += len(line) + 1
    for number, chunk in enumerate(chunks, 1):
        value = "\n".join(chunk)
        if value or label == "human":
            yield {
                "label": label if number == 1 else f"{label}_{number}",
                "value": value,
                "limit": max(_BLOCK_CHARS, len(value)),
                "description": _BLOCKS[label][0],
                "metadata": {},
            }


def _to_message(number: int, role: str, text: str, at: datetime | None) -> dict[str, Any]:
    message = {
        "type": "message",
        "id": f"message-{number}",
        "role": role,
        "content": [{"type": "text", "text": text}],
        "agent_id": "agent-0",
    }
    return {**message, "created_at": at.isoformat()} if at else message
