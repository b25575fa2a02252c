"""Change of a home's key: encrypt, encrypt anew, decrypt.

The order keeps the home open at every moment:

1. The header gets the new key beside the old one.
2. Each file is written anew beside the old one, and takes its name.
3. The header forgets the old key.

A change that was cut short is finished by the next one.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from engrams.encryption import file_encryption, page_reader
from engrams.encryption.cipher_connection import fits, open_with
from engrams.encryption.driver import require_driver
from engrams.encryption.header import (
    HEADER,
    KEY_BYTES,
    DataKey,
    EncryptionHeader,
    read_header,
    sync_folder,
    unwrap_keys,
    wrap_keys,
    write_header,
)
from engrams.encryption.home_keys import HomeKeyring, find_keys
from engrams.encryption.home_lock import hold_home
from engrams.encryption.key_sources import drop_source, make_source, read_outer_key
from engrams.errors import ConflictError, EncryptionError, StoreError
from engrams.settings import EncryptionSettings
from engrams.text.normalize import fold

_NEW_SUFFIX = ".rekey"
"""End of a file's name while it is written anew."""
_LOG_SUFFIXES = ("-wal", "-shm", "-journal")
_WAIT_SECONDS = 60.0
_BACKUP = b"\x1f\x8b"
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI

Report = Callable[[int, int], None]
"""Is called with the number of files done, and of all."""


@dataclass(frozen=True, slots=True)
class HomeFileEncryptionState:
    """A file of a home that holds memory."""

    path: Path
    kind: str
    """database, log (of lines) or file."""
    state: str
    """plain, encrypted, or former: with the key from before a change."""


@dataclass(frozen=True, slots=True)
class HomeEncryptionStatus:
    """Encryption of a home."""

    encrypted: bool
    source: str
    """Source of the outer key: passphrase, file or keyring. Empty: the home is plain."""
    place: str
    """Path of the key file, or name of the entry in the keyring."""
    changing: bool
    """A change was cut short."""
    files: tuple[HomeFileEncryptionState, ...]
    readable: Path | None
    """Folder of the vault, whose files stay plain. None: there is none."""

    @property
    def plain(self) -> tuple[Path, ...]:
        """Paths of the files that are not encrypted."""
        return tuple(file.path for file in self.files if file.state == "plain")


def read_status(home: Path, vault: Path) -> HomeEncryptionStatus:
    """Read how a home is encrypted; needs no key."""
    header = read_header(home)
    files = tuple(_classify(path, kind, None) for path, kind in list_files(home))
    readable = vault if vault.exists() else None
    if header is None:
        return HomeEncryptionStatus(
            encrypted=False, source="", place="", changing=False, files=files, readable=readable
        )
    return HomeEncryptionStatus(
        encrypted=bool(header.now),
        source=header.kind,
        place=header.place,
        changing=header.is_changing,
        files=files,
        readable=readable,
    )


def encrypt_home(home: Path, settings: EncryptionSettings, passphrase: str, report: Report) -> int:
    """Encrypt the plain files of a home; return the number of files written.

    ``passphrase``: for a new home whose key comes from one. EncryptionError: no key. StoreError:
    others use the home, or a file is damaged; the home is then as it was.
    """
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        header = read_header(home)
        if header is None:
            _require_sound(home, None)
            header, outer = make_source(settings, passphrase)
            write_header(home, wrap_keys(header, outer, secrets.token_bytes(KEY_BYTES), None))
            return _finish_change(home, header, outer, report)
        outer = read_outer_key(header, settings)
        present_key, *_ = unwrap_keys(header, outer)
        if present_key is None:
            raise ConflictError(
                "This home is being decrypted.", hint="Finish that first: `engrams encrypt --off`."
            )
        if not header.is_changing:
            # Plain files may have come in since, for example by hand.
            write_header(home, wrap_keys(header, outer, present_key, None))
        return _finish_change(home, header, outer, report)


def rekey_home(
    home: Path,
    settings: EncryptionSettings,
    new_settings: EncryptionSettings,
    passphrase: str,
    report: Report,
) -> int:
    """Encrypt a home anew under a new key; return the number of files written.

    ``new_settings``: source of the new key.
    """
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        old_header = _require_header(home)
        outer = read_outer_key(old_header, settings)
        if old_header.is_changing:
            _finish_change(home, old_header, outer, report)
        (key,) = unwrap_keys(_require_header(home), outer)
        _require_sound(home, HomeKeyring((key,), old_header))
        header, outer = make_source(new_settings, passphrase)
        write_header(home, wrap_keys(header, outer, secrets.token_bytes(KEY_BYTES), key))
        count = _finish_change(home, header, outer, report)
    drop_source(old_header)
    return count


