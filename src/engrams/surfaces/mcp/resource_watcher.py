"""Notifications to clients whose subscribed resources changed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError

from engrams.errors import ClosedError, EngramsError

_log = logging.getLogger(__name__)
_SECONDS = 0.5
"""Time between two looks, while anything is watched."""
_MOST = 1000


class ResourceWatcher:
    """Watches the resources that clients subscribed to, whoever changes them.

    ``revision``: a number that differs after every change of memory, by any process. ``read``: the
    content of a resource, empty where there is none. Both protocols are served: streams of
    ``subscriptions/listen``, and the older ``resources/subscribe``.
    """

    def __init__(self, revision: Callable[[], int], read: Callable[[str], Awaitable[str]]) -> None:
        self._revision = revision
        self._read = read
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._watched: Counter[str] = Counter()
        self._known: dict[str, str] = {}
        self._seen = -1
        self._tasks: TaskGroup | None = None
        self._watching = False

    @asynccontextmanager
    async def run(self, _server: object) -> AsyncIterator[None]:
        """Hold the task that looks; the server's lifespan."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        wanted: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves."""
        uris = tuple(wanted.notifications.resource_subscriptions or ())
        await self._add(uris)
        try:
            return await self._streams(context, wanted)
        finally:
            self._remove(uris)

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], wanted: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe a connection of the older protocol to one resource."""
        uri = str(wanted.uri)
        connection = context.session._connection  # noqa: SLF001 - the only key to what outlives a request
        held: dict[str, Callable[[], None]] = connection.state.setdefault(
            "engrams.subscriptions", {}
        )
        if uri in held:
            return types.EmptyResult()
        if not held:
            connection.exit_stack.callback(lambda: [drop() for drop in list(held.values())])

        def tell(event: ServerEvent) -> None:
            if event == ResourceUpdated(uri) and self._tasks is not None:
                # Of a connection that broke meanwhile the message is dropped.
                self._tasks.start_soon(connection.send_resource_updated, uri)

        await self._add([uri])
        stop = self._bus.subscribe(tell)

        def drop() -> None:
            if held.pop(uri, None):
                stop()
                self._remove([uri])

        held[uri] = drop
        return types.EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], wanted: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End a subscription of the older protocol; none there is no error."""
        held = context.session._connection.state.get("engrams.subscriptions", {})  # noqa: SLF001 - as above
        if drop := held.get(str(wanted.uri)):
            drop()
        return types.EmptyResult()

    async def _add(self, uris: Sequence[str]) -> None:
        fresh = {uri for uri in uris if uri not in self._watched}
        if len(self._watched) + len(fresh) > _MOST:
            raise MCPError(
                types.INVALID_REQUEST,
                f"More than {_MOST} resources are watched. Unsubscribe from some.",
            )
        self._watched.update(uris)
        try:
            for uri in fresh:
                self._known[uri] = await self._read(uri)
        except BaseException:
            self._remove(uris)
            raise
        if self._watched and not self._watching and self._tasks is not None:
            self._watching = True
            self._tasks.start_soon(self._watch)

    def _remove(self, uris: Iterable[str]) -> None:
        self._watched.subtract(uris)
        self._watched = +self._watched
        self._known = {uri: text for uri, text in self._known.items() if uri in self._watched}

    async def _watch(self) -> None:
        while self._watched:
            await anyio.sleep(_SECONDS)
            try:
                await self._look()
            except ClosedError:
                break
            except EngramsError as problem:
                # Busy or full: the next look finds the same change.
                _log.warning("watched resources: %s", problem.message)
        self._watching = False

    async def _look(self) -> None:
        revision = await anyio.to_thread.run_sync(self._revision)
        if revision == self._seen:
            return
        for uri in list(self._watched):
            text = await self._read(uri)
            if uri in self._known and text != self._known[uri]:
                self._known[uri] = text
                await self._bus.publish(ResourceUpdated(uri))
        self._seen = revision
