"""Keys to a server: whose memory each opens, and what it may do there. Only hashes are kept; a key itself is shown once."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from engrams.errors import InputError, NotFoundError, StoreError
from engrams.types import Scope

PREFIX = "engrams_"
RIGHTS = ("read", "write", "admin", "proxy")
"""read: search, list, export. write: add, change, forget, erase, import. proxy: the model server behind. admin: settings,
metrics, the audit log of everybody, the safety log, everybody's feedback, reset."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID = re.compile(rf"[{_ALPHABET}]{{12}}")
_KEY = re.compile(rf"{PREFIX}([{_ALPHABET}]{{12}})_[A-Za-z0-9_-]{{43}}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. ``digest``: SHA-256 of it, hex; it is 256 random bits, so that no slower hash is needed."""

    id: str
    name: str
    owner: Scope
    rights: tuple[str, ...]
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_live(self, now: datetime) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, right: str) -> bool:
        return right in self.rights


class ApiKeyStore:
    """The keys of one home, a file each: adding and revoking are one rename, and hold at once for every process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def open(cls, home: Path) -> ApiKeyStore:
        return cls(home.expanduser() / "keys")

    def add(self, name: str, owner: Scope, rights: Sequence[str], now: datetime, days: int = 0) -> tuple[ApiKey, str]:
        """A new key and its secret, which nothing can show again. ``days`` until it expires; 0: never. InputError: no such right."""
        wrong = sorted(set(rights) - set(RIGHTS))
        if wrong or not rights:
            raise InputError(f"There is no right {', '.join(wrong) or 'given'}.", hint=f"Rights are {', '.join(RIGHTS)}.")
        if not owner.is_owner:
            raise InputError("A key is for a whole owner.", hint="Name a user; projects and conversations are named by requests.")
        id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
        secret = f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"
        ends = now + timedelta(days=days) if days > 0 else None
        ordered = tuple(right for right in RIGHTS if right in rights)
        key = ApiKey(id, name.strip()[:100], owner, ordered, _hash_secret(secret), now, ends)
        self._write(key)
        return key, secret

    def list(self) -> tuple[ApiKey, ...]:
        """Oldest first, those that no longer open anything too."""
        names = sorted(path.stem for path in self._folder.glob("*.json")) if self._folder.is_dir() else []
        found = (self._read(name) for name in names if _ID.fullmatch(name))
        return tuple(sorted((key for key in found if key is not None), key=lambda key: (key.created_at, key.id)))

    def revoke(self, id: str, now: datetime) -> ApiKey:
        """The key opens nothing from now on. NotFoundError: there is none of that id."""
        key = self._read(id) if _ID.fullmatch(id) else None
        if key is None:
            raise NotFoundError(f"There is no key {id!r}.", hint="`engrams keys list` shows them.")
        if key.revoked_at is None:
            key = replace(key, revoked_at=now)
            self._write(key)
        return key

    def find(self, secret: str, now: datetime) -> ApiKey | None:
        """The live key that this is; None for any other text."""
        shape = _KEY.fullmatch(secret)
        key = self._read(shape.group(1)) if shape else None
        if key is None or not hmac.compare_digest(key.digest, _hash_secret(secret)) or not key.is_live(now):
            return None
        return key

    def _read(self, id: str) -> ApiKey | None:
        try:
            held = json.loads((self._folder / f"{id}.json").read_text("utf-8"))
            times = {name: held[name] and datetime.fromisoformat(held[name]) for name in ("created_at", "expires_at", "revoked_at")}
            return ApiKey(held["id"], held["name"], Scope.parse(held["owner"]), tuple(held["rights"]), held["digest"], **times)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(f"The key file {id}.json cannot be read: {problem}.", hint="Delete it and add a new key.") from None

    def _write(self, key: ApiKey) -> None:
        """Whole or not at all, and for nobody else to read."""
        times = {name: _to_iso(getattr(key, name)) for name in ("created_at", "expires_at", "revoked_at")}
        held = {"id": key.id, "name": key.name, "owner": key.owner.key, "rights": key.rights, "digest": key.digest, **times}
        try:
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            new = self._folder / f".{key.id}.{os.getpid()}.new"
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(held, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._folder / f"{key.id}.json")
        except OSError as problem:
            raise StoreError(f"The key cannot be stored: {problem.strerror or problem}.", hint=f"Look at {self._folder}.") from None


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _to_iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
