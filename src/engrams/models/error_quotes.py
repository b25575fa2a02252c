"""Quotes from the error of a model server that may be shown; ``quote_server`` is the entry.

An error often quotes the request, which is somebody's memory, or a key. So a word that the request
holds too is left out, unless it belongs to the small vocabulary of errors about requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

from engrams.core import Json

MAX_QUOTED_CHARS = 500
"""Characters of a server's error that are shown."""
_READ_BYTES = 20_000
"""Bytes of an error's body that are read."""
_QUOTED_WORDS = 4
"""Words in a row that are a quotation of the request, however common each is."""
_GAP = "…"
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[a-z\"'\\])")
"""Escapes, as in a quoted prompt: they would glue a letter to the word behind them."""
_WORD = re.compile(r"\w+")
_SECRET = re.compile(
    r"(?i:bearer|basic)\s+\S+"
    r"|\b(?:sk|pk|rk|ghp|gho|xox[a-z]|eyJ|AIza|hf|gsk|nvapi)[-_\w.]{8,}"
    r"|(?i:api[-_ ]?key|token|secret|password)[\"']?\s*[:=]\s*[\"']?[^\s\"',;}]+"
    r"|(?<=://)[^\s/@]+@"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}"
)
"""Keys by their usual beginnings, named values, logins in addresses, and long mixed words."""
_COMMON_WORDS = frozenset(
    """
    a additional all allowed an and answer any api are argument arguments array at be body but by call
    calls cannot chat choice code completion content context could default did do does e either
    empty enabled endpoint enum error error_code errors exceeded exceeds expected extra failed field
    fields follow following for format forbidden found function functions given grammar greater
    guided has have http if in input instead instruction instructions integer internal invalid is it
    item items json json_object json_schema kind key keys less length limit list literal loc
    longer may max_completion_tokens max_tokens maximum message messages minimum missing mode model
    models more msg must name no none not null number object of on one only openai option or
    parameter parameters parse permitted please post prompt properties property provided reason
    received refused repeat request requested required response response_format role roles schema
    schemas seed send sent server should status stream stream_options streaming strict string
    structured support supported supports system temperature template than that the there this to
    token tokens too tool tool_choice tools type unexpected unknown unprocessable unrecognized
    unsupported use used user using v1 valid validation value values was when while will with
    without you your
    """.split()
)
"""Words that stay although the request may hold them: they tell nothing of it."""


def quote_server(body: bytes, request_texts: Collection[str], secret: str = "") -> str:
    """Return what an error says, cut, without secrets and without the words of the request.

    ``secret``: the key that was sent. Empty: the error says nothing.
    """
    text = " ".join(_find_texts(body[:_READ_BYTES].decode("utf-8", "replace")))
    text = _TAG.sub(" ", text)
    if secret:
        text = text.replace(secret, _GAP)
    text = _mask_words(_SECRET.sub(_GAP, text), request_texts)
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTED_CHARS else text[: MAX_QUOTED_CHARS - 1] + _GAP


def _find_texts(text: str) -> Iterator[str]:
    """Find the sentences in the body of an error; a body that is no JSON is one."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        yield text
        return
    yield from _walk_texts(body, 0)


def _walk_texts(value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 6:
        for item in value[:20]:
            yield from _walk_texts(item, depth + 1)
    elif isinstance(value, Mapping) and depth < 6:
        for key in (
            "error",
            "message",
            "detail",
            "loc",
            "msg",
            "param",
            "title",
            "raw",
            "metadata",
        ):
            yield from _walk_texts(value.get(key), depth + 1)


def _mask_words(text: str, request_texts: Collection[str]) -> str:
    """Replace the words of the request by a gap; neighbouring gaps become one."""
    plain = _ESCAPE.sub(" ", text)
    request = " ".join(request_texts).casefold()
    matches = list(_WORD.finditer(plain))
    words = [match.group().casefold() for match in matches]
    quoted = _find_quoted(words, _WORD.findall(request))
    request_words = frozenset(_WORD.findall(request))
    pieces: list[str] = []
    end = 0
    was_masked = False
    for index, match in enumerate(matches):
        is_masked = index in quoted or _is_of_request(words[index], request, request_words)
        if not (is_masked and was_masked):
            pieces.append(plain[end : match.start()])
            pieces.append(_GAP if is_masked else match.group())
        was_masked = is_masked
        end = match.end()
    pieces.append(plain[end:])
    return "".join(pieces)


def _find_quoted(words: list[str], request_words: list[str]) -> frozenset[int]:
    """Find the positions of words in a row that the request holds in the same order."""
    if len(words) < _QUOTED_WORDS:
        return frozenset()
    runs = {
        tuple(request_words[start : start + _QUOTED_WORDS])
        for start in range(len(request_words) - _QUOTED_WORDS + 1)
    }
    return frozenset(
        start + offset
        for start in range(len(words) - _QUOTED_WORDS + 1)
        if tuple(words[start : start + _QUOTED_WORDS]) in runs
        for offset in range(_QUOTED_WORDS)
    )


def _is_of_request(word: str, request: str, request_words: frozenset[str]) -> bool:
    """Tell whether a word of an error may come from the request."""
    if not word.isascii():
        # Scripts without spaces: a piece of a sentence is no word of it.
        return any(word[start : start + 2] in request for start in range(max(len(word) - 1, 1)))
    if word in _COMMON_WORDS:
        return False
    # A quotation that was cut begins or ends within a word.
    return any(
        request_word.startswith(word) or request_word.endswith(word)
        for request_word in request_words
    )
