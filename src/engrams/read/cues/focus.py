"""The text to search for, out of a conversation that a client sends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engrams.types import Turn

_TAGS = (
    "system-reminder|system_reminder|system|reminder|environment_details|env|context|memory|memories|tool_result|tool_results|tool_call|tool_use|"
    "function_results|function_calls|local-command-stdout|command-name|command-message|command-args|thinking"
)
_BLOCK = re.compile(rf"<({_TAGS})\b[^>]{{0,200}}>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_OPEN = re.compile(
    r"<(?:system-reminder|system_reminder|tool_result|function_results|environment_details)\b[^>]{0,200}>.*\Z", re.IGNORECASE | re.DOTALL
)
_LINE = re.compile(
    r"^\s*(?:\[?(?:tool|function)[ _-](?:result|output|call|use)s?\b.*|\[system[ _]reminder.*|(?:stdout|stderr)\s*:.*|\[request interrupted.*|\[image\b[^\]]*\]\s*"
    r"|caveat: the messages below.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BLANKS = re.compile(r"\n{3,}")
_BLOCK_CHARS = 1200


def focus(messages: str | Sequence[Turn | Mapping[str, Any]], tail: int = 4000, context: int = 0) -> str:
    """What a turn is about, for a search: the last user text, at most its last ``tail`` characters.

    System reminders, tool calls and tool results are left out. ``context``: how many messages before it follow it, newest
    first, each cut to 1200 characters, within ``tail`` in all. Messages are turns or mappings with ``role`` and ``content``
    (a text, or a list of blocks of which those with ``text`` count). Empty where no user said anything.
    """
    if isinstance(messages, str):
        return _last(_clean(messages), tail)
    said = [(role, text) for role, text in map(_spoken, messages) if role in ("user", "assistant") and text]
    place = max((index for index, (role, _) in enumerate(said) if role == "user"), default=-1)
    if place < 0:
        return ""
    lead = _last(said[place][1], tail)
    lines = [lead]
    left = tail - len(lead)
    for _, text in reversed(said[max(0, place - context) : place] if context > 0 else ()):
        cut = text[:_BLOCK_CHARS]
        left -= len(cut) + 1
        if left < 0:
            break
        lines.append(cut)
    return "\n".join(lines)


def _spoken(message: Turn | Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(message, Turn):
        return message.role, _clean(message.text)
    content = message.get("content")
    if isinstance(content, str):
        text = content
    elif isinstance(content, Sequence):
        blocks = [block for block in content if isinstance(block, Mapping) and block.get("type", "text") in ("text", "input_text")]
        text = "\n".join(str(block["text"]) for block in blocks if isinstance(block.get("text"), str))
    else:
        text = ""
    return str(message.get("role", "")), _clean(text)


def _clean(text: str) -> str:
    if "<" in text:
        text = _OPEN.sub("", _BLOCK.sub("", text))
    return _BLANKS.sub("\n\n", _LINE.sub("", text)).strip()


def _last(text: str, tail: int) -> str:
    return text[-tail:].lstrip() if len(text) > tail else text
