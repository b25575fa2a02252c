"""Ledger of a home's small files as they were last: ids of API keys, end of the audit log, settings.

It lies in ``seal.files`` beside the database, sealed by the key of the home. So the doctor can name
a key file or lines of the log that are gone, which have no seal of their own any more. Its number
grows with each change, and the database knows the number it had (``store/sqlite/ledger_mark.py``).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engrams.core import Meta
from engrams.encryption.seal_keys import API_KEYS, read_key, seal_fields, write_fields
from engrams.errors import StoreError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process writes
    fcntl = None  # type: ignore[assignment]

LEDGER_NAME = "seal.files"
_KIND = "ledger"


class FileLedger:
    """The ledger of one home. Without a key of its seals it holds nothing.

    ``key_file``: the key of the home's seals.
    """

    def __init__(self, home: Path, key_file: Path) -> None:
        self._path = home / LEDGER_NAME
        self._key_file = key_file

    def read(self) -> dict[str, Any]:
        """Read what the files held last. StoreError: another program changed the ledger."""
        return self._read(read_key(self._key_file))

    def read_number(self, *, durable: bool = False) -> int:
        """Read the number of the ledger; 0: there is none.

        ``durable``: the ledger is on the disk before this returns. StoreError: another program
        changed it.
        """
        number = int(self.read().get("number", 0))
        if durable and number:
            handle = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        return number

    @contextmanager
    def update(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Yield the key and the fields under a lock, and store the fields after the block.

        Without a key nothing is stored. A ledger that another program changed stays as it is, so
        that the doctor can tell of it.
        """
        try:
            handle = os.open(self._key_file, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):  # no home yet, or none at all
            yield b"", {}
            return
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            key = read_key(self._key_file)
            try:
                fields = self._read(key)
            except StoreError:
                yield key, {}
                return
            yield key, fields
            fields["number"] = int(fields.get("number", 0)) + 1
            _write(self._path, key, fields)
        finally:
            os.close(handle)

    def trust(self, guards: Meta) -> None:
        """Trust the files as they are: what they hold now is what they held last.

        ``guards``: settings that guard memory, by name.
        """
        number = 0
        if key := read_key(self._key_file):
            with suppress(StoreError):
                number = self._read(key).get("number", 0)
            ids = sorted(path.stem for path in self._path.parent.glob("keys/*.json"))
            fields = {"keys": ids, "settings": _seal_guards(key, guards)}
            _write(self._path, key, {**fields, "number": max(number, _draw_number()) + 1})

    def find_changed_guards(self, guards: Meta) -> list[str]:
        """Name the settings that another program or a person changed in ``config.toml``.

        The first call notes what they are.
        """
        with self.update() as (key, files):
            seals = _seal_guards(key, guards)
            noted = files.setdefault("settings", seals)
        return sorted(name for name in {*noted, *seals} if noted.get(name) != seals.get(name))

    def _read(self, key: bytes) -> dict[str, Any]:
        try:
            data = self._path.read_bytes()
            if not data:
                return {}  # a kill between making the file and the first line in it
            fields: dict[str, Any] = json.loads(data)
            seal = fields.pop("seal")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, AttributeError, KeyError):
            fields, seal = {}, ""
        if seal != seal_fields(key, _KIND, fields):
            raise StoreError(
                f"{self._path.name} was changed by another program.",
                hint="`engrams doctor --accept` trusts the files as they are.",
            )
        return fields


def seal_files(home: Path, key: bytes, *, old_key: bytes = b"", needs_ledger: bool = False) -> None:
    """Seal the key files of a home as they are, and begin its ledger anew with a new key.

    ``old_key``: only those that have its seal; empty: all of them. ``needs_ledger``: begin one even
    if there was none and there are no key files, as the database knows of one.
    """
    for path in home.glob("keys/*.json"):
        try:
            fields = json.loads(path.read_text("utf-8"))
            old_seal = fields.pop("seal", "")
            is_trusted = not old_key or old_seal == seal_fields(old_key, API_KEYS, fields)
            seal = seal_fields(key, API_KEYS, fields)
        except (OSError, ValueError, AttributeError):
            continue
        if is_trusted and seal != old_seal:
            write_fields(path, {**fields, "seal": seal})
    ids = sorted(path.stem for path in home.glob("keys/*.json"))
    ledger = home / LEDGER_NAME
    if needs_ledger or ids or ledger.exists():
        _write(ledger, key, {"keys": ids, "number": _draw_number()})


def _draw_number() -> int:
    """Draw the number of a ledger that begins anew on purpose: higher than that of any before.

    One that begins because there was none has the number 1.
    """
    return time.time_ns() // 1000


def _seal_guards(key: bytes, guards: Meta) -> dict[str, str]:
    """Seal each setting alone: the ledger holds no value."""
    return {name: seal_fields(key, "setting", {name: value}) for name, value in guards.items()}


def _write(path: Path, key: bytes, fields: Meta) -> None:
    """Write the ledger by one call, which no kill cuts: blanks cover a longer one that was there."""
    data = json.dumps({**fields, "seal": seal_fields(key, _KIND, fields)}).encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(handle, data.ljust(os.fstat(handle).st_size))
    finally:
        os.close(handle)
