"""Keys of the homes that this process uses.

``unlock_home`` checks the settings once, when a home is opened; ``find_keys`` finds the keys again
for each file that is opened, also after another process changed them.
"""

from __future__ import annotations

import os
import shutil
import time
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from engrams.encryption.driver import require_driver
from engrams.encryption.header import (
    HEADER,
    DataKey,
    EncryptionHeader,
    encode_header,
    new_header,
    read_header,
    unwrap_keys,
    wrap_keys,
    write_header,
)
from engrams.encryption.home_lock import home_of
from engrams.encryption.key_sources import derive_key, make_source, read_outer_key
from engrams.errors import EncryptionError, RefusedError
from engrams.frozen_data import dataclass
from engrams.settings import EncryptionSettings

_REFUSAL_SECONDS = 5.0
"""Time for which a wrong key is not tried again: to stretch a passphrase takes long, and each request
would do it.
"""

FileStamp: TypeAlias = tuple[int, int, int]
"""Inode, time of the last change in nanoseconds, and size: another stamp means another header."""


@dataclass(frozen=True, slots=True)
class HomeKeyring:
    """Keys that files of a home may have."""

    keys: tuple[DataKey, ...]
    """The present key first. None among them: plain files, while a change is under way."""
    source: EncryptionHeader
    """Header that the keys are from; it names the source of the outer key."""

    @property
    def now(self) -> DataKey:
        """Key of files that are written now; None: they are plain."""
        return self.keys[0]

    @property
    def data_keys(self) -> tuple[bytes, ...]:
        """The keys, without None for plain files."""
        return tuple(key for key in self.keys if key is not None)


class HomeKeyCache:
    """Settings and keys of the homes that this process uses. Thread safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._settings: dict[Path, EncryptionSettings] = {}
        self._keyrings: dict[Path, tuple[FileStamp, HomeKeyring]] = {}
        self._refusals: dict[tuple[Path, FileStamp], tuple[float, EncryptionError]] = {}
        """Header that a key did not open -> end of the refusal (monotonic), and its error."""

    def unlock(self, home: Path, settings: EncryptionSettings, database: Path) -> None:
        """Check that these settings open a home, and remember them.

        EncryptionError: the key is missing or wrong, or home and settings disagree. ExtraError: the
        driver with ciphers is missing.
        """
        home = home.expanduser().absolute()
        header = read_header(home)
        if header is None:
            _require_plain(home, settings, database)
            self._settings[home] = settings
            return
        if self._settings.get(home) == settings and self._find_cached(home, _stamp(home)):
            return
        if settings.enabled is False:
            raise EncryptionError(
                f"{home} is encrypted, and `encryption.enabled` is off.",
                hint=(
                    "Remove `encryption.enabled = false`, or decrypt the home with `engrams encrypt"
                    " --off`."
                ),
            )
        if database.expanduser().absolute().parent != home:
            raise EncryptionError(
                f"{home} is encrypted, and the database is elsewhere.",
                hint="Leave `store.url` empty.",
            )
        # A program that opened the home before it was encrypted must not stop at a question.
        outer = read_outer_key(header, settings, ask=home not in self._settings)
        keyring = HomeKeyring(unwrap_keys(header, outer), header)
        require_driver()
        with self._lock:
            self._settings[home] = settings
            self._keyrings[home] = (_stamp(home), keyring)

    def find(self, home: Path) -> HomeKeyring | None:
        """Find the keys of a home; None: it is plain.

        EncryptionError: the key is missing or wrong.
        """
        with self._lock:
            try:
                stamp = _stamp(home)
            except (FileNotFoundError, NotADirectoryError):
                return None
            keyring = self._find_cached(home, stamp)
            if keyring is not None:
                return keyring
            header = read_header(home)
            if header is None:
                return None
            self._raise_refusal(home, stamp)
            settings = self._settings.get(home) or self._settings.get(home.parent)
            try:
                outer = read_outer_key(header, settings or EncryptionSettings(), ask=False)
                keyring = HomeKeyring(unwrap_keys(header, outer), header)
            except EncryptionError as problem:
                self._refusals.clear()
                self._refusals[home, stamp] = (time.monotonic() + _REFUSAL_SECONDS, problem)
                raise
            self._keyrings[home] = (stamp, keyring)
            return keyring

    def prepare(self, home: Path) -> HomeKeyring | None:
        """Find the keys of a home that is about to be written.

        A new home gets its header where `encryption.enabled` is on.
        """
        keyring = self.find(home)
        settings = self._settings.get(home)
        if keyring is not None or settings is None or not settings.enabled:
            return keyring
        if (home / "memory.db").exists():
            return None
        passphrase = settings.passphrase or os.environ.get("ENGRAMS_PASSPHRASE", "")
        header, outer = make_source(settings, passphrase)
        # Another process may be first; both then use the header that is there.
        write_header(home, wrap_keys(header, outer, os.urandom(32)), new=True)
        return self.find(home)

    def _find_cached(self, home: Path, stamp: FileStamp) -> HomeKeyring | None:
        cached_stamp, keyring = self._keyrings.get(home, (None, None))
        return keyring if cached_stamp == stamp else None

    def _raise_refusal(self, home: Path, stamp: FileStamp) -> None:
        """Raise the error of a key that did not open this header a moment ago."""
        until, problem = self._refusals.get((home, stamp), (0.0, None))
        if problem is not None and time.monotonic() < until:
            raise EncryptionError(problem.message, hint=problem.hint)


_cache = HomeKeyCache()

unlock_home = _cache.unlock
find_keys = _cache.find
prepare_home = _cache.prepare


def find_raw_keys(path: Path) -> tuple[bytes, ...]:
    """Find the keys that pages of a file may have; empty: it is plain."""
    keyring = find_keys(home_of(path))
    return keyring.data_keys if keyring else ()


def write_backup_header(home: Path, path: Path, passphrase: str) -> bool:
    """Write a backup's header; False: the home is plain.

    With a passphrase the backup opens with that. RefusedError: it would open on this machine only,
    or a change is under way.
    """
    keyring = find_keys(home)
    if keyring is None:
        return False
    if len(keyring.keys) > 1:
        raise RefusedError(
            "A change of this home's key was interrupted.",
            hint="Finish it first: `engrams encrypt`.",
        )
    if keyring.source.kind == "keyring" and not passphrase:
        raise RefusedError(
            "The key of this home is in this machine's keyring, so the backup could not be"
            " opened on another machine.",
            hint="Give --passphrase.",
        )
    if not passphrase:
        shutil.copyfile(home / HEADER, path)
        return True
    header = new_header("passphrase", "")
    wrapped = wrap_keys(header, derive_key(header, passphrase), keyring.now)
    path.write_text(encode_header(wrapped), "utf-8")
    return True


def _require_plain(home: Path, settings: EncryptionSettings, database: Path) -> None:
    """Refuse a plain home with memory where it should be encrypted."""
    if not settings.enabled:
        return
    if database.exists() and database.stat().st_size:
        raise EncryptionError(
            f"{home} is not encrypted yet, and `encryption.enabled` is on.",
            hint="Run `engrams encrypt`.",
        )
    require_driver()


@lru_cache(maxsize=256)
def _name_header(home: Path) -> str:
    return str(home / HEADER)


def _stamp(home: Path) -> FileStamp:
    stat = os.stat(_name_header(home))  # noqa: PTH116 - each write of a log does this, and a path is joined more slowly
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
