"""API keys, in files or in a fleet's table."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from engrams.core import Scope
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Hold one key's owner, rights and times.

    ``digest``: SHA-256 of the key, hex. The key is 256 random bits, so no slower hash is needed.
    ``minute_requests``, ``daily_requests``: most of this key, over all processes; 0: no limit of
    its own.
    """

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
        """List all keys, in any order."""
        ...

    def save_key(self, key: ApiKey) -> ApiKey:
        """Add a key; return it as it is kept.

        Of a known one only the time of its revocation is taken over, the earlier of both: nothing
        makes a revoked key live.
        """
        ...

    def close(self) -> None: ...
