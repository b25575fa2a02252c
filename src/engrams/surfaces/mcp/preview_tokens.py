"""Tokens that bind an act to the preview of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.core import Record
from engrams.core.process_peers import SharedTable
from engrams.errors import ConflictError, InputError
from engrams.surfaces.mcp.scoped_engine import ScopedEngine

_TOKEN_LIFE = timedelta(minutes=5)
"""Time in which an act may follow its preview."""
_MAX_TOKENS = 10_000


class PreviewTokens:
    """Tokens of one owner's previews, each for one act within five minutes.

    ``preview_tool``: name of the tool that gives them, for errors. Thread safe.
    """

    def __init__(self, scoped: ScopedEngine, preview_tool: str) -> None:
        self._scoped = scoped
        self._preview_tool = preview_tool

    @property
    def _issued(self) -> SharedTable:
        """Tokens by owner; not before the first preview, which opens memory."""
        return self._scoped.engine.peers.table(self._preview_tool, _MAX_TOKENS)

    def issue(self, records: Sequence[Record]) -> str:
        """Issue a token for these memories as they are now."""
        token = secrets.token_hex(8)
        expires_at = self._scoped.engine.now() + _TOKEN_LIFE
        versions = {record.id: record.version for record in records}
        self._issued.put((self._scoped.root.key, token), (expires_at, versions))
        return token

    def redeem(self, token: str) -> list[str]:
        """Return the ids that a token is for; it is used up.

        InputError: it is unknown, used or too old. ConflictError: a memory changed since.
        """
        issued: tuple[datetime | None, dict[str, int]] = self._issued.pop(
            (self._scoped.root.key, token.strip()), (None, {})
        )
        expires_at, versions = issued
        if expires_at is None or self._scoped.engine.now() > expires_at:
            raise InputError(
                "The token is unknown, used or older than five minutes.",
                hint=f"Call {self._preview_tool}, and ask the person.",
            )
        if any(self._scoped.get(id).version != version for id, version in versions.items()):
            raise ConflictError(
                "A memory changed since the preview.", hint=f"Call {self._preview_tool} again."
            )
        return list(versions)
