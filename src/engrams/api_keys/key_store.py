"""Keys of the API: made, listed, revoked and looked up."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

from engrams.api_keys.key_files import ID_ALPHABET, ID_LENGTH, KEY_ID, ApiKeyFiles
from engrams.core import Scope, is_blank
from engrams.errors import InputError, NotFoundError
from engrams.ports import ApiKey, ApiKeyTable

PREFIX = "engrams_"
RIGHTS = ("read", "write", "admin", "proxy")
"""read: search, list, export. write: add, change, forget, erase, import. proxy: the upstream model
server. admin: settings, metrics, the audit log of everybody, the safety log, everybody's feedback,
reset.
"""

_MAX_RECENT = 10_000
"""Keys of a server's table that a process remembers."""
_RECENT_SECONDS = 1.0
"""Time for which a key that was looked up in a server's table is not looked up again."""
_NAME_CHARS = 100
_SECRET = re.compile(rf"{PREFIX}({KEY_ID.pattern})_[A-Za-z0-9_-]{{43}}")


class ApiKeyStore:
    """Keys in a table; the secrets themselves are stored nowhere."""

    def __init__(self, table: ApiKeyTable) -> None:
        self._table = table
        self._lock = Lock()
        self._recent: OrderedDict[str, tuple[float, ApiKey]] = OrderedDict()
        """Digest of a key -> time of its look-up (monotonic), and the key."""

    @classmethod
    def open(cls, home: Path) -> ApiKeyStore:
        """Open the keys of a home, one file each."""
        return cls(ApiKeyFiles(home.expanduser() / "keys"))

    @property
    def is_remote(self) -> bool:
        """True where ``find`` waits for a server."""
        return self._table.is_remote

    def recall(self, secret: str, now: datetime) -> ApiKey | None:
        """Return a live key that ``find`` looked up within a second, without waiting.

        None: ask ``find``.
        """
        looked_up_at, key = self._recent.get(_hash_secret(secret), (0.0, None))
        is_recent = time.monotonic() - looked_up_at < _RECENT_SECONDS
        return key if key is not None and is_recent and key.is_live(now) else None

    def add(
        self,
        name: str,
        owner: Scope,
        rights: Sequence[str],
        now: datetime,
        days: int = 0,
        requests: tuple[int, int] = (0, 0),
    ) -> tuple[ApiKey, str]:
        """Add a key and return it with its secret, which cannot be shown again.

        ``days`` until it expires; 0: never. ``requests``: largest number in a minute and in a day;
        0: no limit.

        InputError: there is no such right, the name is empty, or it would live beyond the year
        9999.
        """
        unknown_rights = sorted(set(rights) - set(RIGHTS))
        if unknown_rights or not rights:
            raise InputError(
                f"There is no right {', '.join(unknown_rights) or 'given'}.",
                hint=f"Rights are {', '.join(RIGHTS)}.",
            )
        if not owner.is_owner:
            raise InputError(
                "A key belongs to a whole owner.",
                hint="Name only a user. Requests name projects and conversations.",
            )
        label = name.strip()[:_NAME_CHARS].strip()
        if is_blank(label):
            raise InputError(
                "A key needs a name.",
                hint="Give the name of the person or program, so that you can revoke the key later.",
            )
        # One day less, so that the expiry also exists in a time zone behind this one.
        max_days = (datetime.max.replace(tzinfo=now.tzinfo) - now).days - 1
        if days > max_days:
            raise InputError(
                f"A key is valid for at most {max_days:,} days.",
                hint="0 makes one that never expires.",
            )
        id = "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))
        secret = f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"
        minute_requests, daily_requests = requests
        key = ApiKey(
            id=id,
            name=label,
            owner=owner,
            rights=tuple(right for right in RIGHTS if right in rights),
            digest=_hash_secret(secret),
            created_at=now,
            expires_at=now + timedelta(days=days) if days > 0 else None,
            minute_requests=minute_requests,
            daily_requests=daily_requests,
        )
        return self._table.save_key(key), secret

    def list(self) -> tuple[ApiKey, ...]:
        """List all keys that are sound, oldest first, with revoked and expired ones."""
        return tuple(sorted(self._table.list_keys(), key=lambda key: (key.created_at, key.id)))

    def find_problems(self) -> tuple[str, ...]:
        """Say which keys cannot be read, were changed by another program, or are gone."""
        return self._table.find_problems()

    def revoke(self, id: str, now: datetime) -> ApiKey:
        """Revoke a key from now on, or return one that was revoked before.

        NotFoundError: there is no such key.
        """
        key = self._table.find_key(id) if KEY_ID.fullmatch(id) else None
        if key is None:
            raise NotFoundError(f"There is no key {id!r}.", hint="`engrams keys list` shows them.")
        if key.revoked_at is not None:
            return key
        return self._table.save_key(replace(key, revoked_at=now))

    def find(self, secret: str, now: datetime) -> ApiKey | None:
        """Find the live key for a secret; None: there is none."""
        match = _SECRET.fullmatch(secret)
        asked_at = time.monotonic()
        key = self._table.find_key(match.group(1)) if match else None
        if key is None or not hmac.compare_digest(key.digest, _hash_secret(secret)):
            return None
        if not key.is_live(now):
            return None
        if self.is_remote:
            self._remember(key, asked_at)
        return key

    def close(self) -> None:
        """Close the table."""
        self._table.close()

    def _remember(self, key: ApiKey, looked_up_at: float) -> None:
        with self._lock:
            self._recent[key.digest] = (looked_up_at, key)
            self._recent.move_to_end(key.digest)
            while len(self._recent) > _MAX_RECENT:
                self._recent.popitem(last=False)


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
