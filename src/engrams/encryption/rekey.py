"""Change of a home's key: encrypt, encrypt anew, decrypt.

The header comes first and names both keys, so that the home opens at every moment; then each file
is written anew beside the old one and takes its name; then the header forgets the old key. A change
that was cut short goes on with the next one.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import apsw

from engrams.encryption import file_encryption, page_reader
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
from engrams.encryption.home_keys import (
    HomeKeyring,
    find_keys,
    fits,
    hold_home,
    open_with,
    require_driver,
)
from engrams.encryption.key_sources import drop_source, make_source, read_outer_key
from engrams.errors import ConflictError, EncryptionError, StoreError
from engrams.frozen_data import dataclass
from engrams.settings import EncryptionSettings
from engrams.text.normalize import fold

_FRESH = ".rekey"
"""End of a file's name while it is written anew."""
_LOGS = ("-wal", "-shm", "-journal")
_WAIT_SECONDS = 60.0
_BACKUP = b"\x1f\x8b"
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class HomeFileEncryptionState:
    """A file of a home that holds memory.

    ``kind``: database, log (lines), or file. ``state``: plain, encrypted, or former (has the key
    from before a change).
    """

    path: Path
    kind: str
    state: str


@dataclass(frozen=True, slots=True)
class HomeEncryptionStatus:
    """Encryption of a home.

    ``source``: where its key comes from; ``changing``: a change was cut short; ``readable``: the
    vault, which stays plain.
    """

    encrypted: bool
    source: str
    place: str
    changing: bool
    files: tuple[HomeFileEncryptionState, ...]
    readable: Path | None

    @property
    def plain(self) -> tuple[Path, ...]:
        return tuple(one.path for one in self.files if one.state == "plain")


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
    """Encrypt what is plain in a home; number of files written.

    ``passphrase``: of a home whose key is to come from one. EncryptionError: no key. StoreError:
    others use the home, or a file is damaged; the home is then as it was.
    """
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        header = read_header(home)
        if header is None:
            _require_sound(home, None)
            header, outer = make_source(settings, passphrase)
            write_header(home, wrap_keys(header, outer, secrets.token_bytes(KEY_BYTES), None))
            return _finish(home, header, outer, report)
        outer = read_outer_key(header, settings)
        keys = unwrap_keys(header, outer)
        if not keys[0]:
            raise ConflictError(
                "This home is being decrypted.", hint="Finish that first: `engrams encrypt --off`."
            )
        if not header.is_changing:
            # Plain files may have come in since, for example by hand.
            write_header(home, wrap_keys(header, outer, keys[0], None))
        return _finish(home, header, outer, report)


def rekey_home(
    home: Path,
    settings: EncryptionSettings,
    fresh: EncryptionSettings,
    passphrase: str,
    report: Report,
) -> int:
    """Encrypt a home anew under a new key; number of files written.

    ``fresh``: where the new key comes from.
    """
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        old = _require_header(home)
        outer = read_outer_key(old, settings)
        if old.is_changing:
            _finish(home, old, outer, report)
        (key,) = unwrap_keys(_require_header(home), outer)
        _require_sound(home, HomeKeyring((key,), old))
        header, outer = make_source(fresh, passphrase)
        write_header(home, wrap_keys(header, outer, secrets.token_bytes(KEY_BYTES), key))
        done = _finish(home, header, outer, report)
    drop_source(old)
    return done


def decrypt_home(home: Path, settings: EncryptionSettings, report: Report) -> int:
    """Write every file of a home plain; number of files written."""
    require_driver()
    with hold_home(home, _WAIT_SECONDS):
        header = _require_header(home)
        outer = read_outer_key(header, settings)
        keys = unwrap_keys(header, outer)
        if header.is_changing and keys[0]:
            _finish(home, header, outer, report)
            keys = keys[:1]
        if keys[0]:
            _require_sound(home, HomeKeyring(keys, header))
            write_header(home, wrap_keys(header, outer, None, keys[0]))
        done = _finish(home, header, outer, report)
    drop_source(header)
    return done


