"""Access to the databases of a home, with its key."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING

from engrams.encryption import page_reader
from engrams.encryption.header import (
    HEADER,
    DataKey,
    EncryptionHeader,
    driver_hint,
    encode_header,
    new_header,
    read_header,
    unwrap_keys,
    wrap_keys,
    write_header,
)
from engrams.encryption.key_sources import derive_key, make_source, read_outer_key
from engrams.errors import EncryptionError, ExtraError, RefusedError, StoreError
from engrams.frozen_data import dataclass
from engrams.settings import EncryptionSettings

if TYPE_CHECKING:
    import apsw

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FOLDERS = ("ledgers", "audit", "uploads")
_LOCK = ".lock"
_STEP = 0.01
_AGAIN_SECONDS = 5.0
_OFF = "Remove `encryption.enabled = false`, or decrypt the home with `engrams encrypt --off`."
_lock = Lock()
_settings: dict[Path, EncryptionSettings] = {}
_known: dict[Path, tuple[tuple[int, int, int], HomeKeyring]] = {}
_refused: dict[tuple[Path, tuple[int, int, int]], tuple[float, EncryptionError]] = {}
"""A key that did not open a home, until it is tried again: stretching a passphrase takes long, and
each request would.
"""


@dataclass(frozen=True, slots=True)
class HomeKeyring:
    """Keys that files of a home may have, the present one first.

    ``source``: where the outer key comes from. None among ``keys``: a plain file, while a change is
    under way.
    """

    keys: tuple[DataKey, ...]
    source: EncryptionHeader

    @property
    def now(self) -> DataKey:
        return self.keys[0]


def home_of(path: Path) -> Path:
    """Find the home that a file belongs to."""
    folder = (path if path.is_absolute() else path.expanduser().absolute()).parent
    return folder.parent if folder.name in _FOLDERS else folder


def unlock_home(home: Path, settings: EncryptionSettings, database: Path) -> None:
    """Check that these settings open a home, and remember them.

    EncryptionError: the key is missing or wrong, or home and settings disagree. ExtraError: the
    driver with ciphers is missing.
    """
    home = home.expanduser().absolute()
    header = read_header(home)
    if header is None:
        if settings.enabled:
            if database.exists() and database.stat().st_size:
                raise EncryptionError(
                    f"{home} is not encrypted yet, and `encryption.enabled` is on.",
                    hint="Run `engrams encrypt`.",
                )
            require_driver()
        _settings[home] = settings
        return
    if _settings.get(home) == settings and home in _known and _known[home][0] == _stamp(home):
        return
    if settings.enabled is False:
        raise EncryptionError(f"{home} is encrypted, and `encryption.enabled` is off.", hint=_OFF)
    if database.expanduser().absolute().parent != home:
        raise EncryptionError(
            f"{home} is encrypted, and the database lies elsewhere.",
            hint="Leave `store.url` empty.",
        )
    # A program that runs since before the change must not stop at a question.
    keys = HomeKeyring(
        unwrap_keys(header, read_outer_key(header, settings, ask=home not in _settings)), header
    )
    require_driver()
    with _lock:
        _settings[home] = settings
        _known[home] = (_stamp(home), keys)


def find_keys(home: Path) -> HomeKeyring | None:
    """Find the keys of a home; None: it is plain.

    EncryptionError: the key is missing or wrong.
    """
    with _lock:
        try:
            stamp = _stamp(home)
        except (FileNotFoundError, NotADirectoryError):
            return None
        known = _known.get(home)
        if known and known[0] == stamp:
            return known[1]
        header = read_header(home)
        if header is None:
            return None
        until, refused = _refused.get((home, stamp), (0.0, None))
        if refused is not None and time.monotonic() < until:
            raise EncryptionError(refused.message, hint=refused.hint)
        settings = _settings.get(home) or _settings.get(home.parent) or EncryptionSettings()
        try:
            keys = HomeKeyring(
                unwrap_keys(header, read_outer_key(header, settings, ask=False)), header
            )
        except EncryptionError as problem:
            _refused.clear()
            _refused[home, stamp] = (time.monotonic() + _AGAIN_SECONDS, problem)
            raise
        _known[home] = (stamp, keys)
        return keys


def prepare_home(home: Path) -> HomeKeyring | None:
    """Find the keys of a home that is about to be written.

    A new home gets its header where `encryption.enabled` is on.
    """
    keys = find_keys(home)
    settings = _settings.get(home)
    if (
        keys is not None
        or settings is None
        or not settings.enabled
        or (home / "memory.db").exists()
    ):
        return keys
    header, outer = make_source(
        settings, settings.passphrase or os.environ.get("ENGRAMS_PASSPHRASE", "")
    )
    write_header(home, wrap_keys(header, outer, os.urandom(32)), new=True)
    return find_keys(home)


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
    return open_with(
        str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, keys.now if keys else None
    )


def write_backup_header(home: Path, path: Path, passphrase: str) -> bool:
    """Write a backup's header; False: the home is plain.

    With a passphrase the backup opens with that. RefusedError: it would open on this machine only,
    or a change is under way.
    """
    keys = find_keys(home)
    if keys is None:
        return False
    if len(keys.keys) > 1:
        raise RefusedError(
            "A change of this home's key was cut short.", hint="Finish it first: `engrams encrypt`."
        )
    if keys.source.kind == "keyring" and not passphrase:
        raise RefusedError(
            "The key of this home lies in this machine's keyring, and the backup would open nowhere"
            " else.",
            hint="Give --passphrase.",
        )
    if not passphrase:
        shutil.copyfile(home / HEADER, path)
        return True
    header = new_header("passphrase", "")
    path.write_text(
        encode_header(wrap_keys(header, derive_key(header, passphrase), keys.now)), "utf-8"
    )
    return True


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

    connection.set_busy_timeout(10_000)
    try:
        connection.pragma("schema_version")
    except apsw.NotADBError:
        return False
    return True


def require_own_file(path: Path) -> None:
    """Raise EncryptionError for a file that lacks only its key.

    Damage is another thing: some page of a damaged file still opens with the right key. Call this
    before a file is taken for damaged.
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
        page_reader.opens_page(path, key) for key in keys.keys if key is not None
    ):
        raise EncryptionError(
            f"No page of {path} opens with the key of this home: it has another key, or is"
            " destroyed.",
            hint=(
                "Put back the file that belongs here, or restore a backup into a fresh home."
                " Nothing was changed."
            ),
        )


