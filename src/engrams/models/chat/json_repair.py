"""Find the JSON in a model's answer, among prose, broken or cut off; ``parse`` is the entry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from engrams.core import Json
from engrams.models.chat.schema_check import check

_READ_CHARS = 200_000
"""Characters of an answer that are read."""
_MAX_STARTS = 40
"""Brackets of a text at which JSON is tried."""
_MAX_DEPTH = 64
_THOUGHT = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_STRAY_END_OF_THOUGHT = re.compile(
    r"\A.*?</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE
)
"""Thoughts whose opening tag stood in the prompt."""
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_JSON_OPENING = re.compile(r"\{\s*[\"'}]|\[\s*[\"'{\[\d\]-]")
"""Opening that was meant as JSON, also with single quotes."""
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """JSON found in an answer."""

    data: Json
    how: Literal["exact", "inside", "repaired", "cut"]
    """exact: the whole answer; inside: a part of it; repaired: its syntax was mended; cut: it ended
    early, and ``data`` holds what was complete before the end, None where nothing was.
    """


class _Span(NamedTuple):
    """Sound JSON within a text."""

    length: int
    data: Json


def parse(text: str, schema: Mapping[str, Json] | None = None) -> ParsedJson | None:
    """Parse the JSON object or array in an answer; never raises.

    None: there is none. Fenced JSON goes before JSON among prose; of several, the last that
    satisfies ``schema`` (a model corrects itself downwards), else the longest. An answer that stops
    in the middle is never completed by guessing, because half a sentence would become a memory:
    only list items that were complete before the cut are returned, as ``cut``. An answer is read up
    to its 200,000th character.
    """
    whole = text[:_READ_CHARS].strip().removeprefix("\ufeff")
    is_json, data = _loads(whole)
    if is_json and isinstance(data, str):
        # Some servers answer with the JSON as a JSON string.
        is_json, data = _loads(data)
    if is_json and isinstance(data, dict | list):
        return ParsedJson(data, "exact")
    answer = strip_thoughts(whole)
    parts = [*(match[1].strip() for match in _FENCE.finditer(answer)), answer]
    fitting, longest = _find_sound(parts, schema)
    if fitting is not None:
        return ParsedJson(fitting.data, "inside")
    for part in parts:
        is_cut, data = _parse_before_cut(part)
        if is_cut:
            return ParsedJson(data, "cut")
        data = _repair(part)
        if data is not None and (
            longest is None or (schema is not None and not check(data, schema))
        ):
            return ParsedJson(data, "repaired")
    return ParsedJson(longest.data, "inside") if longest is not None else None


def strip_thoughts(text: str) -> str:
    """Remove a model's reasoning text before its answer."""
    if _THOUGHT.match(text):
        return _THOUGHT.sub("", text, count=1).strip()
    if "<think" not in text.lower() and _STRAY_END_OF_THOUGHT.match(text):
        return _STRAY_END_OF_THOUGHT.sub("", text, count=1).strip()
    return text.strip()


def _loads(text: str) -> tuple[bool, Json]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _find_sound(
    parts: Sequence[str], schema: Mapping[str, Json] | None
) -> tuple[_Span | None, _Span | None]:
    """Find the last sound JSON of the first part that satisfies the schema, and the longest."""
    longest: _Span | None = None
    for part in parts:
        spans = list(_find_spans(part))
        if schema is not None:
            fitting = [span for span in spans if not check(span.data, schema)]
            if fitting:
                return fitting[-1], longest
        best = max(spans, key=_span_length, default=None)
        if best is not None and (longest is None or best.length >= longest.length):
            longest = best
    return None, longest


def _span_length(span: _Span) -> int:
    return span.length


def _find_spans(text: str) -> Iterator[_Span]:
    """Yield the sound JSON values of a text, up to the first broken one."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_MAX_STARTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            if _JSON_OPENING.match(text, opening.start()):
                # Meant as JSON: what is well formed inside it is only a part of the answer.
                return
            position = opening.start() + 1
            continue
        yield _Span(end - opening.start(), value)
        position = end


def _parse_before_cut(text: str) -> tuple[bool, Json]:
    """Detect JSON that ends early; return its outermost list's complete items.

    The first value: the JSON ends early. The second: what is complete; None: nothing is.
    """
    opening = _JSON_OPENING.search(text)
    if opening is None:
        return False, None
    start = opening.start()
    closings: list[str] = []  # brackets that are to be closed, outermost first
    complete: tuple[int, str] | None = None  # end of the last complete item, and what closes it
    is_quoted = is_escaped = False
    for position in range(start, len(text)):
        char = text[position]
        if is_quoted:
            is_quoted = is_escaped or char != '"'
            is_escaped = char == "\\" and not is_escaped
            continue
        if char == '"':
            is_quoted = True
        elif char in _CLOSING:
            closings.append(_CLOSING[char])
            if len(closings) > _MAX_DEPTH:
                return True, None
        elif char in "}]" and (not closings or closings.pop() != char or not closings):
            return False, None  # it is closed, or its brackets are confused
        if char in "}]," and "]" not in closings[:-1]:
            complete = (position + (char != ","), "".join(reversed(closings)))
    if not closings:
        return False, None
    if complete is None:
        return True, None
    end, closing_text = complete
    return True, _loads(text[start:end] + closing_text)[1]


def _repair(text: str) -> Json | None:
    """Mend broken JSON; None: there is none, or it is nested too deeply to be tried."""
    opening = _OPENING.search(text)
    if opening is None or _nesting_depth(text) > _MAX_DEPTH:
        return None
    import json_repair

    try:
        data = json_repair.loads(text[opening.start() :])
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) else None


def _nesting_depth(text: str) -> int:
    """Bound the nesting depth: repairing thousands of brackets takes seconds."""
    return max(accumulate(1 if char in "{[" else -1 for char in text if char in "{[]}"), default=0)
