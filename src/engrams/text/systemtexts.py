"""Removal of what clients and tools add to a user's message."""

from __future__ import annotations

import re

_TAG = re.compile(
    r"<(/?)(system[-_]reminder|reminder|environment_details|env|context|memory|memories|thinking|tool_results?|tool_calls?|tool_use"
    r"|function_results|function_calls|local-command-stdout|command-(?:name|message|args))\b[^<>]{0,200}>",
    re.IGNORECASE,
)
# Tags whose content is noise up to the end of the text if the closing tag is missing.
_CUT = frozenset(("system-reminder", "system_reminder", "tool_result", "tool_results", "function_results", "environment_details"))
_LINE = re.compile(
    r"^[ \t]*(?:\[?(?:tool|function)[ _-](?:result|output|call|use)s?\b.*|\[system[ _]reminder.*|(?:stdout|stderr)[ \t]*:.*"
    r"|\[request interrupted.*|\[image\b[^\]\n]*\][ \t]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BLANKS = re.compile(r"\n{3,}")


def remove_system_texts(text: str) -> str:
    """Remove reminders, tool calls, tool results and quoted contexts.

    Empty where the user said nothing of their own."""
    return _BLANKS.sub("\n\n", _LINE.sub("", _strip_tags(text) if "<" in text else text)).strip()


def _strip_tags(text: str) -> str:
    tags = [(m.start(), m.end(), bool(m[1]), m[2].lower()) for m in _TAG.finditer(text)]
    closed = {name: at for at, _, closing, name in tags if closing}
    kept: list[str] = []
    last, inside = 0, ""
    for at, end, closing, name in tags:
        if inside:
            if closing and name == inside:
                last, inside = end, ""
        elif not closing and (closed.get(name, -1) > at or name in _CUT):
            kept.append(text[last:at])
            inside = name
    return "".join(kept) if inside else "".join((*kept, text[last:]))
