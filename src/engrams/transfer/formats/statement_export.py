"""Write memories for programs: tables, mem0, LangGraph, Letta's agent files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from engrams.core import Json, Kind, Record, Scope

STATEMENTS = frozenset(
    {
        Kind.FACT,
        Kind.PREFERENCE,
        Kind.PROCEDURE,
        Kind.CORRECTION,
        Kind.NEGATIVE,
        Kind.RULE,
        Kind.NOTE,
    }
)
"""Kinds that say something by themselves; the others are messages, and accounts of them."""

COLUMNS = (
    "id", "at", "kind", "status", "text", "role", "speaker", "session", "subject", "predicate", "object", "category", "tags", "valid_from",
    "valid_to", "importance", "confidence", "scope",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of a cell that a spreadsheet would carry out."""
_MEM0_LABELS = {
    "user": "user_id",
    "agent": "agent_id",
    "project": "app_id",
    "conversation": "run_id",
}
_BLOCK_CHARS = 20_000
_IN_CONTEXT = 20
_BLOCKS = {
    "human": (
        "What is known about the person and their world.",
        frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION, Kind.NOTE}),
    ),
    "rules": ("Standing rules, and what never to do.", frozenset({Kind.RULE, Kind.NEGATIVE})),
    "procedures": ("How things are done.", frozenset({Kind.PROCEDURE})),
}
_SYSTEM = "You are a helpful agent. Your memory blocks hold what is known; keep them up to date."


def to_csv(records: Iterable[Record]) -> Iterator[tuple[str, int]]:
    """Yield a table's lines, each with the number of memories in it.

    A cell that a spreadsheet would take for a formula begins with an apostrophe, which the import
    takes off.
    """
    yield _format_row(COLUMNS), 0
    for one in records:
        held = {name: getattr(one, name, "") for name in COLUMNS} | {
            "at": one.recorded_at,
            "scope": one.scope.key,
            "tags": "; ".join(one.tags),
        }
        yield _format_row([_to_cell(held[name]) for name in COLUMNS]), 1


def to_mem0(records: Iterable[Record]) -> Iterator[tuple[str, int]]:
    """Yield the lines of what mem0's ``get_all`` answers: statements, no messages."""
    lead = '{"results": [\n'
    for one in records:
        if one.kind not in STATEMENTS:
            continue
        labels = dict(zip(one.scope.labels[::2], one.scope.labels[1::2], strict=False)) or {
            "user": one.scope.labels[0]
        }
        ids = {_MEM0_LABELS[name]: value for name, value in labels.items() if name in _MEM0_LABELS}
        memory = {
            "id": one.id,
            "memory": one.text,
            "hash": one.hash,
            **ids,
            "metadata": {**one.meta, "kind": one.kind.value},
            "categories": list(one.tags),
            "created_at": _iso(one.recorded_at),
            "updated_at": _iso(one.recorded_at),
            "expiration_date": (
                str((one.valid_to - timedelta(days=1)).date()) if one.valid_to else None
            ),
        }
        yield lead + _to_json(memory), 1
        lead = ",\n"
    yield ("" if lead == ",\n" else lead) + "\n]}\n", 0


def to_langgraph(records: Iterable[Record]) -> Iterator[tuple[str, int]]:
    """Yield items as ``Item.dict()`` gives them, a line each:
    ``store.put(tuple(namespace), key, value)``.
    """
    for one in records:
        value: dict[str, Json] = {"content": one.text, "kind": one.kind.value}
        for name in ("role", "speaker", "session", "subject", "predicate", "object", "category"):
            value |= {name: held} if (held := getattr(one, name)) else {}
        value |= {"tags": list(one.tags)} if one.tags else {}
        value |= {
            name: _iso(at) for name in ("valid_from", "valid_to") if (at := getattr(one, name))
        }
        at = _iso(one.recorded_at)
        yield (
            _to_json(
                {
                    "namespace": to_namespace(one.scope),
                    "key": one.id,
                    "value": value,
                    "created_at": at,
                    "updated_at": at,
                }
            )
            + "\n",
            1,
        )


def to_namespace(scope: Scope) -> list[str]:
    """Return a scope as a namespace; no label holds a dot."""
    return ["memories", *(label.replace(".", "_") for label in scope.labels[1::2] or scope.labels)]


def to_letta(records: Iterable[Record]) -> Iterator[tuple[str, int]]:
    """Yield an agent file: statements in memory blocks, and messages."""
    texts: dict[str, list[str]] = {name: [] for name in _BLOCKS}
    messages: list[dict[str, Any]] = [_to_message(0, "system", _SYSTEM, None)]
    count = 0
    for one in records:
        block = next((name for name, (_, kinds) in _BLOCKS.items() if one.kind in kinds), "")
        if block:
            texts[block].append("- " + " ".join(one.text.split()))
        elif one.kind is Kind.TURN and one.role in ("user", "assistant"):
            messages.append(_to_message(len(messages), one.role, one.text, one.recorded_at))
        else:
            continue
        count += 1
    parts = (block for name, lines in texts.items() for block in _to_blocks(name, lines))
    blocks = [{"id": f"block-{number}", **block} for number, block in enumerate(parts)]
    ids = [message["id"] for message in messages]
    agent = {
        "id": "agent-0",
        "name": "engrams",
        "agent_type": "letta_v1_agent",
        "system": _SYSTEM,
        "description": "Memory exported from engrams",
        "block_ids": [block["id"] for block in blocks],
        "messages": messages,
        "in_context_message_ids": [ids[0], *ids[1:][-_IN_CONTEXT:]],
    }
    lists: dict[str, Json] = {
        name: [] for name in ("groups", "files", "sources", "tools", "mcp_servers", "skills")
    }
    yield (
        _to_json({"agents": [agent], "blocks": blocks, **lists, "metadata": {"source": "engrams"}})
        + "\n",
        count,
    )


def _to_blocks(name: str, lines: list[str]) -> Iterator[dict[str, Json]]:
    """Yield the blocks of one name, each within its limit."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if parts[-1] and sum(map(len, parts[-1])) + len(parts[-1]) + len(line) > _BLOCK_CHARS:
            parts.append([])
        parts[-1].append(line)
    for number, part in enumerate(parts, 1):
        value = "\n".join(part)
        if value or name == "human":
            label = name if number == 1 else f"{name}_{number}"
            yield {
                "label": label,
                "value": value,
                "limit": max(_BLOCK_CHARS, len(value)),
                "description": _BLOCKS[name][0],
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
    return {**message, "created_at": _iso(at)} if at else message


def _to_cell(value: Any) -> str:
    if isinstance(value, datetime):
        text = _iso(value)
    elif value is None:
        text = ""
    else:
        text = str(value)
    return f"'{text}" if is_guarded(f"'{text}") else text


def is_guarded(cell: str) -> bool:
    """Tell a cell that begins with an apostrophe put before a formula."""
    return cell.startswith("'") and cell.lstrip("'").startswith(FORMULA)


def _format_row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _iso(at: datetime) -> str:
    return at.isoformat()


def _to_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, default=str)
