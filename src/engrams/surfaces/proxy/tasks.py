"""Requests that a chat client makes for itself (a title, tags, follow-up questions): no person said anything."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engrams.surfaces.proxy.body import Envelope, text_of
from engrams.types import Json

_HEADERS = ("x-engrams-task", "x-openwebui-task", "x-task")
_TALK = frozenset({"", "chat", "default", "none", "null", "{{task}}"})

# Open WebUI sends its chores as a user message made of these sections.
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


def is_chore(headers: Mapping[str, str], envelope: Envelope) -> bool:
    """Whether the request is a client's own errand, by its header, its metadata or its prompt."""
    metadata = envelope.fields.get("metadata")
    named = [*(headers.get(name) for name in _HEADERS), metadata.get("task") if isinstance(metadata, dict) else None]
    if any(isinstance(name, str) and name.strip().casefold() not in _TALK for name in named):
        return True
    orders = [{"role": "system", "content": envelope.fields.get(name)} for name in ("instructions", "system")]
    said = [*envelope.messages, *orders]
    return any(_reads_like_chore(message, place == envelope.last_user) for place, message in enumerate(said))


def _reads_like_chore(message: Json, last: bool) -> bool:
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