def decrypt_home(home: Path, settings: EncryptionSettings, report: Report) -> int:
    """Write every file of a home plain; return the number of files written."""
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        header = _require_header(home)
        outer = read_outer_key(header, settings)
        # Without a present key, a decryption was cut short: only its last step is left.
        present_key, *_ = unwrap_keys(header, outer)
        if present_key is not None:
            if header.is_changing:
                # An encryption was cut short. Afterwards all files have the present key.
                _finish_change(home, header, outer, report)
            _require_sound(home, HomeKeyring((present_key,), header))
            write_header(home, wrap_keys(header, outer, None, present_key))
        count = _finish_change(home, header, outer, report)
    drop_source(header)
    return count


def list_files(home: Path) -> Iterator[tuple[Path, str]]:
    """List the files that hold memory, with their kind; without those of the vault."""
    for folder in (home, home / "ledgers"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            kind = _find_kind(path) if path.is_file() and not path.is_symlink() else ""
            if kind:
                yield path, kind
    for path in sorted((home / "audit").glob("*.jsonl")):
        yield path, "log"
    for pattern in ("*.json", "spaces/*/*.json"):
        for path in sorted((home / "sync").glob(pattern)):
            yield path, "file"
    for path in sorted((home / "uploads").glob("*/*/*")):
        if path.is_file() and not path.name.endswith(".new"):
            yield path, "file"
    for path in sorted((home / "attachments").glob("*/*")):
        if path.is_file() and not path.name.endswith((".new", _NEW_SUFFIX)):
            yield path, "file"


def recode_database(source: Path, target: Path, key: DataKey, keys: tuple[DataKey, ...]) -> None:
    """Copy a database under another key.

    StoreError: it is damaged or in use.
    """
    cipher = "key=" if key is None else f"cipher=chacha20&key=raw:{key.hex()}"
    target_uri = f"file:{target}?{cipher}"
    try:
        connection = _open_any(source, keys)
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            if busy:
                raise StoreError(
                    f"{source} is in use.", hint="Stop the programs that use this home, and repeat."
                )
            connection.execute("VACUUM INTO ?", (target_uri,)).fetchall()
        finally:
            connection.close()
        if key is None:
            _trim(target)
    except apsw.Error as problem:
        raise StoreError(
            f"{source} cannot be copied: {problem}.",
            hint="Run `engrams doctor --repair`, and repeat.",
        ) from None
    target.chmod(0o600)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def adopt_database(source: Path, target: Path) -> None:
    """Move a database into another home, under that home's key."""
    source_keyring = find_keys(source.parent)
    target_keyring = find_keys(target.parent)
    keys = source_keyring.keys if source_keyring else (None,)
    key = target_keyring.now if target_keyring else None
    if keys == (key,):
        shutil.move(source, target)
    else:
        recode_database(source, target, key, keys)


def _finish_change(home: Path, header: EncryptionHeader, outer: bytes, report: Report) -> int:
    """Give every file the present key, then forget the former one."""
    stored_header = _require_header(home)
    keyring = HomeKeyring(unwrap_keys(stored_header, outer), header)
    for leftover in (
        *home.glob(f"*{_NEW_SUFFIX}*"),
        *home.glob(f"*/*{_NEW_SUFFIX}*"),
        *home.glob(f"attachments/*/*{_NEW_SUFFIX}"),
    ):
        leftover.unlink(missing_ok=True)
    _remove_indexes(home)
    files = [_classify(path, kind, keyring) for path, kind in list_files(home)]
    target_state = "plain" if keyring.now is None else "encrypted"
    pending = [file for file in files if file.state != target_state]
    for number, file in enumerate(pending):
        report(number, len(pending))
        _recode(file, keyring)
    report(len(pending), len(pending))
    if keyring.now is None:
        (home / HEADER).unlink()
        sync_folder(home)
    elif stored_header.is_changing:
        write_header(home, replace(stored_header, before=None))
    return len(pending)


def _remove_indexes(home: Path) -> None:
    """Remove index files: they are plain and can be derived, and an encrypted home has none."""
    for path in (*home.glob("*.index/*.segment"), *home.glob("*.index/*.new")):
        if path.is_file() or path.is_symlink():
            path.unlink()
    # A folder may stand in the place of a segment's file.
    for folder in (*home.glob("*.index/*.segment"), *home.glob("*.index")):
        with suppress(OSError):  # it holds a file of somebody else
            folder.rmdir()


def _recode(file: HomeFileEncryptionState, keyring: HomeKeyring) -> None:
    """Write a file anew under the present key."""
    path = file.path
    new_path = path.with_name(path.name + _NEW_SUFFIX)
    if file.kind == "database":
        recode_database(path, new_path, keyring.now, keyring.keys)
        for suffix in _LOG_SUFFIXES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    elif file.kind == "log":
        file_encryption.rewrite_lines(path, new_path, keyring.keys, keyring.now)
    else:
        file_encryption.rewrite_file(path, new_path, keyring.keys, keyring.now)
    new_path.replace(path)
    sync_folder(path.parent)


def _classify(path: Path, kind: str, keyring: HomeKeyring | None) -> HomeFileEncryptionState:
    """Find out which key a file has; without a keyring, if it has any."""
    if kind == "database":
        is_plain = page_reader.is_plain(path)
    elif kind == "log":
        is_plain = path.read_bytes()[:1] in (b"{", b"")
    else:
        is_plain = not file_encryption.is_sealed(path)
    if is_plain:
        state = "plain"
    elif keyring is None or (keyring.now is not None and _has_key(path, kind, keyring.now)):
        state = "encrypted"
    else:
        state = "former"
    return HomeFileEncryptionState(path, kind, state)


def _has_key(path: Path, kind: str, key: bytes) -> bool:
    if kind == "database":
        return page_reader.opens_page(path, key)
    try:
        if kind == "log":
            with path.open("rb") as file:
                return bool(file_encryption.decrypt_line(file.readline().rstrip(b"\n"), (key,)))
        next(file_encryption.iter_frames(path, (key,)), b"")
    except EncryptionError:
        return False
    return True


def _find_kind(path: Path) -> str:
    """Find out how a file must be encrypted; empty: not at all."""
    if (
        path.name.endswith((*_LOG_SUFFIXES, _NEW_SUFFIX)) and ".corrupt-" not in path.name
    ) or not path.stat().st_size:
        return ""
    if ".corrupt-" in path.name or file_encryption.is_sealed(path):
        return "file"
    if page_reader.is_plain(path) or page_reader.looks_encrypted(path):
        return "database"
    with path.open("rb") as file:
        return "file" if file.read(2) == _BACKUP else ""


def _open_any(path: Path, keys: tuple[DataKey, ...]) -> apsw.Connection:
    for key in keys or (None,):
        connection = open_with(str(path), _FLAGS, key)
        if fits(connection):
            connection.create_scalar_function(
                "fold", lambda *texts: fold(str(texts[0])), 1, deterministic=True
            )
            return connection
        connection.close()
    raise EncryptionError(
        f"No key of this home opens {path}.",
        hint="Move it out of the home, or put back the file that belongs here.",
    )


def _require_sound(home: Path, keyring: HomeKeyring | None) -> None:
    """Raise StoreError where a database is damaged, before anything is changed."""
    for path, kind in list_files(home):
        if ".corrupt-" in path.name and ".rescued" not in path.name:
            raise StoreError(
                f"{path} is damaged and was moved aside.",
                hint="Run `engrams doctor --repair`, or delete it. Nothing was changed.",
            )
        if kind == "database":
            try:
                connection = _open_any(path, keyring.keys if keyring else ())
                try:
                    problems = [
                        text for (text,) in connection.execute("PRAGMA quick_check") if text != "ok"
                    ]
                finally:
                    connection.close()
            except apsw.Error as problem:
                problems = [str(problem)]
            if problems:
                raise StoreError(
                    f"{path} is damaged: {problems[0]}.",
                    hint="Run `engrams doctor --repair` first. Nothing was changed.",
                )


def _require_header(home: Path) -> EncryptionHeader:
    header = read_header(home)
    if header is None:
        raise ConflictError(f"{home} is not encrypted.", hint="`engrams encrypt` encrypts it.")
    return header


def _trim(path: Path) -> None:
    """Free the space that the cipher had reserved in each page."""
    connection = apsw.Connection(str(path), _FLAGS)
    connection.create_scalar_function(
        "fold", lambda *texts: fold(str(texts[0])), 1, deterministic=True
    )
    no_bytes = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(no_bytes))
    connection.execute("VACUUM").fetchall()
    connection.close()
