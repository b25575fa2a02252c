"""Removal of what clients and tools add to a message."""

from __future__ import annotations

import re

from engrams.text.late_patterns import late_pattern

_TAG = late_pattern(
    r"<(/?)(system[-_]reminder|reminder|environment_details|env|context|recalled|memory|memories|thinking|tool_results?|tool_calls?|tool_use"
    r"|function_results|function_calls|local-command-\w{1,30}|command-\w{1,30}|ide_\w{1,30}|(?:uploaded_|attached_|opened_|current_)files?"
    r"|files?|(?:final_)?file_contents?|documents?|attachments?)\b[^<>]{0,200}>",
    re.IGNORECASE,
)
# Tags whose content is noise up to the end of the text if the closing tag is missing.
_CUT = frozenset(
    (
        "system-reminder",
        "system_reminder",
        "tool_result",
        "tool_results",
        "function_results",
        "environment_details",
    )
)
_CODE = late_pattern(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LINE = late_pattern(
    r"^[ \t]*(?:\[(?:tool|function)[ _-](?:result|output|call|use)s?\b.*|(?:tool|function)["
    r" _-](?:result|output|call|use)s?[ \t]*:.*"
    r"|\[system[ _]reminder.*|(?:stdout|stderr)[ \t]*:.*|\[request"
    r" interrupted.*|\[image\b[^\]\n]*\][ \t]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BLANKS = late_pattern(r"\n{3,}")


def remove_system_texts(text: str) -> str:
    """Remove reminders, tool calls, tool results, dumped files and quoted contexts.

    Empty where the user said nothing of their own. Tags that a message quotes as code stay, apart
    from reminders and results of tools.
    """
    cleaned = _LINE.sub("", _strip_tags(text) if "<" in text else text)
    return text.strip() if cleaned == text else _BLANKS.sub("\n\n", cleaned).strip()


def _strip_tags(text: str) -> str:
    tags = [(m.start(), m.end(), bool(m[1]), m[2].lower()) for m in _TAG.finditer(text)]
    if not tags:
        return text
    last_closing = {name: start for start, _, closing, name in tags if closing}
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text else []
    pieces: list[str] = []
    kept_until = 0
    open_tag = ""
    for start, end, closing, name in tags:
        if open_tag:
            if closing and name == open_tag:
                kept_until = end
                open_tag = ""
            continue
        while code and code[0][1] <= start:
            code.pop(0)
        if not closing and (
            name in _CUT
            or (last_closing.get(name, -1) > start and not (code and code[0][0] < start))
        ):
            pieces.append(text[kept_until:start])
            open_tag = name
    return "".join(pieces) if open_tag else "".join((*pieces, text[kept_until:]))
