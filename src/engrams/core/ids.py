"""Ids of memories: ULIDs of 26 lower-case letters and digits, which sort by time.

An id has 128 bits in base 32 (Crockford's alphabet):

====  ============================================================================
bits  meaning
====  ============================================================================
48    milliseconds since 1970 at which the memory was said
50    microseconds since 1970, by tens, at which engrams was given it
30    random bits; in a derived id bits of a hash
====  ============================================================================

So messages of one time, such as the lines of an imported chat, keep the order in which they were
given, in one process and over several.
"""

from __future__ import annotations

import os
import threading
from datetime import datetime
from hashlib import blake2b

from engrams.core.clock import micros, now
from engrams.errors import InputError

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH = 26
_STAMP_LENGTH = 10
"""Letters that hold the 48 bits of the stamp, and the two zero bits before them."""
_STAMP_BITS = 48
_ARRIVAL_BITS = 50
_RANDOM_BITS = 30
_ARRIVAL_UNIT = 10
"""Microseconds between two arrivals; with 50 bits they last until the year 2326."""


class _ArrivalClock:
    """Counts the moments at which memories arrive; it returns none twice."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            # A forked child must not wait for a lock that no thread holds.
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def next_tail(self) -> int:
        """Return the last 80 bits of an id: this moment, and random bits."""
        with self._lock:
            # A clock that was set back, or two calls within one unit, count on from the latest.
            self._latest = max(self._latest + 1, micros(now()) // _ARRIVAL_UNIT)
            return _join_tail(self._latest, int.from_bytes(os.urandom(4), "big"))


_arrival_clock = _ArrivalClock()


def new_id(moment: datetime) -> str:
    """Make a ULID of ``moment``, other than every id before."""
    return _format_id(_make_stamp(moment), _arrival_clock.next_tail())


def derive_id(moment: datetime, source: str) -> str:
    """Make a ULID of ``moment`` and the hash of a text; the same one each time."""
    return _format_id(_make_stamp(moment), _hash_text(source))


def derive_arrival_id(
    moment: datetime, arrived_at: datetime, call_key: str, position: int = 0
) -> str:
    """Make an id as ``new_id`` does, but the same one each time that a call is repeated.

    ``arrived_at``: when the call gave the memory to engrams. ``call_key``: a hash of the call.
    ``position``: of the memory among those of the call; their ids sort by it.
    """
    arrival = micros(arrived_at) // _ARRIVAL_UNIT + position
    return _format_id(_make_stamp(moment), _join_tail(arrival, _hash_text(call_key)))


def derive_id_at_time_of(id: str, key: str) -> str:
    """Derive an id from ``key`` that has the time of another id; the same one each time."""
    return id[:_STAMP_LENGTH] + _to_letters(_hash_text(key), _ID_LENGTH - _STAMP_LENGTH)


def check_id(id: str) -> str:
    """Return an id unchanged. InputError: it has not the form of one."""
    if len(id) != _ID_LENGTH or not set(id) <= set(_ALPHABET):
        raise InputError(
            f"{id!r:.80} is not the id of a memory.",
            hint=f"It has {_ID_LENGTH} lower-case letters and digits.",
        )
    return id


def _make_stamp(moment: datetime) -> int:
    return max(0, micros(moment) // 1000) & ((1 << _STAMP_BITS) - 1)


def _join_tail(arrival: int, random_bits: int) -> int:
    arrival &= (1 << _ARRIVAL_BITS) - 1
    random_bits &= (1 << _RANDOM_BITS) - 1
    return arrival << _RANDOM_BITS | random_bits


def _format_id(stamp: int, tail: int) -> str:
    return _to_letters(stamp << _ARRIVAL_BITS + _RANDOM_BITS | tail, _ID_LENGTH)


def _hash_text(text: str) -> int:
    """Hash a text to the 80 bits of a tail."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return int.from_bytes(digest, "big")


def _to_letters(value: int, length: int) -> str:
    """Write the lowest five bits for each of ``length`` letters."""
    return "".join(_ALPHABET[value >> 5 * index & 31] for index in reversed(range(length)))
