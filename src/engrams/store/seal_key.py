"""The key of a home's seals, in a file of its own: ``seal.key`` beside the database."""

from __future__ import annotations

import os
from pathlib import Path

from engrams.errors import StoreError
from engrams.settings import StoreSettings
from engrams.store.sql.row_seals import RowSeals

KEY_BYTES = 32
_SUMS = b"\x02"
"""Byte behind the key of a home whose tables have sums, too: it was upgraded once."""
NAME = "seal.key"


def find_key_file(settings: StoreSettings, database: Path | None) -> Path | None:
    """Find the file of the key: that of the setting, or the one beside the database."""
    if settings.seal_key:
        return Path(settings.seal_key).expanduser()
    return None if database is None else database.with_name(NAME)


def load_seals(settings: StoreSettings, database: Path | None = None) -> RowSeals:
    """Load the seals of a store; without a key where it has none."""
    key_file = find_key_file(settings, database)
    key = read_key(key_file) if key_file else b""
    return RowSeals(key, refuses=settings.altered == "refuse")


def read_key(path: Path) -> bytes:
    """Read a key; empty: there is none. StoreError: the file holds no key."""
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return b""
    if len(key) != KEY_BYTES and (len(key), key[KEY_BYTES:]) != (KEY_BYTES + 1, _SUMS):
        raise StoreError(
            f"{path} holds no key of seals: {len(key)} bytes instead of {KEY_BYTES}.",
            hint="Put the key of this home back, or move the file away and run `engrams doctor`.",
        )
    return key[:KEY_BYTES]


def has_sums(path: Path) -> bool:
    """Test whether the tables of a key's home have sums."""
    return len(path.read_bytes()) > KEY_BYTES


def write_key(path: Path, key: bytes) -> None:
    """Write a key that only its owner may read, durably, for a home whose tables have sums."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key + _SUMS)
        file.flush()
        os.fsync(file.fileno())
