"""Sessions of conversations whose history the upstream keeps."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000


class ThreadSessions:
    """Sessions by response id; the latest ten thousand, event loop only."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._latest: OrderedDict[str, str] = OrderedDict()

    def session(self, name: str) -> str:
        """Return the session of a conversation or response, else ``name``."""
        return self._sessions.get(name, name)

    def latest(self, session: str) -> str:
        """Return the latest response of a session.

        It tells two equal messages apart.
        """
        return self._latest.get(session, "")

    def note(self, response: str, session: str) -> None:
        """Remember a new response of a session."""
        for known, name, value in ((self._sessions, response, session), (self._latest, session, response)):
            known[name] = value
            known.move_to_end(name)
            if len(known) > _MOST:
                known.popitem(last=False)
