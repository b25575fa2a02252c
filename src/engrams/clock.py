"""Read the time in one place; make ids that sort by time."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from hashlib import blake2b

from engrams.errors import InputError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH = 26
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def utc(moment: datetime) -> datetime:
    """Convert a time to UTC; a naive time is UTC.

    InputError: the result is before the year 1 or after 9999."""
    if moment.tzinfo is UTC:
        return moment
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise InputError(f"The time {moment.isoformat()} is out of range.", hint="Give one between the years 1 and 9999, UTC.") from None


def micros(moment: datetime) -> int:
    """Count microseconds since 1970, exactly. InputError: as ``utc``."""
    delta = utc(moment) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


class _IdSequence:
    """Keep the last id, so that ids of one millisecond sort."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            # A forked child must not continue its parent's ids, nor wait for a lock that no thread holds.
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock, self._stamp, self._tail = threading.Lock(), -1, 0

    def next_tail(self, stamp: int) -> int:
        """Return 80 random bits, or the previous tail plus one."""
        with self._lock:
            self._tail = self._tail + 1 if stamp == self._stamp else int.from_bytes(os.urandom(10), "big") >> 1
            self._stamp = stamp
            return self._tail


_id_sequence = _IdSequence()


def new_id(moment: datetime) -> str:
    """Make a ULID of ``moment``: 26 lower-case letters and digits.

    It sorts by time and ends in 80 random bits. Ids of one millisecond sort in the order they were made, so messages of one time keep their
    order."""
    stamp = _id_stamp(moment)
    return _write_id(stamp, _id_sequence.next_tail(stamp))


def derive_id(moment: datetime, source: str, place: int = 0) -> str:
    """Make a ULID of a moment and the hash of a source.

    ``place``: ids of one source sort by it."""
    tail = int.from_bytes(blake2b(source.encode("utf-8", "replace"), digest_size=10).digest(), "big")
    return _write_id(_id_stamp(moment), (tail + place) & ((1 << 80) - 1))


def check_id(id: str) -> str:
    """Return an id as it is. InputError: it is none."""
    if len(id) != _ID_LENGTH or not set(id) <= set(_ALPHABET):
        raise InputError(f"{id!r:.80} is no id of a memory.", hint=f"It has {_ID_LENGTH} lower-case letters and digits.")
    return id


def _id_stamp(moment: datetime) -> int:
    return max(0, micros(moment) // 1000) & ((1 << 48) - 1)


def _write_id(stamp: int, tail: int) -> str:
    value = stamp << 80 | tail
    digits = []
    for _ in range(_ID_LENGTH):
        digits.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(digits))


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time or date; UTC without a zone.

    ValueError: it is neither. InputError: as ``utc``."""
    moment = datetime.fromisoformat(text.strip())
    utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