def list_files(home: Path) -> Iterator[tuple[Path, str]]:
    """List files that hold memory, with their kind; not the vault's."""
    for folder in (home, home / "ledgers"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink() and (kind := _kind_of(path)):
                yield path, kind
    for path in sorted((home / "audit").glob("*.jsonl")):
        yield path, "log"
    for path in sorted((home / "uploads").glob("*/*/*")):
        if path.is_file() and not path.name.endswith(".new"):
            yield path, "file"


def recode_database(source: Path, target: Path, key: DataKey, keys: tuple[DataKey, ...]) -> None:
    """Copy a database under another key.

    StoreError: it is damaged or in use.
    """
    place = f"file:{target}?" + ("key=" if key is None else f"cipher=chacha20&key=raw:{key.hex()}")
    try:
        connection = _open_any(source, keys)
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            if busy:
                raise StoreError(
                    f"{source} is in use.", hint="Stop the programs that use this home, and repeat."
                )
            connection.execute("VACUUM INTO ?", (place,)).fetchall()
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
    theirs = find_keys(source.parent)
    ours = find_keys(target.parent)
    keys = theirs.keys if theirs else (None,)
    key = ours.now if ours else None
    if keys == (key,):
        shutil.move(source, target)
    else:
        recode_database(source, target, key, keys)


def _finish(home: Path, header: EncryptionHeader, outer: bytes, report: Report) -> int:
    """Give every file the present key, then forget the former one."""
    held = _require_header(home)
    keys = HomeKeyring(unwrap_keys(held, outer), header)
    for left in (*home.glob(f"*{_FRESH}*"), *home.glob(f"*/*{_FRESH}*")):
        left.unlink(missing_ok=True)
    _remove_indexes(home)
    found = [_classify(path, kind, keys) for path, kind in list_files(home)]
    wanted = "plain" if keys.now is None else "encrypted"
    todo = [one for one in found if one.state != wanted]
    for number, one in enumerate(todo):
        report(number, len(todo))
        _recode(one, keys)
    report(len(todo), len(todo))
    if keys.now is None:
        (home / HEADER).unlink()
        sync_folder(home)
    elif held.is_changing:
        write_header(home, replace(held, before=None))
    return len(todo)


def _remove_indexes(home: Path) -> None:
    """Remove index files.

    They are derived and plain; an encrypted home has none.
    """
    for path in (*home.glob("*.index/*.segment"), *home.glob("*.index/*.new")):
        if path.is_file() or path.is_symlink():
            path.unlink()
    # Folders in the place of a file, and the one of all.
    for folder in (*home.glob("*.index/*.segment"), *home.glob("*.index")):
        with suppress(OSError):  # somebody keeps another file there
            folder.rmdir()


def _recode(one: HomeFileEncryptionState, keys: HomeKeyring) -> None:
    path = one.path
    fresh = one.path.with_name(one.path.name + _FRESH)
    target = path
    if one.kind == "database":
        recode_database(path, fresh, keys.now, keys.keys)
        for end in _LOGS:
            path.with_name(path.name + end).unlink(missing_ok=True)
    elif one.kind == "log":
        file_encryption.rewrite_lines(path, fresh, keys.keys, keys.now)
    else:
        file_encryption.rewrite_file(path, fresh, keys.keys, keys.now)
    fresh.replace(target)
    sync_folder(path.parent)


def _classify(path: Path, kind: str, keys: HomeKeyring | None) -> HomeFileEncryptionState:
    """Find out which key a file has."""
    if kind == "database":
        plain = page_reader.is_plain(path)
    elif kind == "log":
        plain = path.read_bytes()[:1] in (b"{", b"")
    else:
        plain = not file_encryption.is_sealed(path)
    if plain or keys is None:
        return HomeFileEncryptionState(path, kind, "plain" if plain else "encrypted")
    return HomeFileEncryptionState(
        path,
        kind,
        "encrypted" if keys.now is not None and _has_key(path, kind, keys.now) else "former",
    )


def _has_key(path: Path, kind: str, key: bytes) -> bool:
    if kind == "database":
        return page_reader.opens_page(path, key)
    try:
        if kind == "log":
            with path.open("rb") as file:
                return bool(file_encryption.unlock_line(file.readline().rstrip(b"\n"), (key,)))
        next(file_encryption.iter_frames(path, (key,)), b"")
    except EncryptionError:
        return False
    return True


def _kind_of(path: Path) -> str:
    if (
        path.name.endswith((*_LOGS, _FRESH)) and ".corrupt-" not in path.name
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


def _require_sound(home: Path, keys: HomeKeyring | None) -> None:
    """Raise StoreError where a database is damaged, before anything is changed."""
    for path, kind in list_files(home):
        if ".corrupt-" in path.name and ".rescued" not in path.name:
            raise StoreError(
                f"{path} is damaged and was moved aside.",
                hint="Run `engrams doctor --repair`, or delete it. Nothing was changed.",
            )
        if kind == "database":
            try:
                connection = _open_any(path, keys.keys if keys else ())
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
    none = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(none))
    connection.execute("VACUUM").fetchall()
    connection.close()
