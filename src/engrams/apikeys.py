"""API keys as hashes, with owner, rights and expiry; quotas of requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from engrams.errors import BudgetError, InputError, NotFoundError, StoreError
from engrams.ports import WINDOWS, Clock, RequestLedger, RequestWindow, name_account
from engrams.types import Scope

PREFIX = "engrams_"
RIGHTS = ("read", "write", "admin", "proxy")
"""read: search, list, export. write: add, change, forget, erase, import. proxy: the upstream model server. admin: settings,
metrics, the audit log of everybody, the safety log, everybody's feedback, reset."""

_PARCELS = 50
"""Parts of a quota that a process takes at once: small ones request by request, large ones without a write for each."""
_MOST = 10_000
"""Owners and keys whose parcels are held."""
_TIMES = ("created_at", "expires_at", "revoked_at")
_LIMITS = ("minute_requests", "daily_requests")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID = re.compile(rf"[{_ALPHABET}]{{12}}")
_KEY = re.compile(rf"{PREFIX}([{_ALPHABET}]{{12}})_[A-Za-z0-9_-]{{43}}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Hold one key's owner, rights and times.

    ``digest``: SHA-256 of the key, hex. The key is 256 random bits, so no slower hash is needed. ``minute_requests``, ``daily_requests``:
    most of this key, over all processes; 0: no limit of its own."""

    id: str
    name: str
    owner: Scope
    rights: tuple[str, ...]
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    minute_requests: int = 0
    daily_requests: int = 0

    def is_live(self, now: datetime) -> bool:
        """Say if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, right: str) -> bool:
        return right in self.rights


class ApiKeyStore:
    """Store the keys of one home, one file each.

    Adding and revoking rename one file, and take effect at once in every process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def open(cls, home: Path) -> ApiKeyStore:
        return cls(home.expanduser() / "keys")

    def add(
        self, name: str, owner: Scope, rights: Sequence[str], now: datetime, days: int = 0, requests: tuple[int, int] = (0, 0)
    ) -> tuple[ApiKey, str]:
        """Add a key and return it with its secret.

        The secret cannot be shown again. ``days`` until it expires; 0: never. ``requests``: most in a minute and in a day; 0: no limit.
        InputError: there is no such right."""
        wrong = sorted(set(rights) - set(RIGHTS))
        if wrong or not rights:
            raise InputError(f"There is no right {', '.join(wrong) or 'given'}.", hint=f"Rights are {', '.join(RIGHTS)}.")
        if not owner.is_owner:
            raise InputError("A key is for a whole owner.", hint="Name a user; projects and conversations are named by requests.")
        id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
        secret = f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"
        ends = now + timedelta(days=days) if days > 0 else None
        ordered = tuple(right for right in RIGHTS if right in rights)
        key = ApiKey(id, name.strip()[:100], owner, ordered, _hash_secret(secret), now, ends, None, *requests)
        self._write(key)
        return key, secret

    def list(self) -> tuple[ApiKey, ...]:
        """List all keys, oldest first, with revoked and expired ones."""
        names = sorted(path.stem for path in self._folder.glob("*.json")) if self._folder.is_dir() else []
        found = (self._read(name) for name in names if _ID.fullmatch(name))
        return tuple(sorted((key for key in found if key is not None), key=lambda key: (key.created_at, key.id)))

    def revoke(self, id: str, now: datetime) -> ApiKey:
        """Revoke a key from now on. NotFoundError: there is no such key."""
        key = self._read(id) if _ID.fullmatch(id) else None
        if key is None:
            raise NotFoundError(f"There is no key {id!r}.", hint="`engrams keys list` shows them.")
        if key.revoked_at is None:
            key = replace(key, revoked_at=now)
            self._write(key)
        return key

    def find(self, secret: str, now: datetime) -> ApiKey | None:
        """Find the live key for a secret; None for other text."""
        shape = _KEY.fullmatch(secret)
        key = self._read(shape.group(1)) if shape else None
        if key is None or not hmac.compare_digest(key.digest, _hash_secret(secret)) or not key.is_live(now):
            return None
        return key

    def _read(self, id: str) -> ApiKey | None:
        try:
            held = json.loads((self._folder / f"{id}.json").read_text("utf-8"))
            times: dict[str, Any] = {name: held[name] and datetime.fromisoformat(held[name]) for name in _TIMES}
            times |= {name: int(held.get(name, 0)) for name in _LIMITS}
            return ApiKey(held["id"], held["name"], Scope.parse(held["owner"]), tuple(held["rights"]), held["digest"], **times)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(f"The key file {id}.json cannot be read: {problem}.", hint="Delete it and add a new key.") from None

    def _write(self, key: ApiKey) -> None:
        """Write the whole file or nothing, readable by its owner only."""
        times = {name: _to_iso(getattr(key, name)) for name in _TIMES}
        limits = {name: getattr(key, name) for name in _LIMITS}
        held = {"id": key.id, "name": key.name, "owner": key.owner.key, "rights": key.rights, "digest": key.digest, **times, **limits}
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


class RequestQuotaCounter:
    """Counter of requests, which the store keeps for all processes and restarts.

    A process that ends leaves the rest of its parcels unused: a fiftieth of the quota at most."""

    def __init__(self, ledger: RequestLedger, clock: Clock) -> None:
        self._ledger, self._clock = ledger, clock
        self._lock = Lock()
        self._left: OrderedDict[tuple[RequestWindow, str, str], int] = OrderedDict()

    def acquire(self, name: str, limits: tuple[int, int], place: str) -> None:
        """Count a request of an owner or key.
        BudgetError: a limit is reached.

        ``limits``: requests a minute and a day; 0: no limit. ``place``: how to raise it, in words."""
        now, account = self._clock().astimezone(UTC), name_account(name)
        for window, most in zip(WINDOWS, limits, strict=True):
            if most and not self._take(window, now, account, most):
                seconds = math.ceil(find_end(window, now) - now.timestamp())
                raise BudgetError(
                    f"All {most:,} requests a {window} are used up.",
                    hint=f"Go on in {seconds:,} s; {place} raises the limit.",
                    retry_after=seconds,
                )

    def _take(self, window: RequestWindow, now: datetime, account: str, most: int) -> bool:
        key = (window, WINDOWS[window](now), account)
        with self._lock:
            left = self._left.pop(key, 0)
            if left == 0:
                parcel = max(1, most // _PARCELS)
                left = min(parcel, most - (self._ledger.count_requests(window, now, account, parcel) - parcel))
            # What is used up stays so until the window ends: nothing more is asked.
            self._left[key] = left - 1 if left > 1 else 0 if left == 1 else -1
            while len(self._left) > _MOST:
                self._left.popitem(last=False)
        return left > 0


def find_end(window: RequestWindow, now: datetime) -> float:
    """Seconds since 1970 at which a window ends."""
    if window == "minute":
        return (now.replace(second=0, microsecond=0) + timedelta(minutes=1)).timestamp()
    return (now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)).timestamp()
