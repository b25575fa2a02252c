"""Tokens that bind an act to the preview of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.core import Record
from engrams.core.process_peers import SharedTable
from engrams.errors import ConflictError, InputError
from engrams.surfaces.mcp.scoped_engine import ScopedEngine

_LIFE = timedelta(minutes=5)
"""Time in which an act may follow its preview."""
_MOST = 10_000


class PreviewTokens:
    """Tokens of one owner's previews, each for one act within five minutes.

    ``preview``: the tool that gives them, for errors. Thread safe.
    """

    def __init__(self, bound: ScopedEngine, preview: str) -> None:
        self._bound = bound
        self._preview = preview

    @property
    def _issued(self) -> SharedTable:
        """Tokens by owner; not before the first preview, which opens memory."""
        return self._bound.engine.peers.table(self._preview, _MOST)

    def issue(self, records: Sequence[Record]) -> str:
        """Issue a token for these memories as they are now."""
        token = secrets.token_hex(8)
        self._issued.put(
            (self._bound.root.key, token),
            (self._bound.engine.now() + _LIFE, {one.id: one.version for one in records}),
        )
        return token

    def redeem(self, token: str) -> list[str]:
        """Return the ids that a token is for; it is used up.

        InputError: it is unknown, used or too old. ConflictError: a memory changed since.
        """
        found: tuple[datetime | None, dict[str, int]] = self._issued.pop(
            (self._bound.root.key, token.strip()), (None, {})
        )
        until, versions = found
        if until is None or self._bound.engine.now() > until:
            raise InputError(
                "The token is unknown, used or older than five minutes.",
                hint=f"Call {self._preview}, and ask the person.",
            )
        if any(self._bound.get(id).version != version for id, version in versions.items()):
            raise ConflictError(
                "A memory changed since the preview.", hint=f"Call {self._preview} again."
            )
        return list(versions)
