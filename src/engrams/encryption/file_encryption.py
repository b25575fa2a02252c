"""Files of a home that are no databases, sealed with its key: logs, uploads, backups.

A sealed file begins with ``MAGIC``. Frames follow: the length of 4 bytes, then a nonce, the
ciphertext and a tag (AES-GCM). A sealed log has one base64 line for each line.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from engrams.encryption import page_reader
from engrams.encryption.beside_reader import open_beside
from engrams.encryption.driver import load_cipher
from engrams.encryption.header import DataKey
from engrams.encryption.home_keys import find_keys, prepare_home
from engrams.errors import EncryptionError

MAGIC = b"engrams file 1\n"
_NONCE = 12
_TAG = 16
_SIZE = 4
"""Bytes of the length before a frame."""
_FRAME = 1 << 20
"""Bytes of a piece of a plain file."""


def iter_contents(home: Path, path: Path) -> Iterator[bytes]:
    """Decrypt the contents of any file of a home: a database, its log, lines, or a sealed file.

    Without a key, or where none fits, the bytes come as they are. EncryptionError: a sealed piece
    does not open.
    """
    keyring = find_keys(home)
    data_keys = keyring.data_keys if keyring else ()
    if data_keys and path.name.endswith("-wal"):
        yield from page_reader.iter_log(path, data_keys)
    elif data_keys and page_reader.looks_encrypted(path):
        yield from page_reader.iter_pages(path, data_keys)
    elif data_keys and path.suffix == ".jsonl" and not is_sealed(path):
        with path.open("rb") as file:
            yield b"\n".join(open_line(home, line.rstrip(b"\n")) for line in file)
    else:
        yield from iter_frames(path, keyring.keys if keyring else ())


def seal_line(home: Path, line: bytes) -> bytes:
    """Seal a line of a log, where the home is encrypted."""
    keyring = prepare_home(home)
    if keyring is None or keyring.now is None:
        return line
    return encrypt_line(line, keyring.now)


def encrypt_line(line: bytes, key: bytes) -> bytes:
    """Seal one line with a key."""
    return b64encode(_encrypt(line, key))


def open_line(home: Path, line: bytes) -> bytes:
    """Open a line, sealed or plain; empty where no key fits."""
    keyring = find_keys(home)
    if keyring is None or not line or line.startswith(b"{"):
        return line
    return decrypt_line(line, keyring.keys)


def decrypt_line(line: bytes, keys: tuple[DataKey, ...]) -> bytes:
    """Open a sealed line; empty where no key fits."""
    try:
        return _decrypt(b64decode(line, validate=True), keys)
    except (Base64Error, EncryptionError):
        return b""


def append_frame(home: Path, path: Path, data: bytes) -> None:
    """Append a piece to a file, sealed where the home is."""
    keyring = prepare_home(home)
    end = _measure_frames(path)[1] if path.exists() else 0
    with path.open("ab") as file:
        if keyring is None or keyring.now is None:
            file.write(data)
            return
        # Cut off what a crash left of a frame, or no later one could be read.
        file.truncate(end)
        file.write((b"" if end else MAGIC) + _make_frame(data, keyring.now))


def read_frames(home: Path, path: Path) -> Iterator[bytes]:
    """Read a file's contents piece by piece, sealed or plain.

    EncryptionError: the key does not fit.
    """
    keyring = find_keys(home)
    yield from iter_frames(path, keyring.keys if keyring else ())


def iter_frames(path: Path, keys: tuple[DataKey, ...]) -> Iterator[bytes]:
    """Read a file's contents with these keys."""
    with open_beside(path) as file:
        head = file.read(len(MAGIC))
        if head != MAGIC:
            yield head
            while part := file.read(_FRAME):
                yield part
            return
        while size := file.read(_SIZE):
            yield _decrypt(file.read(int.from_bytes(size, "big")), keys)


def measure(path: Path) -> int:
    """Count the bytes of a file's contents, sealed or plain."""
    return _measure_frames(path)[0] if path.exists() else 0


