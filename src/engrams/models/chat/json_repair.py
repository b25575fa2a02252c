"""Find the JSON in a model's answer, among prose or cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Literal

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.models.chat.schema_check import check

_LONGEST = 200_000
_STARTS = 40
_DEEPEST = 64
_THOUGHT = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_STRAY = re.compile(r"\A.*?</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_BROKEN = re.compile(r"\{\s*[\"'}]|\[\s*[\"'{\[\d\]-]")
_CLOSER = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """JSON found in an answer.

    ``how``: exact (the whole answer), inside (a part of it), repaired (its syntax was mended) or
    cut (it ended early: ``data`` holds what was complete before the end, None where nothing was).
    """

    data: Json
    how: Literal["exact", "inside", "repaired", "cut"]


def parse(text: str, schema: Mapping[str, Json] | None = None) -> ParsedJson | None:
    """Parse the JSON object or array in an answer; never raises.

    None: there is none. Fenced JSON goes before JSON among prose; of several, the last that
    satisfies ``schema`` (a model corrects itself downwards), else the longest. An answer that stops
    in the middle is never completed by guessing, because half a sentence would become a memory:
    only list items that were complete before the cut are returned, as ``cut``. An answer is read up
    to its 200,000th character.
    """
    whole = text[:_LONGEST].strip().removeprefix("\ufeff")
    found, data = _loads(whole)
    if found and isinstance(data, str):
        # Some servers answer with the JSON as a JSON string.
        found, data = _loads(data)
    if found and isinstance(data, dict | list):
        return ParsedJson(data, "exact")
    rest = strip_thoughts(whole)
    parts = [*(match[1].strip() for match in _FENCE.finditer(rest)), rest]
    longest: tuple[int, Json] | None = None
    for part in parts:
        spans = list(_find_spans(part))
        fitting = [span for span in spans if schema is not None and not check(span[1], schema)]
        if fitting:
            return ParsedJson(fitting[-1][1], "inside")
        longest = max(
            [*spans, *([longest] if longest else [])], key=lambda span: span[0], default=None
        )
    for part in parts:
        cut, data = _parse_before_cut(part)
        if cut:
            return ParsedJson(data, "cut")
        data = _repair(part)
        if data is not None and (
            longest is None or (schema is not None and not check(data, schema))
        ):
            return ParsedJson(data, "repaired")
    return ParsedJson(longest[1], "inside") if longest is not None else None


def strip_thoughts(text: str) -> str:
    """Remove a model's reasoning text before its answer."""
    if _THOUGHT.match(text):
        return _THOUGHT.sub("", text, count=1).strip()
    if "<think" not in text.lower() and _STRAY.match(text):
        return _STRAY.sub("", text, count=1).strip()
    return text.strip()


def _loads(text: str) -> tuple[bool, Json]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _find_spans(text: str) -> Iterator[tuple[int, Json]]:
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(_STARTS):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            if _BROKEN.match(text, opening.start()):
                # Meant as JSON: what is well formed inside it is only a part of the answer.
                return
            at = opening.start() + 1
            continue
        yield end - opening.start(), value
        at = end


def _parse_before_cut(text: str) -> tuple[bool, Json]:
    """Detect JSON that ends early; return its outermost list's complete items."""
    first = _BROKEN.search(text)
    stack: list[str] = []
    kept: tuple[int, str] | None = None
    quoted = escaped = False
    for place in range(first.start() if first else len(text), len(text)):
        char = text[place]
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
            continue
        if char == '"':
            quoted = True
        elif char in _CLOSER:
            stack.append(_CLOSER[char])
            if len(stack) > _DEEPEST:
                return True, None
        elif char in "}]" and (not stack or stack.pop() != char or not stack):
            return False, None
        if char in "}]," and "]" not in stack[:-1]:
            kept = (place + (char != ","), "".join(reversed(stack)))
    if not stack:
        return False, None
    if kept is None or first is None:
        return True, None
    return True, _loads(text[first.start() : kept[0]] + kept[1])[1]


def _repair(text: str) -> Json | None:
    start = _OPENING.search(text)
    if start is None or _nesting_depth(text) > _DEEPEST:
        return None
    import json_repair

    try:
        data = json_repair.loads(text[start.start() :])
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) else None


def _nesting_depth(text: str) -> int:
    """Bound the nesting depth: repairing thousands of brackets takes seconds."""
    return max(accumulate(1 if char in "{[" else -1 for char in text if char in "{[]}"), default=0)
