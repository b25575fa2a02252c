"""Pages of an encrypted database, opened one by one without SQLite.

The cipher is ChaCha20-Poly1305 as SQLite3 Multiple Ciphers lays it out: each page ends with a nonce
of 16 bytes and a tag of 16 bytes, and its key is drawn from the database's key, the nonce and the
page's number. A page is opened even where its tag is wrong: a changed byte spoils itself, not its
neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engrams.encryption.beside_reader import open_beside

PAGE = 4096
RESERVED = 32
MAGIC = b"SQLite format 3\0"
_CLEAR = 24
"""Bytes at the beginning of the first page that are not encrypted."""
_LOG_HEAD = 32
_FRAME_HEAD = 24
_LAYOUT = bytes((RESERVED, 64, 32, 32))
"""Bytes 20 to 23 of a database with this cipher."""


def is_plain(path: Path) -> bool:
    """Test for a file that begins as a plain database does."""
    return _read_head(path, len(MAGIC)) == MAGIC


def looks_encrypted(path: Path) -> bool:
    """Test for a file that begins as an encrypted database does."""
    head = _read_head(path, _CLEAR)
    return (
        len(head) == _CLEAR
        and not head.startswith(MAGIC)
        and head[16:18] == PAGE.to_bytes(2, "big")
        and head[20:] == _LAYOUT
    )


def opens_page(path: Path, key: bytes) -> bool:
    """Test whether any page of a file has this key's tag."""
    with open_beside(path) as file:
        number = 1
        while page := file.read(PAGE):
            if len(page) == PAGE and decrypt_page(page, number, key)[1]:
                return True
            number += 1
    return False


def decrypt_page(page: bytes, number: int, key: bytes) -> tuple[bytes, bool]:
    """Decrypt a page; True if its tag is right.

    The text is without the page's reserved end.
    """
    from cryptography.hazmat.primitives.poly1305 import Poly1305

    end = len(page) - RESERVED
    nonce = page[end : end + 16]
    tag = page[end + 16 :]
    counter = int.from_bytes(nonce[12:], "little") ^ number
    one_time_keys = _apply_stream(key, nonce, counter, bytes(64))
    start = _CLEAR if number == 1 else 0
    text = _apply_stream(one_time_keys[32:], nonce, counter + 1, page[start:end])
    head = MAGIC + page[len(MAGIC) : start] if start else b""
    return head + text, Poly1305.generate_tag(one_time_keys[:32], page[: end + 16]) == tag


def iter_pages(path: Path, keys: tuple[bytes, ...]) -> Iterator[bytes]:
    """Decrypt a database, page by page."""
    with open_beside(path) as file:
        number = 1
        while len(page := file.read(PAGE)) == PAGE:
            yield decrypt_any(page, number, keys)
            number += 1


def iter_log(path: Path, keys: tuple[bytes, ...]) -> Iterator[bytes]:
    """Decrypt the pages in a database's log, also those that are obsolete."""
    with path.open("rb") as file:
        file.seek(_LOG_HEAD)
        while len(frame := file.read(_FRAME_HEAD + PAGE)) == _FRAME_HEAD + PAGE:
            yield decrypt_any(frame[_FRAME_HEAD:], int.from_bytes(frame[:4], "big"), keys)


def decrypt_any(page: bytes, number: int, keys: tuple[bytes, ...]) -> bytes:
    """Decrypt a page with the key that fits, else with the first."""
    decrypted = [decrypt_page(page, number, key) for key in keys]
    return next((text for text, is_right in decrypted if is_right), decrypted[0][0])


def _apply_stream(key: bytes, nonce: bytes, counter: int, data: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    start = (counter & 0xFFFFFFFF).to_bytes(4, "little") + nonce[:12]
    return Cipher(algorithms.ChaCha20(key, start), None).encryptor().update(data)


def _read_head(path: Path, count: int) -> bytes:
    with open_beside(path) as file:
        return file.read(count)
