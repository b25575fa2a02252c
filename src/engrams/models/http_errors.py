"""Failures that a model's server tells by HTTP, as errors; ``status_error`` is the entry."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from datetime import UTC

from engrams.core import Json
from engrams.errors import ModelError
from engrams.ports import Clock

_WORTH_WAITING = frozenset({408, 409, 423, 425, 429})
"""Statuses below 500 after which a repetition may succeed."""
_CREDIT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "access_terminated"})
_DAY = 86_400.0
_READ_BYTES = 20_000
"""Bytes of an error's body that are read."""
_CODE = re.compile(r"[A-Za-z][\w.-]{0,59}")
_HINTS = {
    301: "Give `chat.url` as the address that the server redirects to.",
    302: "Give `chat.url` as the address that the server redirects to.",
    308: "Give `chat.url` as the address that the server redirects to.",
    400: (
        "The server understood the request and will not serve it: is the text longer than the"
        " model's context?"
    ),
    401: "Check `chat.api_key`.",
    403: "The key may not use this model: check `chat.model` and the key's rights.",
    404: "Check `chat.url` and `chat.model`; a local model may have to be pulled first.",
    413: "The text is longer than the server accepts.",
    504: "It is too slow for the gateway before it: a smaller model, or more time there.",
    429: "The server limits how often it may be called; set `chat.daily_calls`, or wait.",
}


def status_error(
    name: str,
    status: int,
    headers: Mapping[str, str],
    body: Json,
    clock: Clock,
    hints: Mapping[int, str] = _HINTS,
) -> ModelError:
    """Build the error for an HTTP answer other than 200.

    It carries the server's error code; ``add_words`` adds its prose. ``headers``: names in lower
    case. ``body``: parsed JSON.
    """
    code = error_code(body)
    is_spent = code in _CREDIT_CODES
    is_retryable = (status in _WORTH_WAITING or status >= 500) and not is_spent
    return ModelError(
        f"{name} answered with status {status}{f' ({code})' if code else ''}.",
        hint="The account's credit is used up." if is_spent else hints.get(status, ""),
        retryable=is_retryable,
        retry_after=parse_retry_after(headers, clock) if is_retryable else 0.0,
    )


def add_words(error: ModelError, words: str) -> ModelError:
    """Return the error with the server's own words, as ``error_quotes.quote_server`` gives them."""
    if not words:
        return error
    return ModelError(
        f'{error.message.removesuffix(".")}: "{words}"',
        hint=error.hint,
        retryable=error.retryable,
        retry_after=error.retry_after,
    )


def error_code(body: Json) -> str:
    """Find the server's error code, such as ``context_length_exceeded``; empty: none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        for key in ("code", "type"):
            code = error.get(key)
            if isinstance(code, str) and _CODE.fullmatch(code):
                return code
    return ""


def mentions(body: bytes, *words: str) -> bool:
    """Return True where an error's body holds one of the words, in lower case."""
    text = body[:_READ_BYTES].decode("utf-8", "replace").lower()
    return any(word in text for word in words)


def parse_retry_after(headers: Mapping[str, str], clock: Clock) -> float:
    """Return the seconds a server asks to wait, at most a day; 0: it does not ask."""
    seconds = _parse_number(headers.get("retry-after-ms", ""), 1000.0)
    text = headers.get("retry-after", "")
    if seconds is None:
        seconds = _parse_number(text, 1.0)
    if seconds is None:
        try:
            until = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return 0.0
        seconds = ((until if until.tzinfo else until.replace(tzinfo=UTC)) - clock()).total_seconds()
    return min(max(seconds, 0.0), _DAY)


def _parse_number(text: str, unit: float) -> float | None:
    return float(text) / unit if re.fullmatch(r"\s*\d{1,15}(\.\d{1,9})?\s*", text) else None
