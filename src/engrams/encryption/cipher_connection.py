"""Connections to databases of a home, opened with its key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engrams.encryption import page_reader
from engrams.encryption.driver import require_driver
from engrams.encryption.header import HEADER, DataKey
from engrams.encryption.home_keys import find_keys
from engrams.encryption.home_lock import home_of
from engrams.errors import EncryptionError

if TYPE_CHECKING:
    import apsw

_BUSY_MILLISECONDS = 10_000


def connect(name: str, flags: int, path: Path | None) -> apsw.Connection:
    """Open a database with its home's key.

    ``path``: its file; None: in memory. While a change is under way, the key that fits is found.
    """
    import apsw

    keys = find_keys(home_of(path)) if path is not None else None
    if keys is None:
        return apsw.Connection(name, flags)
    for key in keys.keys[:-1]:
        connection = open_with(name, flags, key)
        if fits(connection):
            return connection
        connection.close()
    return open_with(name, flags, keys.keys[-1])


def connect_copy(path: Path, source: Path) -> apsw.Connection:
    """Make a database with the key of another one's home."""
    import apsw

    keys = find_keys(home_of(source))
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    return open_with(str(path), flags, keys.now if keys else None)


def open_with(name: str, flags: int, key: DataKey) -> apsw.Connection:
    """Open a connection with one key; None: plain."""
    import apsw

    connection = apsw.Connection(name, flags)
    if key is not None:
        require_driver()
        connection.pragma("cipher", "chacha20")
        connection.pragma("key", f"raw:{key.hex()}")
    return connection


def fits(connection: apsw.Connection) -> bool:
    """Test whether a connection's key decrypts its file."""
    import apsw

    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    try:
        connection.pragma("schema_version")
    except apsw.NotADBError:
        return False
    return True


def require_own_file(path: Path) -> None:
    """Raise EncryptionError for a file that lacks only its key.

    Call this before a file is taken for damaged. The two differ: some page of a damaged file still
    opens with the right key.
    """
    keys = find_keys(home_of(path))
    if keys is None:
        if page_reader.looks_encrypted(path):
            raise EncryptionError(
                f"{path} is encrypted, and {HEADER} is missing beside it.",
                hint=f"Put {HEADER} back from a backup of this home.",
            )
        return
    if page_reader.is_plain(path):
        if None not in keys.keys:
            raise EncryptionError(
                f"{path} is not encrypted, although its home is.",
                hint="Run `engrams encrypt` to encrypt it.",
            )
    elif path.stat().st_size and not any(
        page_reader.opens_page(path, key) for key in keys.data_keys
    ):
        raise EncryptionError(
            f"No page of {path} opens with the key of this home: it has another key, or is"
            " destroyed.",
            hint=(
                "Put back the file that belongs here, or restore a backup into a fresh home."
                " Nothing was changed."
            ),
        )
