"""Copy of keys and audit events between files and tables."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from engrams.ports import ApiKeyTable, AuditEventBatch, AuditEventTable, AuditLogEntry

_TOGETHER = 1_000
_BITS = 62


def copy_keys(source: ApiKeyTable, target: ApiKeyTable) -> int:
    """Copy all keys; their number.

    One that was revoked on either side stays so.
    """
    keys = source.list_keys()
    for key in keys:
        target.save_key(key)
    return len(keys)


def copy_events(source: AuditEventTable, target: AuditEventTable) -> int:
    """Copy events that the target has not, day by day.

    Returns the number of all.
    """
    counted = 0
    for day in source.list_days():
        held = Counter(map(_digest, target.iter_day(day)))
        missing = list[AuditLogEntry]()
        for entry in source.iter_day(day):
            counted += 1
            if held[digest := _digest(entry)] > 0:
                held[digest] -= 1
                continue
            missing.append(entry)
            if len(missing) == _TOGETHER:
                _append(target, missing)
                missing = []
        _append(target, missing)
    return counted


def _append(target: AuditEventTable, entries: Sequence[AuditLogEntry]) -> None:
    target.append_events(AuditEventBatch(tuple(entries), secrets.randbits(_BITS)))


def _digest(entry: AuditLogEntry) -> bytes:
    """Hash an event, with a question mark for a lone surrogate."""
    text = "\x1f".join(str(getattr(entry, name)) for name in AuditLogEntry.__slots__)
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
