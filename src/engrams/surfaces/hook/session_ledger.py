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
_MAX_REQUESTS = 200
"""Requests about memory kept for a session, the newest."""
_KEPT_SECONDS = 30 * 24 * 3600
"""Age from which a session's file is removed, by its last change."""
_MAX_REMOVED = 200
"""Files looked at when a session starts."""
_MOST_UNFINISHED = 3
"""Transcripts of crashed sessions that one start takes in, the newest."""


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
        turn = state.get("turn")
        self._turn: dict[str, str] = turn if isinstance(turn, dict) else {}
        self._session = session
        self.is_asking_memory = state.get("asking") is True
        """True if the last prompt was a request about memory."""
        requests = state.get("requests")
        self.request_keys: list[str] = (
            [key for key in requests if isinstance(key, str)] if isinstance(requests, list) else []
        )
        """Keys of the prompts that were requests about memory, which are not stored."""

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

    def note_request(self, key: str) -> None:
        """Note a prompt that memory answered; its key keeps it out of memory at the end of the turn."""
        self.is_asking_memory = True
        self.request_keys = [*self.request_keys, key][-_MAX_REQUESTS:]
        self._write()

    def note_work(self) -> None:
        """Note that the last prompt was no request about memory."""
        if self.is_asking_memory:
            self.is_asking_memory = False
            self._write()

    def open_turn(self, transcript: str, project: str) -> None:
        """Note that a turn began, whose end a crash may prevent."""
        if transcript:
            self._turn = {"session": self._session, "transcript": transcript, "project": project}
            self._write()

    def close_turn(self) -> None:
        """Note that everything of the session's transcript is stored."""
        if self._turn:
            self._turn = {}
            self._write()

    def list_unfinished(self, project: str) -> list[tuple[str, str]]:
        """List (session, transcript) of other sessions of a project whose last turn has not ended."""
        unfinished: list[tuple[str, str]] = []
        try:
            paths = sorted(self._folder.glob("*.json"), key=_modified_at)[-_MAX_REMOVED:]
        except OSError:
            return []
        for path in paths:
            turn = _read_json(path).get("turn")
            match turn:
                case {"session": str(session), "transcript": str(transcript), "project": str(name)}:
                    if session != self._session and name == project:
                        unfinished.append((session, transcript))
                case _:
                    pass
        return unfinished[-_MOST_UNFINISHED:]

    def _read(self) -> dict[str, Any]:
        return {} if self._path is None else _read_json(self._path)

    def _write(self) -> None:
        """Write the session's file; without a home or a session, write nothing."""
        if self._path is None or not self._home.is_dir():
            return
        state = {
            "ids": list(dict.fromkeys(self.ids))[-_MAX_IDS:],
            "profile": self.profile_version,
            "compacted": self.is_compacted,
            "turn": self._turn,
            "asking": self.is_asking_memory,
            "requests": self.request_keys,
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


def _read_json(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
