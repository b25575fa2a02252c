"""Copy of keys and audit events, from a home's files to a fleet's tables or back."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from engrams.errors import StoreError
from engrams.ports import ApiKeyTable, AuditEventBatch, AuditEventTable, AuditLogEntry

_BATCH_EVENTS = 1_000
_BATCH_NUMBER_BITS = 62
"""Bits of a batch's random number: with the positions of its events added it fits into 63."""


def copy_keys(source: ApiKeyTable, target: ApiKeyTable) -> int:
    """Copy all keys; return their number.

    One that was revoked on either side stays so. StoreError: one cannot be read, or is gone.
    """
    if problems := source.find_problems():
        raise StoreError(problems[0], hint="`engrams doctor` names all such keys.")
    keys = source.list_keys()
    for key in keys:
        target.save_key(key)
    return len(keys)


def copy_events(source: AuditEventTable, target: AuditEventTable) -> int:
    """Copy the events that the target has not, day by day; return the number of all.

    The same event may be there several times: each copy in the target stands for one.
    """
    count = 0
    for day in source.list_days():
        copies = Counter(map(_digest, target.iter_day(day)))
        missing = list[AuditLogEntry]()
        for entry in source.iter_day(day):
            count += 1
            digest = _digest(entry)
            if copies[digest] > 0:
                copies[digest] -= 1
                continue
            missing.append(entry)
            if len(missing) == _BATCH_EVENTS:
                _append(target, missing)
                missing = []
        _append(target, missing)
    return count


def _append(target: AuditEventTable, entries: Sequence[AuditLogEntry]) -> None:
    number = secrets.randbits(_BATCH_NUMBER_BITS)
    target.append_events(AuditEventBatch(tuple(entries), number))


def _digest(entry: AuditLogEntry) -> bytes:
    """Hash an event, with a question mark for a lone surrogate."""
    text = "\x1f".join(str(getattr(entry, name)) for name in AuditLogEntry.__slots__)
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
