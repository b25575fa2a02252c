"""Find the fields of a request that a server's error refuses; ``find_refusal`` is the entry."""

from __future__ import annotations

import re

from engrams.errors import ModelError
from engrams.models.chat.port import (
    ChatServerRefusal,
    ChatServerRequest,
    JsonMode,
    LimitName,
    RequestField,
)

_OTHER_REASONS = frozenset({401, 402, 403, 408, 413, 429})
"""Statuses that speak of keys, credit, time, size or load, whatever words stand beside them."""
_LOAD = frozenset({502, 503, 504, 529})
"""Statuses of gateways and of load: unexplained, they say nothing of the request's form."""
_JSON_WORDS = re.compile(
    r"response_format|json_schema|json_object|\bschema|structured|grammar|guided"
)
_FORMAT_WORD = re.compile(r"\bformat\b")
_TOOL_WORDS = re.compile(r"\btool|\bfunction")
_TOO_MUCH = re.compile(r"too large|too long|too high|exceed|at most|context|maximum|greater|less")
"""Words about a number of tokens, not about the name of the parameter."""
_SYSTEM_WORDS = re.compile(
    r"system[ _]?(role|message|prompt|instruction)|developer instruction"
    r"|role[^.]{0,30}\bsystem\b|roles? must alternate|\bsystem\b[^.]{0,30}not (supported|allowed)"
)
_STREAM_WORDS = re.compile(r"\bstream")


def find_refusal(
    request: ChatServerRequest,
    changeable: frozenset[RequestField],
    status: int,
    words: str,
    error: ModelError,
) -> ChatServerRefusal | None:
    """Return the refusal of a request's form; None: the error has another reason.

    ``changeable``: fields that the protocol lets us send otherwise. ``words``: what the server
    said, without those of the request. ``error``: to raise where there is no other form.
    """
    if status < 400 or status in _OTHER_REASONS:
        return None
    fields = changeable.intersection(_find_fields(request, words.lower()))
    if fields:
        return ChatServerRefusal(error, fields)
    if status >= 500 and status not in _LOAD:
        return ChatServerRefusal(error)
    return None


def _find_fields(request: ChatServerRequest, words: str) -> list[RequestField]:
    form = request.form
    is_named: dict[RequestField, bool] = {
        RequestField.JSON: request.schema is not None and _names_json(form.json_mode, words),
        RequestField.LIMIT: _names_limit(form.limit, words),
        RequestField.TEMPERATURE: form.temperature
        and request.temperature is not None
        and "temperature" in words,
        RequestField.SYSTEM: form.system and bool(_SYSTEM_WORDS.search(words)),
        RequestField.THINK: form.think and "think" in words,
        RequestField.STREAM: not form.stream and bool(_STREAM_WORDS.search(words)),
    }
    return [request_field for request_field, is_refused in is_named.items() if is_refused]


def _names_json(mode: JsonMode, words: str) -> bool:
    if mode is JsonMode.PROMPT:
        return False
    if mode is JsonMode.TOOL:
        return bool(_TOOL_WORDS.search(words))
    return bool(_JSON_WORDS.search(words) or _FORMAT_WORD.search(words))


def _names_limit(limit: LimitName, words: str) -> bool:
    """Tell whether the name of the limit is refused, rather than its size."""
    if limit is LimitName.MAX_TOKENS and "max_completion_tokens" in words:
        return True
    return bool(limit) and str(limit) in words and not _TOO_MUCH.search(words)
