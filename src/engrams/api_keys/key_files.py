"""API keys in files of a home."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from engrams.core import Scope
from engrams.encryption.file_ledger import FileLedger
from engrams.encryption.seal_keys import (
    API_KEYS,
    KEY_BYTES,
    KEY_NAME,
    read_key,
    seal_fields,
    write_fields,
    write_key,
)
from engrams.errors import StoreError
from engrams.ports import ApiKey

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 12
KEY_ID = re.compile(rf"[{ID_ALPHABET}]{{{ID_LENGTH}}}")

_TIMES = ("created_at", "expires_at", "revoked_at")
_LIMITS = ("minute_requests", "daily_requests")


class ApiKeyFiles:
    """Keys of one home, one file each, with a seal.

    Adding and revoking rename one file, and take effect at once in every process of the machine.
    ``seal_key``: file with the key of the home's seals, the one beside the folder by default.
    """

    is_remote = False

    def __init__(self, folder: Path, seal_key: Path | None = None) -> None:
        self._folder = folder
        self._seal_key = seal_key or folder.with_name(KEY_NAME)
        self._ledger = FileLedger(folder.parent, self._seal_key)

    def find_key(self, id: str) -> ApiKey | None:
        path = self._folder / f"{id}.json"
        try:
            fields = json.loads(path.read_text("utf-8"))
            self._check(id, fields)
            return _parse_key(fields)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(
                f"The key file {id}.json cannot be read: {problem}.",
                hint="Delete it and add a new key.",
            ) from None

    def _check(self, id: str, fields: dict[str, Any]) -> None:
        """Check the seal of a key; ValueError: another program wrote the file.

        A home that no process has sealed yet has no key: there nobody can tell.
        """
        seal = fields.pop("seal", "")
        key = read_key(self._seal_key)
        if key and (fields["id"] != id or seal != seal_fields(key, API_KEYS, fields)):
            raise ValueError("another program changed it, its seal does not fit")
        if fields["revoked_at"] is None and id in self._read_revoked():
            raise ValueError("another program put it back: the key was revoked")

    def _read_revoked(self) -> Collection[str]:
        """Read the ids of keys that were revoked; none where the ledger was changed.

        The doctor tells of that.
        """
        try:
            revoked: Collection[str] = self._ledger.read().get("revoked", ())
        except StoreError:
            return ()
        return revoked

    def _find_seal_key(self) -> bytes:
        """Find the key of the seals; make one for a home without memories."""
        key = read_key(self._seal_key)
        if not key and not self._folder.with_name("memory.db").exists():
            key = os.urandom(KEY_BYTES)
            new_file = self._seal_key.with_name(f".{KEY_NAME}.{os.getpid()}.new")
            write_key(new_file, key, with_sums=False)
            new_file.replace(self._seal_key)
        return key

    def list_keys(self) -> tuple[ApiKey, ...]:
        """List the keys whose files are sound; ``find_problems`` names the others."""
        keys = []
        for id in self._list_ids():
            with suppress(StoreError):
                keys.append(self.find_key(id))
        return tuple(key for key in keys if key is not None)

    def find_problems(self) -> tuple[str, ...]:
        """Name the key files that another program changed, damaged or took away."""
        problems = []
        ids = self._list_ids()
        for id in ids:
            try:
                self.find_key(id)
            except StoreError as problem:
                problems.append(problem.message)
        noted = self._ledger.read().get("keys", ())
        problems += [f"The key file {id}.json is gone." for id in sorted({*noted} - {*ids})]
        return tuple(problems)

    def _list_ids(self) -> list[str]:
        ids = sorted(path.stem for path in self._folder.glob("*.json"))
        return [id for id in ids if KEY_ID.fullmatch(id)]

    def save_key(self, key: ApiKey) -> ApiKey:
        """Write the whole file or nothing, readable by its owner only."""
        stored = self.find_key(key.id)
        if stored is not None:
            revocations = [at for at in (stored.revoked_at, key.revoked_at) if at is not None]
            key = replace(stored, revoked_at=min(revocations, default=None))
        try:
            fields = _to_json(key)
            fields["seal"] = seal_fields(self._find_seal_key(), API_KEYS, fields)
            write_fields(self._folder / f"{key.id}.json", fields)
            with self._ledger.update() as (_, files):
                files["keys"] = sorted({*files.get("keys", self._list_ids()), key.id})
                if key.revoked_at is not None:
                    files["revoked"] = sorted({*files.get("revoked", ()), key.id})
        except OSError as problem:
            raise StoreError(
                f"The key cannot be stored: {problem.strerror or problem}.",
                hint=f"Look at {self._folder}.",
            ) from None
        return key

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _parse_key(fields: dict[str, Any]) -> ApiKey:
    values: dict[str, Any] = {
        name: fields[name] and datetime.fromisoformat(fields[name]) for name in _TIMES
    }
    # Files of older versions have no limits.
    values |= {name: int(fields.get(name, 0)) for name in _LIMITS}
    return ApiKey(
        id=fields["id"],
        name=fields["name"],
        owner=Scope.parse(fields["owner"]),
        rights=tuple(fields["rights"]),
        digest=fields["digest"],
        **values,
    )


def _to_json(key: ApiKey) -> dict[str, Any]:
    times = {name: getattr(key, name) for name in _TIMES}
    return {
        "id": key.id,
        "name": key.name,
        "owner": key.owner.key,
        "rights": key.rights,
        "digest": key.digest,
        **{name: None if at is None else at.isoformat() for name, at in times.items()},
        **{name: getattr(key, name) for name in _LIMITS},
    }
