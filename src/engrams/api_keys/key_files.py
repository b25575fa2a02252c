"""API keys in files of a home."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from engrams.core import Scope
from engrams.errors import StoreError
from engrams.ports import ApiKey

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 12
KEY_ID = re.compile(rf"[{ID_ALPHABET}]{{{ID_LENGTH}}}")

_TIMES = ("created_at", "expires_at", "revoked_at")
_LIMITS = ("minute_requests", "daily_requests")


class ApiKeyFiles:
    """Keys of one home, one file each.

    Adding and revoking rename one file, and take effect at once in every process of the machine.
    """

    is_remote = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_key(self, id: str) -> ApiKey | None:
        path = self._folder / f"{id}.json"
        try:
            return _parse_key(json.loads(path.read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(
                f"The key file {id}.json cannot be read: {problem}.",
                hint="Delete it and add a new key.",
            ) from None

    def list_keys(self) -> tuple[ApiKey, ...]:
        if not self._folder.is_dir():
            return ()
        ids = [path.stem for path in self._folder.glob("*.json")]
        keys = (self.find_key(id) for id in ids if KEY_ID.fullmatch(id))
        return tuple(key for key in keys if key is not None)

    def save_key(self, key: ApiKey) -> ApiKey:
        """Write the whole file or nothing, readable by its owner only."""
        stored = self.find_key(key.id)
        if stored is not None:
            revocations = [at for at in (stored.revoked_at, key.revoked_at) if at is not None]
            key = replace(stored, revoked_at=min(revocations, default=None))
        try:
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            new_path = self._folder / f".{key.id}.{os.getpid()}.new"
            descriptor = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(_to_json(key), file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            new_path.replace(self._folder / f"{key.id}.json")
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
