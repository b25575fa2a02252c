"""Role of one process among several that serve a home, and how they keep each other informed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from engrams.ipc.worker_links import WorkerLinks


@dataclass(frozen=True, slots=True)
class ServerRole:
    """Role of a server process among others on the same port."""

    leads: bool = True
    """True for the one that follows files, answers commands, reports work and sweeps logs."""

    links: WorkerLinks | None = None
    """Links to the other processes; None: there are none."""

    restart: Callable[[], None] | None = None
    """Ends this round of serving and begins another with settings that are read anew. None: only a
    person can restart the server.
    """


class PeerMiddleware:
    """Take in the news of other processes before each request.

    News for them that may wait are sent when no request is under way.
    """

    def __init__(self, app: ASGIApp, links: WorkerLinks) -> None:
        self._app = app
        self._links = links
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._links.hear()
        self._under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._links.flush()
