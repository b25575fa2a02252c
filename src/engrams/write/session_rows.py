"""Sessions that turns begin by naming them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import TypeAlias

from engrams.core import Kind, Record, Scope
from engrams.core.process_peers import ProcessPeers
from engrams.ports import SessionRow
from engrams.settings import Settings

MAX_OPEN_SESSIONS = 10_000
"""Sessions begun here that end with this process; a sweep ends older ones."""
SessionKey: TypeAlias = tuple[str, str]
"""Owner's key and a session's name."""


class SpokenSessionLog:
    """Sessions in which turns were stored here, to be ended with this process. Thread safe."""

    def __init__(self, settings: Settings) -> None:
        """Set up the log; it stays empty unless ``sessions.end_on_close`` is ``all``."""
        self._is_kept = settings.sessions.end_on_close == "all" and not settings.is_volatile
        self._sessions: OrderedDict[SessionKey, Scope] = OrderedDict()
        self._lock = Lock()

    def note(self, rows: Sequence[SessionRow]) -> None:
        """Note that turns were stored in some sessions."""
        if not self._is_kept or not rows:
            return
        with self._lock:
            for row in rows:
                self._sessions[row.scope.owner.key, row.id] = row.scope
            while len(self._sessions) > MAX_OPEN_SESSIONS:
                self._sessions.popitem(last=False)

    def list(self) -> dict[SessionKey, Scope]:
        """Return the sessions, each with the scope of its latest turn."""
        with self._lock:
            return dict(self._sessions)


class EarlyCrisisTable:
    """Crises that were reported before a turn named their session. Thread safe.

    This process and its peers alone know them: the name of a session that never speaks is stored
    nowhere.
    """

    def __init__(self, peers: ProcessPeers) -> None:
        self._data = peers.table("early_crises", MAX_OPEN_SESSIONS)

    def note(self, owner: Scope, session: str, data: Mapping[str, object]) -> None:
        """Note the data that the session's row is to begin with; empty: the crisis is over."""
        self._data.put((owner.key, session), dict(data))

    def find(self, owner: Scope, session: str) -> Mapping[str, object]:
        """Return the data that was noted for a session; empty: none."""
        data: Mapping[str, object] = self._data.get((owner.key, session), {})
        return data


def build_session_rows(
    records: Sequence[Record],
    scope: Scope,
    now: datetime,
    settings: Settings,
    early_crises: EarlyCrisisTable,
) -> tuple[SessionRow, ...]:
    """Build the rows of sessions with recent turns; old turns open no session."""
    since = now - timedelta(minutes=settings.sessions.idle_minutes)
    sessions = dict.fromkeys(
        record.session
        for record in records
        if record.session and record.kind is not Kind.NOTE and record.recorded_at > since
    )
    mode = "incognito" if settings.incognito else settings.sessions.mode
    return tuple(
        SessionRow(
            id=session,
            scope=scope,
            state="active",
            started_at=now,
            last_active=now,
            data={"mode": mode, **early_crises.find(scope.owner, session)},
        )
        for session in sessions
    )
