"""Memories that a coding agent's session was given, kept across the hook's processes.

What an agent gets stays in its conversation, so the same memory is not given twice. A file in the
home holds the ids for each session, and nothing of what the memories say.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

_FOLDER = "agent-sessions"
_MAX_IDS = 2_000
"""Ids kept for a session; the oldest go first."""
_KEPT_SECONDS = 30 * 24 * 3600
"""Age from which a session's file is removed, by its last change."""
_MAX_REMOVED = 200
"""Files looked at when a session starts."""


class SessionLedger:
    """Ids of memories given to one session. A home that is closed or missing keeps none."""

    def __init__(self, home: Path, session: str) -> None:
        self._folder = home / _FOLDER
        name = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        self._path = self._folder / f"{name}.json" if session else None
        self._home = home
        state = self._read()
        ids = state.get("ids")
        self.ids: list[str] = (
            [id for id in ids if isinstance(id, str)] if isinstance(ids, list) else []
        )
        version = state.get("profile")
        self.profile_version = version if isinstance(version, str) else ""
        self.is_compacted = state.get("compacted") is True

    def begin(self, ids: Collection[str], profile_version: str, *, is_compacted: bool) -> None:
        """Note what a session starts with. After a compaction nothing else is known to it any more,
        not even what it said itself.
        """
        self.profile_version = profile_version
        self.is_compacted = is_compacted
        self.ids = list(ids) if is_compacted else [*self.ids, *ids]
        self._write()
        self._remove_old()

    def add(self, ids: Collection[str]) -> None:
        """Note what a prompt was given."""
        if ids:
            self.ids = [*self.ids, *ids]
            self._write()

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            state = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _write(self) -> None:
        if self._path is None or not self._home.is_dir():
            return
        state = {
            "ids": list(dict.fromkeys(self.ids))[-_MAX_IDS:],
            "profile": self.profile_version,
            "compacted": self.is_compacted,
        }
        temporary = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._folder.mkdir(exist_ok=True)
            temporary.write_text(json.dumps(state), "utf-8")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _remove_old(self) -> None:
        """Remove files of sessions that are long over."""
        before = time.time() - _KEPT_SECONDS
        try:
            with os.scandir(self._folder) as entries:
                for _, entry in zip(range(_MAX_REMOVED), entries, strict=False):
                    if entry.stat().st_mtime < before:
                        Path(entry.path).unlink(missing_ok=True)
        except OSError:
            return
