"""Tokens that bind an act to the preview of it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.errors import ConflictError, InputError
from engrams.surfaces.mcp.scopedengine import ScopedEngine
from engrams.types import Record

_LIFE = timedelta(minutes=5)
"""Time in which an act may follow its preview."""
_MOST = 100


class PreviewTokens:
    """Tokens of one owner's previews, each for one act within five minutes.

    ``preview``: the tool that gives them, for errors. Thread safe."""

    def __init__(self, bound: ScopedEngine, preview: str) -> None:
        self._bound, self._preview = bound, preview
        self._lock = threading.Lock()
        self._issued: dict[str, tuple[datetime, dict[str, int]]] = {}

    def issue(self, records: Sequence[Record]) -> str:
        """Issue a token for these memories as they are now."""
        token = secrets.token_hex(8)
        with self._lock:
            self._issued[token] = self._bound.engine.now() + _LIFE, {one.id: one.version for one in records}
            for old in list(self._issued)[:-_MOST]:
                del self._issued[old]
        return token

    def redeem(self, token: str) -> list[str]:
        """Return the ids that a token is for; it is used up.

        InputError: it is unknown, used or too old. ConflictError: a memory changed since."""
        with self._lock:
            until, versions = self._issued.pop(token.strip(), (None, {}))
        if until is None or self._bound.engine.now() > until:
            raise InputError("The token is unknown, used or older than five minutes.", hint=f"Call {self._preview}, and ask the person.")
        if any(self._bound.get(id).version != version for id, version in versions.items()):
            raise ConflictError("A memory changed since the preview.", hint=f"Call {self._preview} again.")
        return list(versions)
