"""Encryption of a backup with a passphrase.

A sealed file begins with ``MAGIC`` and a salt. After them comes the passphrase check, and then the
content in chunks of AES-GCM. The nonce of a chunk is its number and whether it is the last one, so
that a file that was cut or reordered does not open.
"""

from __future__ import annotations

import hashlib
import os
from typing import IO, Any

from engrams.errors import ExtraError, InputError, RefusedError
from engrams.installation import install_hint

MAGIC = b"engrams sealed 1\n"
_CHUNK = 1 << 20
_SALT = 16
_COST = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 64 << 20}
"""Parameters of scrypt: 32 MiB and about 0.1 s for each guess of a passphrase."""
_TAG = 16
_CHECK = b"\xff" * 12
"""Nonce of the passphrase check: no chunk has that number."""


def seal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Encrypt ``source`` into ``target`` with the passphrase."""
    salt = os.urandom(_SALT)
    cipher = _make_cipher(passphrase, salt)
    target.write(MAGIC + salt + cipher.encrypt(_CHECK, b"", MAGIC))
    number = 0
    chunk = source.read(_CHUNK)
    while True:
        next_chunk = source.read(_CHUNK)
        is_last = not next_chunk
        target.write(cipher.encrypt(_make_nonce(number, is_last), chunk, MAGIC))
        if is_last:
            return
        number += 1
        chunk = next_chunk


def open_sealed(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Decrypt a stream, after the magic was read.

    RefusedError: the passphrase is wrong. InputError: the file was changed or cut.
    """
    salt = source.read(_SALT)
    cipher = _make_cipher(passphrase, salt)
    from cryptography.exceptions import InvalidTag

    _check_passphrase(cipher, source.read(_TAG))
    number = 0
    chunk = source.read(_CHUNK + _TAG)
    while True:
        next_chunk = source.read(_CHUNK + _TAG)
        is_last = not next_chunk
        try:
            target.write(cipher.decrypt(_make_nonce(number, is_last), chunk, MAGIC))
        except (InvalidTag, ValueError):
            raise InputError(
                "The backup was changed or is incomplete.", hint="Use another backup."
            ) from None
        if is_last:
            return
        number += 1
        chunk = next_chunk


def _make_cipher(passphrase: str, salt: bytes) -> Any:
    if not passphrase:
        raise InputError("The passphrase is empty.", hint="Give one, or make the backup without.")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraError(
            "A passphrase needs the package cryptography.", hint=install_hint("vault")
        ) from None
    return AESGCM(hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, **_COST))


def _check_passphrase(cipher: Any, check: bytes) -> None:
    """Check the passphrase, apart from whether the rest of the file is whole."""
    from cryptography.exceptions import InvalidTag

    if len(check) < _TAG:
        raise InputError("The backup is incomplete.", hint="Use another backup.")
    try:
        cipher.decrypt(_CHECK, check, MAGIC)
    except InvalidTag:
        raise RefusedError(
            "The passphrase is wrong.", hint="Give the passphrase of the backup."
        ) from None


def _make_nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])
