"""The port of API keys, in files of a home or a table of a fleet."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from engrams.core import Scope
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One API key, without the secret itself."""

    id: str
    name: str
    """Label for people."""
    owner: Scope
    rights: tuple[str, ...]
    """read, write, admin or proxy."""
    digest: str
    """SHA-256 of the secret, hex. It is 256 random bits, so no slower hash is needed.
    Empty: the key stands for a provider's token, and is stored nowhere."""
    created_at: datetime
    expires_at: datetime | None = None
    """None: never."""
    revoked_at: datetime | None = None
    """None: it is not revoked."""
    minute_requests: int = 0
    """Largest number of requests in a minute, over all processes. 0: no limit of its own."""
    daily_requests: int = 0
    """Largest number of requests in a day (UTC), over all processes. 0: no limit of its own."""

    def is_live(self, now: datetime) -> bool:
        """Return True for a key that is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, right: str) -> bool:
        return right in self.rights


class ApiKeyTable(Protocol):
    """Keys by their ids. StoreError: they cannot be read or written."""

    @property
    def is_remote(self) -> bool:
        """True where a look-up waits for a server."""
        ...

    def find_key(self, id: str) -> ApiKey | None:
        """Look up one key, also a revoked or expired one."""
        ...

    def list_keys(self) -> tuple[ApiKey, ...]:
        """List all keys that can be read, in any order."""
        ...

    def find_problems(self) -> tuple[str, ...]:
        """Say which keys cannot be read, were changed by another program, or are gone."""
        ...

    def save_key(self, key: ApiKey) -> ApiKey:
        """Add a key, or revoke a stored one; return it as it is stored.

        Of a stored key only the time of revocation changes, to the earlier of both: nothing makes a
        revoked key live.
        """
        ...

    def close(self) -> None: ...
