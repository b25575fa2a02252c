"""Values of other systems' files: times, roles, message texts, names and ids.

Pure functions that take whatever JSON holds and never fail on an odd type; only ``parse_moment``
raises, for a time that it does not understand.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from engrams.core import Json, Role, shorten_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LABEL = 200
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\s*(?P<half>[ap])\.?m\.?)?"
_DAY = r"(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<month>[a-z]{3,9})\.?|(?P<month2>[a-z]{3,9})\.?\s+(?P<day2>\d{1,2})(?:st|nd|rd|th)?)"
_WORDED_TIME = re.compile(
    rf"(?:[a-z]{{3,9}},\s+)?(?:(?P<front>{_CLOCK})\s+(?:on\s+)?)?{_DAY},?\s+(?P<year>\d{{4}})(?:,?\s+(?:at\s+)?(?P<back>.+))?",
    re.IGNORECASE,
)
"""Date in English words, with the time of day before it (``front``) or behind it (``back``)."""
_WORDED_CLOCK = re.compile(rf"{_CLOCK}(?:\s*(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d))?", re.IGNORECASE)
_EPOCH_NUMBER = re.compile(r"-?\d{9,17}(\.\d+)?")
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "me": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def first_filled(data: Mapping[str, Any], *names: str) -> Json:
    """Return the value of the first field that is not empty; 0 and False count as filled."""
    for name in names:
        if data.get(name) not in (None, "", [], {}):
            return data[name]
    return None


def clean_label(value: Json) -> str:
    """Return a name or id as text; empty for anything but text and numbers."""
    if isinstance(value, str):
        return " ".join(value.replace("\0", "").split())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    # An id that a table made a float of (12.0) is the whole number; above 1e15 a float is inexact.
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return str(value)


def scope_label(value: Json) -> str:
    """Return a name for a scope label: at most 200 characters, no control characters."""
    name = "".join(
        char for char in clean_label(value) if unicodedata.category(char) not in ("Cc", "Cs")
    )
    return shorten_name(name, _MAX_LABEL)


def message_text(value: Json) -> str:
    """Return a message's text, which may be a string, a list of parts, or an object."""
    if isinstance(value, str):
        return value.strip("\0 \t\r\n")
    if isinstance(value, list):
        return "\n".join(part for part in map(_part_text, value) if part)
    return _part_text(value)


def _part_text(part: Json) -> str:
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, dict):
        return ""
    inner = first_filled(part, "text", "content", "parts")
    if isinstance(inner, str):
        return inner.strip()
    if isinstance(inner, list):
        return "\n".join(map(_inner_text, inner))
    return ""


def _inner_text(part: Json) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text.strip() if isinstance(text, str) else ""


def role_and_speaker(role: Json, speaker: Json = None) -> tuple[Role, str]:
    """Split who said something into role and speaker's name.

    A role that is not known is a speaker's name; a speaker who is called like a role is that role.
    """
    name = clean_label(speaker)
    known_role = _ROLES.get(clean_label(role).casefold())
    if known_role:
        is_role_name = _ROLES.get(name.casefold()) == known_role
        return known_role, "" if is_role_name else name
    name = name or clean_label(role)
    named_role = _ROLES.get(name.casefold())
    return (named_role, "") if named_role else ("user", name)


def parse_moment(value: Json) -> datetime | None:
    """Parse a time to UTC; None for an empty value.

    Accepts ISO 8601, seconds, milliseconds or microseconds since 1970 (told apart by their size),
    and "1:56 pm on 8 May, 2023". A time without a zone is UTC. ValueError: it cannot be understood.
    """
    if (
        value in (None, "", 0)
        or isinstance(value, bool)
        or (isinstance(value, str) and not value.strip())
    ):
        return None
    if isinstance(value, int | float):
        return _from_epoch(float(value))
    if not isinstance(value, str):
        raise ValueError(f"a time was expected, not {type(value).__name__}")
    text = " ".join(value[:100].split())
    if _EPOCH_NUMBER.fullmatch(text):
        return _from_epoch(float(text))
    try:
        return _to_utc(datetime.fromisoformat(re.sub(r"\s?(?:UTC|GMT)$", "+00:00", text)))
    except (ValueError, OverflowError):
        return _from_words(text)


def _from_epoch(number: float) -> datetime:
    size = abs(number)
    if size < 1e11:
        seconds = number
    elif size < 1e14:
        seconds = number / 1e3
    else:
        seconds = number / 1e6
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise ValueError(f"no time is {number}") from None


def _from_words(text: str) -> datetime:
    date = _WORDED_TIME.fullmatch(text)
    month = _MONTHS.get((date["month"] or date["month2"])[:3].casefold()) if date else None
    if not date or not month:
        raise ValueError(f"the time {text[:40]!r} is not understood; write 2024-05-31T14:30")
    clock_behind = _WORDED_CLOCK.fullmatch(date["back"]) if date["back"] else None
    if date["back"] and not clock_behind:
        raise ValueError(f"the time of day in {text[:40]!r} is not understood")
    clock = clock_behind or date  # the groups of a clock before the date are groups of the date
    hour = int(clock["hour"] or 0)
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"] in "pP" else 0)
    try:
        zone = _parse_zone(clock_behind["zone"] if clock_behind else None)
        minute = datetime(
            int(date["year"]),
            month,
            int(date["day"] or date["day2"]),
            hour,
            int(clock["minute"] or 0),
            tzinfo=UTC,
        )
        moment = minute + timedelta(seconds=int(clock["second"] or 0))
        return _to_utc(moment.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise ValueError(f"there is no such time as {text[:40]!r}") from None


def _parse_zone(name: str | None) -> Any:
    return datetime.strptime(name, "%z").tzinfo if name and name[0] in "+-" else UTC


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def derive_id(*parts: object) -> str:
    """Derive an id from its parts: 32 hex digits, always the same."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