@contextmanager
def open_plain(home: Path, path: Path) -> Iterator[Path]:
    """Give a path at which a file's contents can be read.

    The contents of a sealed file are in memory, where the system can do that.
    """
    if not is_sealed(path):
        yield path
        return
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("engrams"), "wb") as file:
            _copy_plain(home, path, file)
            yield _name_decrypt(file)
        return
    with open_scratch() as (file, plain):
        _copy_plain(home, path, file)
        yield plain


@contextmanager
def open_scratch() -> Iterator[tuple[IO[bytes], Path]]:
    """Give a temporary file to write, and its path for readers.

    It has no name where the system can do that, so that nothing stays after a kill. The caller
    flushes what it wrote.
    """
    if Path("/proc/self/fd").is_dir():
        with tempfile.TemporaryFile() as file:
            yield file, _name_decrypt(file)
        return
    with (
        tempfile.TemporaryDirectory(prefix="engrams-") as folder,
        (Path(folder) / "file").open("wb") as file,
    ):
        yield file, Path(folder) / "file"


def _name_decrypt(file: IO[bytes]) -> Path:
    return Path(f"/proc/self/fd/{file.fileno()}")


def write_file(home: Path, path: Path, data: bytes) -> None:
    """Write a small file at once, sealed where the home is."""
    new_path = path.with_name(f"{path.name}.{os.getpid()}.new")
    new_path.unlink(missing_ok=True)
    append_frame(home, new_path, data)
    new_path.replace(path)


def read_file(home: Path, path: Path) -> bytes:
    """Read a small file, sealed or plain."""
    return b"".join(read_frames(home, path))


def is_sealed(path: Path) -> bool:
    """Test for a file that begins as a sealed one."""
    try:
        with open_beside(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except FileNotFoundError:
        return False


def rewrite_file(source: Path, target: Path, keys: tuple[DataKey, ...], key: DataKey) -> None:
    """Write a file's contents anew under another key; None: plain."""
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        if key is not None:
            out.write(MAGIC)
        for piece in iter_frames(source, keys):
            out.write(piece if key is None else _make_frame(piece, key))
        _sync(out)


def rewrite_lines(source: Path, target: Path, keys: tuple[DataKey, ...], key: DataKey) -> None:
    """Write a log's lines anew under another key; None: plain.

    A line that a crash cut off is left out.
    """
    with (
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out,
        source.open("rb") as file,
    ):
        for raw in file:
            line = raw.rstrip(b"\n")
            text = line if line.startswith(b"{") else decrypt_line(line, keys)
            if text:
                out.write((text if key is None else encrypt_line(text, key)) + b"\n")
        _sync(out)


def _copy_plain(home: Path, path: Path, file: IO[bytes]) -> None:
    for piece in read_frames(home, path):
        file.write(piece)
    file.flush()


def _measure_frames(path: Path) -> tuple[int, int]:
    """Return the size of a file's contents, and the end of its last whole frame."""
    file_size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return file_size, file_size
        contents_size = 0
        end = len(MAGIC)
        while True:
            size = file.read(_SIZE)
            length = int.from_bytes(size, "big")
            if len(size) < _SIZE or end + _SIZE + length > file_size:
                return contents_size, end
            contents_size += length - _NONCE - _TAG
            end += _SIZE + length
            file.seek(end)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _make_frame(data: bytes, key: bytes) -> bytes:
    sealed = _encrypt(data, key)
    return len(sealed).to_bytes(_SIZE, "big") + sealed


def _cipher(key: bytes) -> Any:
    return load_cipher()(hashlib.blake2b(key, digest_size=32, person=b"engrams files").digest())


def _encrypt(data: bytes, key: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    sealed: bytes = _cipher(key).encrypt(nonce, data, MAGIC)
    return nonce + sealed


def _decrypt(sealed: bytes, keys: tuple[DataKey, ...]) -> bytes:
    from cryptography.exceptions import InvalidTag

    for key in keys:
        if key is not None:
            try:
                return bytes(_cipher(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], MAGIC))
            except (InvalidTag, ValueError):
                continue
    raise EncryptionError(
        "A file of this home has another key, or was changed.",
        hint="Put it back from a backup, or delete it.",
    )
