"""Part of one process in serving a home."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from engrams.frozen_data import dataclass
from engrams.ipc.worker_links import WorkerLinks


@dataclass(frozen=True, slots=True)
class ServerRole:
    """Role of a server process among others on the same port.

    ``leads``: it does what one process must do alone: follow files, answer commands, report work,
    sweep logs. ``links``: to the other processes; None: there are none.
    """

    leads: bool = True
    links: WorkerLinks | None = None


class PeerMiddleware:
    """Take in what other processes told before each request.

    What waits to be told them goes when no request is under way.
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
