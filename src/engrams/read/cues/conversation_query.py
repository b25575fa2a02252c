"""Search text from a conversation that a client sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engrams.core import Turn
from engrams.errors import InputError
from engrams.text.acknowledgements import is_thanks
from engrams.text.system_texts import remove_system_texts

TAIL = 4000
"""Last characters of a query that are used."""

_BLOCK_CHARS = 1200
_TURN_MESSAGES = 12
_TURN_TAIL = 8000
_MESSAGES = 'Write [{"role": "user", "content": "…"}], or the text alone.'


def extract_query(
    messages: str | Sequence[Turn | Mapping[str, Any]], tail: int = TAIL, context: int = 0
) -> str:
    """Extract the last user text, at most its last ``tail`` characters.

    Of the user's own text at most the last 4000. System reminders, tool calls and tool results are
    left out. ``context``: how many messages before it follow it, newest first, each cut to 1200
    characters, within ``tail`` in all. Messages are turns or mappings with ``role`` and ``content``
    (a text, or a list of blocks of which those with ``text`` count). Empty where no user said
    anything.
    """
    if isinstance(messages, str):
        return _take_tail(remove_system_texts(messages), tail)
    if not isinstance(messages, Iterable):
        raise InputError(
            f"A text or messages are needed, not {type(messages).__name__}.", hint=_MESSAGES
        )
    said = [
        (role, text)
        for role, text in map(_role_and_text, messages)
        if role in ("user", "assistant") and text
    ]
    place = max((index for index, (role, _) in enumerate(said) if role == "user"), default=-1)
    if place < 0:
        return ""
    lines = [_take_tail(said[place][1], min(tail, TAIL))]
    left = tail - len(lines[0])
    # Thanks end what was talked about; "go on" and "yes please" are about the messages before.
    for _, text in reversed(
        said[max(0, place - context) : place] if context > 0 and not is_thanks(lines[0]) else ()
    ):
        cut = text[:_BLOCK_CHARS]
        left -= len(cut) + 1
        if left < 0:
            break
        lines.append(cut)
    return "\n".join(lines)


def extract_turn_query(messages: str | Sequence[Turn | Mapping[str, Any]]) -> str:
    """Extract a turn's query from its last twelve messages.

    At most 8000 characters, the last user text first; of a text its last 4000.
    """
    return (
        extract_query(messages)
        if isinstance(messages, str)
        else extract_query(messages, _TURN_TAIL, _TURN_MESSAGES - 1)
    )


def _role_and_text(message: Turn | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(message, Turn):
        return message.role, remove_system_texts(message.text)
    if not isinstance(message, Mapping):
        raise InputError(
            f"A message has a role and content; {type(message).__name__} has none.", hint=_MESSAGES
        )
    content = message.get("content")
    if isinstance(content, str):
        text = content
    elif isinstance(content, Sequence):
        blocks = [
            block
            for block in content
            if isinstance(block, Mapping) and block.get("type", "text") in ("text", "input_text")
        ]
        text = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
    else:
        text = ""
    return str(message.get("role", "")), remove_system_texts(text)


def _take_tail(text: str, tail: int) -> str:
    return text[-tail:].lstrip() if len(text) > tail else text
