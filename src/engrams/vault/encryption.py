"""Encrypt a stream under a passphrase.

scrypt makes the key; AES-256-GCM seals chunks, whose order and end are part of what is sealed.
"""

from __future__ import annotations

import hashlib
import os
from typing import IO, Any

from engrams.errors import ExtraError, InputError, RefusedError

MAGIC = b"engrams sealed 1\n"
_CHUNK = 1 << 20
_SALT = 16
_COST = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 64 << 20}
_TAG = 16
_CHECK = b"\xff" * 12
"""Nonce of the passphrase check: no chunk has that number."""


def seal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Encrypt ``source`` into ``target`` with the passphrase."""
    salt = os.urandom(_SALT)
    cipher = _make_cipher(passphrase, salt)
    target.write(MAGIC + salt + cipher.encrypt(_CHECK, b"", MAGIC))
    number, chunk = 0, source.read(_CHUNK)
    while True:
        after = source.read(_CHUNK)
        target.write(cipher.encrypt(_make_nonce(number, not after), chunk, MAGIC))
        if not after:
            return
        number, chunk = number + 1, after


def open_sealed(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Decrypt a stream, after the magic was read.

    RefusedError: the passphrase is wrong. InputError: the file was changed or cut.
    """
    salt = source.read(_SALT)
    cipher = _make_cipher(passphrase, salt)
    from cryptography.exceptions import InvalidTag

    _check_passphrase(cipher, source.read(_TAG))
    number, chunk = 0, source.read(_CHUNK + _TAG)
    while True:
        after = source.read(_CHUNK + _TAG)
        try:
            target.write(cipher.decrypt(_make_nonce(number, not after), chunk, MAGIC))
        except (InvalidTag, ValueError):
            raise InputError("The backup was changed or cut short.", hint="Take another backup.") from None
        if not after:
            return
        number, chunk = number + 1, after


def _make_cipher(passphrase: str, salt: bytes) -> Any:
    if not passphrase:
        raise InputError("The passphrase is empty.", hint="Give one, or make the backup without.")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraError("A passphrase needs the package cryptography.", hint="pip install cryptography") from None
    return AESGCM(hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, **_COST))


def _check_passphrase(cipher: Any, told: bytes) -> None:
    """Check the passphrase, apart from whether the rest is whole."""
    from cryptography.exceptions import InvalidTag

    if len(told) < _TAG:
        raise InputError("The backup was cut short.", hint="Take another backup.")
    try:
        cipher.decrypt(_CHECK, told, MAGIC)
    except InvalidTag:
        raise RefusedError("The passphrase is wrong.", hint="Give the passphrase that the backup was made with.") from None


def _make_nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
