"""Changes of JSON text that leave everything else as it is written.

Texts are valid JSON; ``at`` is the offset of a container's opening bracket.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """Offsets of one member of an object or array."""

    key: str
    """Empty for a member of an array."""
    start: int
    value: int
    """Offset at which its value starts."""
    end: int


def find_members(text: str, at: int) -> tuple[list[JsonMember], int]:
    """Find the members of an object or array, and its closing bracket."""
    closing = "}" if text[at] == "{" else "]"
    members = list[JsonMember]()
    at = _skip(text, at + 1)
    while text[at] != closing:
        start = at
        key = ""
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value = at
        (_, at) = _DECODER.raw_decode(text, at)
        members.append(JsonMember(key, start, value, at))
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return members, at


def locate_value(text: str, *path: str) -> int | None:
    """Return the offset of the value under these keys, or None."""
    at: int | None = _skip(text, 0)
    for key in path:
        members = find_members(text, at)[0] if at is not None else []
        at = next((member.value for member in members if member.key == key), None)
    return at


def append_member(text: str, at: int, value: Any, key: str = "", depth: int = 1) -> str:
    """Append a member to a container, indented as the text is."""
    members, close = find_members(text, at)
    indented = _INDENT.search(text)
    indent = indented[1] if indented else "  "
    line = "\r\n" if "\r\n" in text else "\n"
    rendered = json.dumps(value, indent=indent, ensure_ascii=False).replace(
        "\n", line + depth * indent
    )
    piece = f"{line}{depth * indent}{json.dumps(key) + ': ' if key else ''}{rendered}"
    if members:
        return f"{text[: members[-1].end]},{piece}{text[members[-1].end :]}"
    return f"{text[: at + 1]}{piece}{line}{(depth - 1) * indent}{text[close:]}"


def remove_member(text: str, at: int, index: int) -> str:
    """Remove the member with this index, with the comma before it."""
    members, close = find_members(text, at)
    if len(members) == 1:
        return text[: at + 1] + text[close:]
    if index == 0:
        return text[: members[0].start] + text[members[1].start :]
    return text[: members[index - 1].end] + text[members[index].end :]


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
