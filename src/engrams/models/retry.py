"""Retry model calls and turn HTTP failures into errors."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from threading import Event
from typing import TypeVar

from engrams.core import Json
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.ports import Clock

_Result = TypeVar("_Result")
_WORTH_WAITING = {408, 409, 423, 425, 429}
_SPENT = {"insufficient_quota", "billing_hard_limit_reached", "access_terminated"}
_DAY = 86_400.0
_WORD = re.compile(r"[A-Za-z][\w.-]{0,59}")
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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries and bounds of the waits before them.

    ``retries``: after the first try. The n-th wait (from 0) is between half and all of
    ``first_wait`` * 2^n seconds, at most ``max_wait``, and never shorter than the server asked for.
    """

    retries: int = 3
    first_wait: float = 0.5
    max_wait: float = 30.0

    def wait_seconds(self, attempt: int, problem: ModelError) -> float:
        """Return the seconds to wait after the failed ``attempt`` (0, 1, …)."""
        longest = min(self.max_wait, self.first_wait * 2.0 ** min(attempt, 30))
        # Spread, so that workers that failed together do not come back together.
        return max(problem.retry_after, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret depends on it


def with_retries(
    call: Callable[[], _Result], retry: RetryPolicy, deadline: float, closed: Event
) -> _Result:
    """Repeat ``call`` while its ModelError is worth a wait.

    The error is raised when it is permanent, after ``retry.retries`` repetitions, once ``closed``
    is set, or at once where the next wait would pass ``deadline`` (``time.monotonic``). Setting
    ``closed`` ends a wait.
    """
    attempt = 0
    while True:
        try:
            return call()
        except ModelError as problem:
            wait = retry.wait_seconds(attempt, problem)
            if (
                not problem.retryable
                or attempt >= retry.retries
                or time.monotonic() + wait >= deadline
                or closed.is_set()
            ):
                raise
            attempt += 1
            closed.wait(wait)


def status_error(
    name: str,
    status: int,
    headers: Mapping[str, str],
    body: Json,
    clock: Clock,
    hints: Mapping[int, str] = _HINTS,
) -> ModelError:
    """Build the error for an HTTP answer other than 200.

    It carries the server's error code but none of its prose, which may quote the request, that is,
    somebody's memory.
    """
    code = error_code(body)
    detail = f" ({code})" if code else ""
    retryable = (status in _WORTH_WAITING or status >= 500) and code not in _SPENT
    return ModelError(
        f"{name} answered with status {status}{detail}.",
        hint="The account's credit is used up." if code in _SPENT else hints.get(status, ""),
        retryable=retryable,
        retry_after=parse_retry_after(headers, clock) if retryable else 0.0,
    )


def error_code(body: Json) -> str:
    """Find the server's error code, such as ``context_length_exceeded``; empty: none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        for key in ("code", "type"):
            word = error.get(key)
            if isinstance(word, str) and _WORD.fullmatch(word):
                return word
    return ""


def parse_retry_after(headers: Mapping[str, str], clock: Clock) -> float:
    """Return the seconds a server asks to wait, at most a day."""
    wanted = _parse_number(headers.get("retry-after-ms", ""), 1000.0)
    text = headers.get("retry-after", "")
    if wanted is None:
        wanted = _parse_number(text, 1.0)
    if wanted is None:
        try:
            until = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return 0.0
        wanted = ((until if until.tzinfo else until.replace(tzinfo=UTC)) - clock()).total_seconds()
    return min(max(wanted, 0.0), _DAY)


def _parse_number(text: str, unit: float) -> float | None:
    return float(text) / unit if re.fullmatch(r"\s*\d{1,15}(\.\d{1,9})?\s*", text) else None
