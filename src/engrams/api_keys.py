"""API keys as hashes, with owner, rights and expiry; quotas of requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from engrams.core import Scope, is_blank
from engrams.core.usage_accounts import WINDOWS, RequestWindow, name_account
from engrams.errors import BudgetError, InputError, NotFoundError, StoreError
from engrams.ports import ApiKey, ApiKeyTable, Clock, RequestLedger

__all__ = ["ApiKey"]

PREFIX = "engrams_"
RIGHTS = ("read", "write", "admin", "proxy")
"""read: search, list, export. write: add, change, forget, erase, import. proxy: the upstream model
server. admin: settings, metrics, the audit log of everybody, the safety log, everybody's feedback,
reset.
"""

_PARCELS = 50
"""Parts of a quota that a process takes at once: small ones request by request, large ones without
a write for each.
"""
_MOST = 10_000
"""Owners and keys whose parcels are held, and keys that were looked up."""
_FRESH_SECONDS = 1.0
"""Time for which a key that a server was asked for counts as it was then."""
_NAME_CHARS = 100
_TIMES = ("created_at", "expires_at", "revoked_at")
_LIMITS = ("minute_requests", "daily_requests")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID = re.compile(rf"[{_ALPHABET}]{{12}}")
_KEY = re.compile(rf"{PREFIX}([{_ALPHABET}]{{12}})_[A-Za-z0-9_-]{{43}}")


class ApiKeyStore:
    """Make, list, revoke and look up keys; a secret is kept nowhere."""

    def __init__(self, table: ApiKeyTable) -> None:
        self._table = table
        self._lock = Lock()
        self._found: OrderedDict[str, tuple[float, ApiKey]] = OrderedDict()

    @classmethod
    def open(cls, home: Path) -> ApiKeyStore:
        """Open the keys of a home, one file each."""
        return cls(ApiKeyFiles(home.expanduser() / "keys"))

    @property
    def is_remote(self) -> bool:
        """True where ``find`` waits for a server."""
        return self._table.is_remote

    def recall(self, secret: str, now: datetime) -> ApiKey | None:
        """Return a live key that ``find`` looked up within a second.

        It waits for nothing; None: ask ``find``.
        """
        at, key = self._found.get(_hash_secret(secret), (0.0, None))
        return (
            key
            if key is not None and time.monotonic() - at < _FRESH_SECONDS and key.is_live(now)
            else None
        )

    def add(
        self,
        name: str,
        owner: Scope,
        rights: Sequence[str],
        now: datetime,
        days: int = 0,
        requests: tuple[int, int] = (0, 0),
    ) -> tuple[ApiKey, str]:
        """Add a key and return it with its secret.

        The secret cannot be shown again. ``days`` until it expires; 0: never. ``requests``: most in
        a minute and in a day; 0: no limit. InputError: there is no such right, the name is empty,
        or it would live beyond the year 9999.
        """
        wrong = sorted(set(rights) - set(RIGHTS))
        if wrong or not rights:
            raise InputError(
                f"There is no right {', '.join(wrong) or 'given'}.",
                hint=f"Rights are {', '.join(RIGHTS)}.",
            )
        if not owner.is_owner:
            raise InputError(
                "A key is for a whole owner.",
                hint="Name a user; projects and conversations are named by requests.",
            )
        label = name.strip()[:_NAME_CHARS].strip()
        if is_blank(label):
            raise InputError(
                "A key needs a name.",
                hint="Name who or what uses it, to know it when you revoke it.",
            )
        most = (
            datetime.max.replace(tzinfo=now.tzinfo) - now
        ).days - 1  # one less: a local time of it is a time too
        if days > most:
            raise InputError(
                f"A key lives at most {most:,} days.", hint="0 makes one that never expires."
            )
        id = "".join(secrets.choice(_ALPHABET) for _ in range(12))
        secret = f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"
        ends = now + timedelta(days=days) if days > 0 else None
        ordered = tuple(right for right in RIGHTS if right in rights)
        key = ApiKey(id, label, owner, ordered, _hash_secret(secret), now, ends, None, *requests)
        return self._table.save_key(key), secret

    def list(self) -> tuple[ApiKey, ...]:
        """List all keys, oldest first, with revoked and expired ones."""
        return tuple(sorted(self._table.list_keys(), key=lambda key: (key.created_at, key.id)))

    def revoke(self, id: str, now: datetime) -> ApiKey:
        """Revoke a key from now on. NotFoundError: there is no such key.

        One that was revoked before keeps its first time.
        """
        key = self._table.find_key(id) if _ID.fullmatch(id) else None
        if key is None:
            raise NotFoundError(f"There is no key {id!r}.", hint="`engrams keys list` shows them.")
        return (
            key
            if key.revoked_at is not None
            else self._table.save_key(replace(key, revoked_at=now))
        )

    def find(self, secret: str, now: datetime) -> ApiKey | None:
        """Find the live key for a secret; None for other text."""
        shape = _KEY.fullmatch(secret)
        asked = time.monotonic()
        key = self._table.find_key(shape.group(1)) if shape else None
        if (
            key is None
            or not hmac.compare_digest(key.digest, _hash_secret(secret))
            or not key.is_live(now)
        ):
            return None
        if self.is_remote:
            self._keep(key, asked)
        return key

    def _keep(self, key: ApiKey, asked: float) -> None:
        with self._lock:
            self._found[key.digest] = (asked, key)
            self._found.move_to_end(key.digest)
            while len(self._found) > _MOST:
                self._found.popitem(last=False)

    def close(self) -> None:
        self._table.close()


class ApiKeyFiles:
    """Keys of one home, one file each.

    Adding and revoking rename one file, and take effect at once in every process of the machine.
    """

    is_remote = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_key(self, id: str) -> ApiKey | None:
        try:
            held = json.loads((self._folder / f"{id}.json").read_text("utf-8"))
            times: dict[str, Any] = {
                name: held[name] and datetime.fromisoformat(held[name]) for name in _TIMES
            }
            times |= {name: int(held.get(name, 0)) for name in _LIMITS}
            return ApiKey(
                held["id"],
                held["name"],
                Scope.parse(held["owner"]),
                tuple(held["rights"]),
                held["digest"],
                **times,
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise StoreError(
                f"The key file {id}.json cannot be read: {problem}.",
                hint="Delete it and add a new key.",
            ) from None

    def list_keys(self) -> tuple[ApiKey, ...]:
        names = [path.stem for path in self._folder.glob("*.json")] if self._folder.is_dir() else []
        found = (self.find_key(name) for name in names if _ID.fullmatch(name))
        return tuple(key for key in found if key is not None)

    def save_key(self, key: ApiKey) -> ApiKey:
        """Write the whole file or nothing, readable by its owner only."""
        if (known := self.find_key(key.id)) is not None:
            ends = [at for at in (known.revoked_at, key.revoked_at) if at is not None]
            key = replace(known, revoked_at=min(ends, default=None))
        times = {name: _to_iso(getattr(key, name)) for name in _TIMES}
        limits = {name: getattr(key, name) for name in _LIMITS}
        held = {
            "id": key.id,
            "name": key.name,
            "owner": key.owner.key,
            "rights": key.rights,
            "digest": key.digest,
            **times,
            **limits,
        }
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
            raise StoreError(
                f"The key cannot be stored: {problem.strerror or problem}.",
                hint=f"Look at {self._folder}.",
            ) from None
        return key

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _to_iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


class RequestQuotaCounter:
    """Counter of requests, which the store keeps for all processes and restarts.

    A process that ends leaves the rest of its parcels unused: a fiftieth of the quota at most.
    """

    def __init__(self, ledger: RequestLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lock = Lock()
        self._left: OrderedDict[tuple[RequestWindow, str, str], int] = OrderedDict()

    def acquire(self, name: str, limits: tuple[int, int], place: str) -> None:
        """Count a request of an owner or key.

        BudgetError: a limit is reached.

        ``limits``: requests a minute and a day; 0: no limit. ``place``: how to raise it, in words.
        """
        now = self._clock().astimezone(UTC)
        account = name_account(name)
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
                left = min(
                    parcel,
                    most - (self._ledger.count_requests(window, now, account, parcel) - parcel),
                )
            # What is used up stays so until the window ends: nothing more is asked.
            if left > 1:
                self._left[key] = left - 1
            elif left == 1:
                self._left[key] = 0
            else:
                self._left[key] = -1
            while len(self._left) > _MOST:
                self._left.popitem(last=False)
        return left > 0


def find_end(window: RequestWindow, now: datetime) -> float:
    """Seconds since 1970 at which a window ends."""
    if window == "minute":
        return (now.replace(second=0, microsecond=0) + timedelta(minutes=1)).timestamp()
    return (now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)).timestamp()
