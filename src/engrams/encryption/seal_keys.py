"""The key of a home's seals in its file, and seals of small files of the home.

Memories are sealed by ``store/sql/row_seals.py`` with the same key.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from pathlib import Path

from engrams.core import Meta
from engrams.errors import StoreError

KEY_BYTES = 32
KEY_NAME = "seal.key"
API_KEYS = "api key"
"""Kind of the seals of key files, in the folder ``keys``."""
_SUMS = b"\x02"
"""Byte behind the key of a home whose tables have sums, too: it was upgraded once."""
_MAC_BYTES = 16


def read_key(path: Path) -> bytes:
    """Read a key; empty: there is none. StoreError: the file holds no key."""
    try:
        key = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
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


def write_key(path: Path, key: bytes, *, with_sums: bool = True) -> None:
    """Write a key that only its owner may read, durably.

    ``with_sums``: its home has memories, and its tables have sums.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key + _SUMS if with_sums else key)
        file.flush()
        os.fsync(file.fileno())


def seal_fields(key: bytes, kind: str, fields: Meta) -> str:
    """Seal the fields of a small file or line, in hexadecimal digits; empty without a key."""
    if not key:
        return ""
    data = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    person = f"engrams {kind}".encode()
    return blake2b(data, key=key, digest_size=_MAC_BYTES, person=person).hexdigest()


def write_fields(path: Path, fields: Meta) -> None:
    """Write a file of JSON fields whole or not at all, durably, readable by its owner only."""
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    fresh = path.with_name(f".{path.stem}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(fields, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
