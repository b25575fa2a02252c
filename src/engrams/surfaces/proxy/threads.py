"""Conversations whose history the upstream keeps: a request names only the response that it goes on from."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000


class Threads:
    """Which session a response belongs to. The latest ten thousand are known, in this process only; thread of the event loop."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._latest: OrderedDict[str, str] = OrderedDict()

    def session(self, name: str) -> str:
        """The session that ``name`` (a conversation or a response) belongs to; one never seen before begins its own."""
        return self._sessions.get(name, name)

    def latest(self, session: str) -> str:
        """The latest response in a session: what tells two equal messages in it apart."""
        return self._latest.get(session, "")

    def note(self, response: str, session: str) -> None:
        """A new response in a session."""
        for known, name, value in ((self._sessions, response, session), (self._latest, session, response)):
            known[name] = value
            known.move_to_end(name)
            if len(known) > _MOST:
                known.popitem(last=False)