def find_raw_keys(path: Path) -> tuple[bytes, ...]:
    """Find the keys that pages of a file may have."""
    keys = find_keys(home_of(path))
    return tuple(key for key in keys.keys if key is not None) if keys else ()


def require_driver() -> None:
    """Raise ExtraError where the SQLite driver knows no ciphers."""
    import apsw

    if not hasattr(apsw, "mc_version"):
        raise ExtraError(
            "Encryption needs an SQLite driver with ciphers, and the one that is installed has"
            " none.",
            hint=driver_hint(),
        )


class SharedHomeLock:
    """Shared lock of a file's home.

    No generator: each read takes one.
    """

    __slots__ = ("_handle", "_path")

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._handle: int | None = None

    def __enter__(self) -> None:
        handle = None if self._path is None else _open_shared(self._path)
        if handle is not None and fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH)
            except BaseException:
                os.close(handle)
                raise
        self._handle = handle

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)


def share_home(path: Path | None) -> SharedHomeLock:
    """Hold a shared lock, so that the home's key stays unchanged meanwhile."""
    return SharedHomeLock(path)


@contextmanager
def hold_home(home: Path, seconds: float) -> Iterator[None]:
    """Hold an exclusive lock on a home folder.

    StoreError: others did not let go of it in time.
    """
    handle = _open_lock(_name_lock(home), make=True)
    if handle is None or fcntl is None:
        raise StoreError(
            f"{home} cannot be locked.", hint="Give this user write permission on the folder."
        )
    end = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise StoreError(
                        f"{home} is in use.", hint="Stop the programs that use it, and repeat."
                    ) from None
                time.sleep(_STEP)
        yield
    finally:
        os.close(handle)


def _open_shared(path: Path) -> int | None:
    """Open the lock of a file's home, made beside the file."""
    # Each read does this: the lock is nearly always there, and paths are joined more slowly than it
    # is opened.
    file = _name_own_lock(path) if path.is_absolute() else _name_lock(home_of(path))
    found = _open_lock(file, make=False)
    return _open_lock(file, make=True) if found is None and path.exists() else found


@lru_cache(maxsize=256)
def _name_lock(home: Path) -> str:
    return str(home / _LOCK)


@lru_cache(maxsize=256)
def _name_header(home: Path) -> str:
    return str(home / HEADER)


@lru_cache(maxsize=256)
def _name_own_lock(path: Path) -> str:
    return _name_lock(home_of(path))


def _open_lock(file: str, *, make: bool) -> int | None:
    """Open a home's lock file; None where that cannot be."""
    if fcntl is None:
        return None
    try:
        return os.open(file, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0), 0o600)
    except OSError:
        return None


def _stamp(home: Path) -> tuple[int, int, int]:
    stat = os.stat(_name_header(home))  # noqa: PTH116 - each write of a log does this, and a path is joined more slowly
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
