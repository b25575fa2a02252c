"""The only ``now()`` of the project, and times in UTC.

Everything else gets a ``ports.Clock``, so that a test can set the time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from engrams.errors import InputError

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK_SLACK = timedelta(hours=1)
"""Time by which stored times may lie ahead of now; more are of a clock that was wrong."""


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def utc(moment: datetime) -> datetime:
    """Convert a time to UTC; a naive time is UTC.

    InputError: the result is before the year 1 or after 9999.
    """
    if moment.tzinfo is UTC:
        return moment
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise InputError(
            f"The time {moment.isoformat()} is out of range.",
            hint="Give one between the years 1 and 9999, UTC.",
        ) from None


def utc_offset(moment: datetime | None) -> str:
    """Return the offset of a time from UTC as ISO 8601 writes it; empty for UTC and none."""
    if moment is None or not moment.utcoffset():
        return ""
    offset = moment.isoformat()[-6:]
    return offset if _OFFSET.fullmatch(offset) else ""  # one of seconds is of no clock today


def local_time(moment: datetime, offset: object) -> datetime:
    """Return a time on a clock of that offset ("-07:00"); as it is where it names none."""
    match = _OFFSET.fullmatch(offset) if isinstance(offset, str) else None
    if match is None:
        return moment
    minutes = int(match[2]) * 60 + int(match[3])
    try:
        zone = timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
        return moment.astimezone(zone)
    except (ValueError, OverflowError):  # more than a day, or the calendar's first and last
        return moment


def micros(moment: datetime) -> int:
    """Count microseconds since 1970, exactly. InputError: as ``utc``."""
    # A float of ``timestamp()`` is exact to some 0.2 microseconds today, and less far from 1970.
    delta = utc(moment) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time or date; UTC without a zone.

    ValueError: it is neither. InputError: as ``utc``.
    """
    moment = datetime.fromisoformat(text.strip())
    utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
