"""Read Letta's agent files and passages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engrams.core import Json, Kind, Role, StatedFields, Turn
from engrams.transfer.formats.field_parsers import clean_label, derive_id
from engrams.transfer.formats.parsed_items import ParsedTurn, UnreadablePiece
from engrams.transfer.formats.plain_text import strip_prefix
from engrams.transfer.formats.source_objects import (
    SourceObject,
    convert_all,
    make_statement,
    place_in,
    unwrap,
)

_PERSONA = "persona"
_SPEAKS = "send_message"


def read(
    values: Iterable[tuple[int, Json] | UnreadablePiece],
) -> Iterator[ParsedTurn | UnreadablePiece]:
    """Yield lines of blocks and passages as facts, and the messages.

    Instructions, tools and reasoning stay out. Each agent has a scope of its own.
    """
    for found in unwrap(values):
        if isinstance(found, UnreadablePiece):
            yield found
        elif isinstance(found.data.get("agents"), list):
            shared = {block.label("id"): block for block in found.objects("blocks")}
            for agent in found.objects("agents"):
                wanted = agent.data.get("block_ids")
                ids = [clean_label(id) for id in wanted] if isinstance(wanted, list) else []
                yield from _read_agent(agent, [shared[id] for id in ids if id in shared])
        elif {"core_memory", "agent_type", "system"} & found.data.keys():
            yield from _read_agent(found, [])
        else:
            yield from convert_all([found], lambda each: _parse_passage(each, ""), "A passage")


def _read_agent(
    agent: SourceObject, shared: list[SourceObject]
) -> Iterator[ParsedTurn | UnreadablePiece]:
    name = agent.label("name") or "agent"
    blocks = [*shared, *agent.objects("core_memory", "memory_blocks", "blocks")]
    for block in blocks:
        yield from _read_block(block, name)
    yield from convert_all(
        agent.objects("messages"), lambda each: _parse_message(each, name), "A message"
    )
    passages = agent.objects("archival_memory", "passages", "archival_passages")
    yield from convert_all(passages, lambda each: _parse_passage(each, name), "A passage")


def _read_block(block: SourceObject, agent: str) -> Iterator[ParsedTurn]:
    """Yield a block's lines; a persona's speak of the agent."""
    label = block.label("label") or "block"
    value = block.data.get("value")
    persona = label == _PERSONA
    for number, line in enumerate(value.splitlines() if isinstance(value, str) else (), 1):
        text = strip_prefix(line)
        if not text.strip("-=*#"):
            continue
        turn = Turn(
            f"{agent} (persona): {text}" if persona else text,
            "assistant" if persona else "user",
            agent if persona else "",
            external_id=derive_id("letta block", agent, label, number, text),
            meta={"block": label, **block.pick("description")},
            stated=StatedFields(tags=(label,)),
        )
        yield make_statement(turn, place=place_in(agent=agent))


def _parse_message(found: SourceObject, agent: str) -> ParsedTurn | None:
    role = found.label("role")
    if role == "assistant":
        text = _said_by_agent(found)
    elif role == "user":
        text = _said_by_user(found)
    else:
        text = ""
    if not text:
        return None
    spoken: Role = "assistant" if role == "assistant" else "user"
    at = found.moment("created_at", "date")
    id = derive_id(
        "letta message", agent, found.label("id"), found.label("created_at", "date"), text
    )
    turn = Turn(
        text=text,
        role=spoken,
        speaker=found.label("name") if spoken == "user" else "",
        at=at,
        session=f"letta {agent}",
        external_id=id,
    )
    return ParsedTurn(turn, "", Kind.TURN, place_in(agent=agent))


def _said_by_user(found: SourceObject) -> str:
    """Unpack a user's message; empty for an event of the server."""
    text = found.text("content", "text")
    wrapped = _parse_object(text)
    if "type" not in wrapped:
        return text
    return clean_label(wrapped.get("message")) if wrapped["type"] == "user_message" else ""


def _said_by_agent(found: SourceObject) -> str:
    """Return the words sent to the user.

    Older agents send them by a tool, and think in the text.
    """
    calls = [call.data.get("function") for call in found.objects("tool_calls")]
    sent = [
        _parse_object(call.get("arguments"))
        for call in calls
        if isinstance(call, Mapping) and call.get("name") == _SPEAKS
    ]
    if sent:
        return "\n".join(words for each in sent if (words := clean_label(each.get("message"))))
    return "" if calls else found.text("content", "text")


def _parse_passage(found: SourceObject, agent: str) -> ParsedTurn:
    text = found.text("text", "content")
    turn = Turn(
        text,
        at=found.moment("created_at"),
        external_id=found.label("id") or derive_id("letta passage", agent, text),
        meta=found.pick("file_name", "metadata"),
        stated=StatedFields(tags=found.labels("tags")),
    )
    return make_statement(turn, place=place_in(agent=agent))


def _parse_object(text: Json) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) and text.startswith("{") else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
