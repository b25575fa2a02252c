"""Search text from a conversation that a client sends: its last user text leads the query.

``extract_query`` is the way in; ``extract_turn_query`` has the lengths for one turn.
"""

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
"""Characters of a message before the last one that are used."""
_TURN_MESSAGES = 12
_TURN_TAIL = 8000
_MESSAGES_HINT = 'Write [{"role": "user", "content": "…"}], or the text alone.'


def extract_query(
    messages: str | Sequence[Turn | Mapping[str, Any]], tail: int = TAIL, context: int = 0
) -> str:
    """Extract the last user text, and some of what was said before it.

    Of the user's own text at most the last 4000 characters; system reminders, tool calls and tool
    results are left out. Empty where no user said anything. ``messages``: turns, or mappings with
    ``role`` and ``content`` (a text, or a list of blocks of which those with ``text`` count).
    ``tail``: most characters in all. ``context``: number of messages before it that follow it,
    newest first, each cut to 1200 characters. InputError: messages of another form.
    """
    if isinstance(messages, str):
        return _take_tail(remove_system_texts(messages), tail)
    if not isinstance(messages, Iterable):
        raise InputError(
            f"A text or messages are needed, not {type(messages).__name__}.", hint=_MESSAGES_HINT
        )
    talk = [
        (role, text)
        for role, text in map(_role_and_text, messages)
        if role in ("user", "assistant") and text
    ]
    last_user = max((index for index, (role, _) in enumerate(talk) if role == "user"), default=-1)
    if last_user < 0:
        return ""
    lines = [_take_tail(talk[last_user][1], min(tail, TAIL))]
    # Thanks end what was talked about; "go on" and "yes please" are about the messages before.
    if context <= 0 or is_thanks(lines[0]):
        return lines[0]
    room = tail - len(lines[0])
    for _, text in reversed(talk[max(0, last_user - context) : last_user]):
        cut = text[:_BLOCK_CHARS]
        room -= len(cut) + 1
        if room < 0:
            break
        lines.append(cut)
    return "\n".join(lines)


def extract_turn_query(messages: str | Sequence[Turn | Mapping[str, Any]]) -> tuple[str, str]:
    """Extract the last user text of a turn, and the eleven messages before it, newest first.

    At most 8000 characters together; of a text its last 4000.
    """
    text = extract_query(messages)
    if isinstance(messages, str):
        return text, ""
    joined = extract_query(messages, _TURN_TAIL, _TURN_MESSAGES - 1)
    return text, joined[len(text) :].removeprefix("\n")


def _role_and_text(message: Turn | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(message, Turn):
        return message.role, remove_system_texts(message.text)
    if not isinstance(message, Mapping):
        raise InputError(
            f"A message has a role and content; {type(message).__name__} has none.",
            hint=_MESSAGES_HINT,
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
