"""Files of a home that are no databases, sealed with its key."""

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
from engrams.encryption.header import DataKey, load_cipher
from engrams.encryption.home_keys import find_keys, prepare_home
from engrams.errors import EncryptionError

MAGIC = b"engrams file 1\n"
_NONCE = 12
_SIZE = 4
_TAG = 16
_FRAME = 1 << 20


def iter_contents(home: Path, path: Path) -> Iterator[bytes]:
    """Read what a file holds: sealed, a database, its log, or lines.

    Without a key, or where none fits, the bytes are given as they are. EncryptionError: a sealed
    piece does not open.
    """
    keys = find_keys(home)
    raw = tuple(key for key in keys.keys if key is not None) if keys else ()
    if raw and path.name.endswith("-wal"):
        yield from page_reader.iter_log(path, raw)
    elif raw and page_reader.looks_encrypted(path):
        yield from page_reader.iter_pages(path, raw)
    elif raw and path.suffix == ".jsonl" and not is_sealed(path):
        with path.open("rb") as file:
            yield b"\n".join(open_line(home, line.rstrip(b"\n")) for line in file)
    else:
        yield from iter_frames(path, keys.keys if keys else ())


def seal_line(home: Path, line: bytes) -> bytes:
    """Seal a line of a log, where the home is encrypted."""
    keys = prepare_home(home)
    return line if keys is None or keys.now is None else lock_line(line, keys.now)


def lock_line(line: bytes, key: bytes) -> bytes:
    """Seal one line with a key."""
    return b64encode(_seal(line, key))


def open_line(home: Path, line: bytes) -> bytes:
    """Open a line, sealed or plain; empty where it cannot be opened."""
    keys = find_keys(home)
    return (
        line if line.startswith(b"{") or not line or keys is None else unlock_line(line, keys.keys)
    )


def unlock_line(line: bytes, keys: tuple[DataKey, ...]) -> bytes:
    """Open a sealed line; empty where no key fits."""
    try:
        return _open(b64decode(line, validate=True), keys)
    except (Base64Error, EncryptionError):
        return b""


def append_frame(home: Path, path: Path, data: bytes) -> None:
    """Append a piece to a file, sealed where the home is."""
    keys = prepare_home(home)
    end = _scan(path)[1] if path.exists() else 0
    with path.open("ab") as file:
        if keys is None or keys.now is None:
            file.write(data)
            return
        # A piece that a crash cut off goes first.
        file.truncate(end)
        file.write((b"" if end else MAGIC) + _frame(data, keys.now))


def read_frames(home: Path, path: Path) -> Iterator[bytes]:
    """Read a file's contents piece by piece, sealed or plain.

    EncryptionError: the key does not fit.
    """
    keys = find_keys(home)
    yield from iter_frames(path, keys.keys if keys else ())


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
            yield _open(file.read(int.from_bytes(size, "big")), keys)


def measure(path: Path) -> int:
    """Count the bytes of a file's contents, sealed or plain."""
    return _scan(path)[0] if path.exists() else 0


@contextmanager
def open_plain(home: Path, path: Path) -> Iterator[Path]:
    """Give a readable path to a file's contents.

    Those of a sealed one are in memory, where the system can do that.
    """
    if not is_sealed(path):
        yield path
        return
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("engrams"), "wb") as file:
            _copy_plain(home, path, file)
            yield _name_open(file)
        return
    with open_scratch() as (file, plain):
        _copy_plain(home, path, file)
        yield plain


@contextmanager
def open_scratch() -> Iterator[tuple[IO[bytes], Path]]:
    """Give a temporary file to write, and its path for readers.

    Where the system can do that, it has no name, and nothing of it stays after a kill. What was
    written is flushed by whoever wrote it.
    """
    if Path("/proc/self/fd").is_dir():
        with tempfile.TemporaryFile() as file:
            yield file, _name_open(file)
        return
    with (
        tempfile.TemporaryDirectory(prefix="engrams-") as folder,
        (Path(folder) / "file").open("wb") as file,
    ):
        yield file, Path(folder) / "file"


def _name_open(file: IO[bytes]) -> Path:
    return Path(f"/proc/self/fd/{file.fileno()}")


def write_file(home: Path, path: Path, data: bytes) -> None:
    """Write a small file at once, sealed where the home is."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    append_frame(home, fresh, data)
    fresh.replace(path)


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
            out.write(piece if key is None else _frame(piece, key))
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
            text = line if line.startswith(b"{") else unlock_line(line, keys)
            if text:
                out.write((text if key is None else lock_line(text, key)) + b"\n")
        _sync(out)


def _copy_plain(home: Path, path: Path, file: IO[bytes]) -> None:
    for piece in read_frames(home, path):
        file.write(piece)
    file.flush()


def _scan(path: Path) -> tuple[int, int]:
    """Size of a file's contents, and the end of its last piece."""
    whole = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return whole, whole
        total = 0
        end = len(MAGIC)
        while (
            len(size := file.read(_SIZE)) == _SIZE
            and end + _SIZE + (length := int.from_bytes(size, "big")) <= whole
        ):
            total = total + length - _NONCE - _TAG
            end = end + _SIZE + length
            file.seek(end)
    return total, end


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _frame(data: bytes, key: bytes) -> bytes:
    sealed = _seal(data, key)
    return len(sealed).to_bytes(_SIZE, "big") + sealed


def _cipher(key: bytes) -> Any:
    return load_cipher()(hashlib.blake2b(key, digest_size=32, person=b"engrams files").digest())


def _seal(data: bytes, key: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    sealed: bytes = _cipher(key).encrypt(nonce, data, MAGIC)
    return nonce + sealed


def _open(sealed: bytes, keys: tuple[DataKey, ...]) -> bytes:
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
