"""The agent's own record of a session: one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engrams.surfaces.hook.event import strip_reminders

_MAX_BYTES = 20_000_000
"""Bytes at the end of the file that are looked at."""


def read_messages(path: str) -> list[tuple[str, str]]:
    """What user and agent said, as (role, text), in order. Tools' output, side conversations and what is no text are left out.

    A file that cannot be read says nothing: the agent may not have written it yet.
    """
    try:
        file = Path(path).expanduser()
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _MAX_BYTES))
            lines = opened.read().splitlines()
    except (OSError, ValueError):
        return []
    found = (_parse_message(line) for line in lines)
    return [message for message in found if message is not None]


def _parse_message(line: bytes) -> tuple[str, str] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant") or entry.get("isSidechain") or entry.get("isMeta"):
        return None
    held = entry.get("message")
    text = strip_reminders(_content_text(held.get("content"))) if isinstance(held, dict) else ""
    return (entry["type"], text) if text else None


def _content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))
