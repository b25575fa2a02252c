"""Notifications to clients whose subscribed resources changed.

No part of memory tells of its changes, since any process may make them: while somebody is
subscribed, `ResourceWatcher` looks twice a second.
"""

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
_PAUSE_SECONDS = 0.5
"""Time between two looks, while anything is watched."""
_MAX_WATCHED = 1000
_SUBSCRIPTIONS = "engrams.subscriptions"
"""Entry of a connection's state: resource -> function that ends its subscription."""


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
        """Resource -> its subscriptions."""
        self._contents: dict[str, str] = {}
        """Resource -> its content at the last look."""
        self._last_revision = -1
        self._tasks: TaskGroup | None = None
        self._is_watching = False

    @asynccontextmanager
    async def run(self, _server: object) -> AsyncIterator[None]:
        """Run the tasks of the watcher as long as the server lives."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        parameters: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves."""
        uris = tuple(parameters.notifications.resource_subscriptions or ())
        await self._add(uris)
        try:
            return await self._streams(context, parameters)
        finally:
            self._remove(uris)

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], parameters: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe a connection of the older protocol to one resource."""
        uri = str(parameters.uri)
        connection = context.session._connection  # noqa: SLF001 - the only key to what outlives a request
        subscriptions: dict[str, Callable[[], None]] = connection.state.setdefault(
            _SUBSCRIPTIONS, {}
        )
        if uri in subscriptions:
            return types.EmptyResult()
        if not subscriptions:
            connection.exit_stack.callback(
                lambda: [drop() for drop in list(subscriptions.values())]
            )

        def notify(event: ServerEvent) -> None:
            if event == ResourceUpdated(uri) and self._tasks is not None:
                # Of a connection that broke meanwhile the message is dropped.
                self._tasks.start_soon(connection.send_resource_updated, uri)

        await self._add([uri])
        stop_notifying = self._bus.subscribe(notify)

        def drop() -> None:
            if subscriptions.pop(uri, None):
                stop_notifying()
                self._remove([uri])

        subscriptions[uri] = drop
        return types.EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], parameters: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End a subscription of the older protocol; none there is no error."""
        subscriptions = context.session._connection.state.get(_SUBSCRIPTIONS, {})  # noqa: SLF001 - as above
        drop = subscriptions.get(str(parameters.uri))
        if drop is not None:
            drop()
        return types.EmptyResult()

    async def _add(self, uris: Sequence[str]) -> None:
        unwatched = {uri for uri in uris if uri not in self._watched}
        if len(self._watched) + len(unwatched) > _MAX_WATCHED:
            raise MCPError(
                types.INVALID_REQUEST,
                f"More than {_MAX_WATCHED} resources are watched. Unsubscribe from some.",
            )
        self._watched.update(uris)
        try:
            for uri in unwatched:
                self._contents[uri] = await self._read(uri)
        except BaseException:
            self._remove(uris)
            raise
        if self._watched and not self._is_watching and self._tasks is not None:
            self._is_watching = True
            self._tasks.start_soon(self._watch)

    def _remove(self, uris: Iterable[str]) -> None:
        self._watched.subtract(uris)
        self._watched = +self._watched  # without those at 0
        self._contents = {uri: text for uri, text in self._contents.items() if uri in self._watched}

    async def _watch(self) -> None:
        while self._watched:
            await anyio.sleep(_PAUSE_SECONDS)
            try:
                await self._check_resources()
            except ClosedError:
                break
            except EngramsError as error:
                # Busy or full: the next look finds the same change.
                _log.warning("watched resources: %s", error.message)
        self._is_watching = False

    async def _check_resources(self) -> None:
        revision = await anyio.to_thread.run_sync(self._revision)
        if revision == self._last_revision:
            return
        for uri in list(self._watched):
            text = await self._read(uri)
            if uri in self._contents and text != self._contents[uri]:
                self._contents[uri] = text
                await self._bus.publish(ResourceUpdated(uri))
        self._last_revision = revision
