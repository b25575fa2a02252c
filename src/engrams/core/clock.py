"""Read the time in one place; make ids that sort by time."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from hashlib import blake2b

from engrams.errors import InputError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH = 26
_STAMP_LENGTH = 10
_TOLD_BITS = 50
_RANDOM_BITS = 30
"""After 48 bits of the time said: bits of the time told, and random ones."""
_TELLING_UNIT = 10
"""Microseconds between two moments of telling."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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


def micros(moment: datetime) -> int:
    """Count microseconds since 1970, exactly. InputError: as ``utc``."""
    delta = utc(moment) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


class _TellingClock:
    """Count the moments at which memories are told; none comes twice."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            # A forked child must not wait for a lock that no thread holds.
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next_tail(self) -> int:
        """Return the time of telling, never one twice, and random bits."""
        with self._lock:
            self._last = max(self._last + 1, micros(now()) // _TELLING_UNIT)
            return _join_tail(self._last, int.from_bytes(os.urandom(4), "big"))


_telling_clock = _TellingClock()


def new_id(moment: datetime) -> str:
    """Make a ULID of ``moment``: 26 lower-case letters and digits.

    It sorts by that time, then by the time at which it is made, to 10 microseconds, and ends in 30
    random bits. So messages that were said at one time keep the order in which they were told, in
    one process and over several.
    """
    return _write_id(_id_stamp(moment), _telling_clock.next_tail())


def derive_id(moment: datetime, source: str) -> str:
    """Make a ULID of a moment and the hash of a source."""
    return _write_id(_id_stamp(moment), _hash_source(source))


def derive_told_id(moment: datetime, told: datetime, source: str, place: int = 0) -> str:
    """Make an id as ``new_id`` does, the same one each time.

    ``told``: when a call told it; ``source``: a hash of that call; ``place``: ids of one call sort
    by it.
    """
    return _write_id(
        _id_stamp(moment), _join_tail(micros(told) // _TELLING_UNIT + place, _hash_source(source))
    )


def follow_id(source: str, key: str) -> str:
    """Derive an id from ``key``, with the time of the id ``source``."""
    return source[:_STAMP_LENGTH] + _to_letters(_hash_source(key), _ID_LENGTH - _STAMP_LENGTH)


def check_id(id: str) -> str:
    """Return an id as it is. InputError: it is none."""
    if len(id) != _ID_LENGTH or not set(id) <= set(_ALPHABET):
        raise InputError(
            f"{id!r:.80} is no id of a memory.",
            hint=f"It has {_ID_LENGTH} lower-case letters and digits.",
        )
    return id


def _id_stamp(moment: datetime) -> int:
    return max(0, micros(moment) // 1000) & ((1 << 48) - 1)


def _join_tail(told: int, random: int) -> int:
    return (told & ((1 << _TOLD_BITS) - 1)) << _RANDOM_BITS | random & ((1 << _RANDOM_BITS) - 1)


def _write_id(stamp: int, tail: int) -> str:
    return _to_letters(stamp << _TOLD_BITS + _RANDOM_BITS | tail, _ID_LENGTH)


def _hash_source(source: str) -> int:
    """Hash a text to 80 bits."""
    return int.from_bytes(
        blake2b(source.encode("utf-8", "surrogatepass"), digest_size=10).digest(), "big"
    )


def _to_letters(value: int, length: int) -> str:
    """Write the lowest five bits for each of ``length`` letters."""
    return "".join(_ALPHABET[value >> 5 * place & 31] for place in reversed(range(length)))


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 time or date; UTC without a zone.

    ValueError: it is neither. InputError: as ``utc``.
    """
    moment = datetime.fromisoformat(text.strip())
    utc(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
