"""The only now(), and ids that sort by time."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime

from engrams.errors import InputError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """The time, UTC."""
    return datetime.now(UTC)


def utc(moment: datetime) -> datetime:
    """The same moment in UTC; a naive time is taken as UTC. InputError: it is before the year 1 or after 9999 there."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise InputError(f"The time {moment.isoformat()} is out of range.", hint="Give one between the years 1 and 9999, UTC.") from None


def micros(moment: datetime) -> int:
    """Microseconds since 1970; a naive time is taken as UTC. Exact. InputError: as ``utc``."""
    delta = utc(moment) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


class _IdSequence:
    """The last id's time and tail, so that the next one of its millisecond sorts behind it."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            # A child must not count on from its parent's last id, nor wait for a lock that nobody holds any more.
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock, self._stamp, self._tail = threading.Lock(), -1, 0

    def next_tail(self, stamp: int) -> int:
        """80 bits: random, or one more than the last of the same stamp."""
        with self._lock:
            self._tail = self._tail + 1 if stamp == self._stamp else int.from_bytes(os.urandom(10), "big") >> 1
            self._stamp = stamp
            return self._tail


_id_sequence = _IdSequence()


def new_id(moment: datetime) -> str:
    """A ULID of ``moment``: 26 lower-case letters and digits, sortable by time, 80 random bits.

    Ids of one millisecond that are made one after the other sort in that order: turns of one time keep their places.
    """
    stamp = max(0, micros(moment) // 1000) & ((1 << 48) - 1)
    value = stamp << 80 | _id_sequence.next_tail(stamp)
    digits = []
    for _ in range(26):
        digits.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(digits))


def parse_time(text: str) -> datetime:
    """An ISO 8601 time or date, UTC where it names no zone. ValueError otherwise; InputError: as ``utc``."""
    moment = datetime.fromisoformat(text.strip())
    utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
