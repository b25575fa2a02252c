"""Detect a client's own requests: titles, tags, follow-up questions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engrams.surfaces.proxy.body import ChatEnvelope, text_of
from engrams.types import Json

_HEADERS = ("x-engrams-task", "x-openwebui-task", "x-task")
_CHAT_NAMES = frozenset({"", "chat", "default", "none", "null", "{{task}}"})

# Open WebUI sends its tasks as a user message made of these sections.
_SECTIONED = re.compile(r"\s*#{2,} ?task:([^#]*)", re.IGNORECASE)
_OUTPUT = re.compile(r"#{2,} ?output:|<chat_history>", re.IGNORECASE)
_PRODUCT = re.compile(
    r"\b(titles?|tags?|emoji|follow[- ]?ups?|search quer(?:y|ies)|autocomplet\w+|image (?:generation )?prompt)\b", re.IGNORECASE
)
_ORDER = re.compile(
    r"\b(generat\w+|creat\w+|writ\w+|provid\w+|suggest\w*|produc\w+|return\w*|respond\w*|come up with|summari[sz]\w+)\b[^.\n]{0,80}"
    r"\b(titles?|tags?|emoji|follow[- ]?ups?)\b",
    re.IGNORECASE,
)
_JSON = re.compile(r"\bjson\b|\{\s*\"(title|tags|emoji|follow_ups)\"", re.IGNORECASE)
_HEAD = 600


def is_client_task(headers: Mapping[str, str], envelope: ChatEnvelope) -> bool:
    """Detect a client task by header, metadata or prompt."""
    metadata = envelope.fields.get("metadata")
    named = [*(headers.get(name) for name in _HEADERS), metadata.get("task") if isinstance(metadata, dict) else None]
    if any(isinstance(name, str) and name.strip().casefold() not in _CHAT_NAMES for name in named):
        return True
    orders = [{"role": "system", "content": envelope.fields.get(name)} for name in ("instructions", "system")]
    said = [*envelope.messages, *orders]
    return any(_is_task_prompt(message, place == envelope.last_user_index) for place, message in enumerate(said))


def _is_task_prompt(message: Json, last: bool) -> bool:
    if not isinstance(message, dict):
        return False
    text = text_of(message.get("content"))
    head = text[:_HEAD]
    match message.get("role"):
        case "user" if last:
            task = _SECTIONED.match(head)
            return bool(task and _PRODUCT.search(task[1]) and _OUTPUT.search(text))
        case "system" | "developer":
            return bool(_ORDER.search(head) and _JSON.search(text))
        case _:
            return False
