"""Find the route of a path without parameters at once."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

_CHOSEN = "engrams.route"


class FixedPathRoute(BaseRoute):
    """Index of routes without path parameters, to stand before them all.

    Each is the one that trying ``routes`` in their order would find.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        fixed = [route for route in routes if isinstance(route, Route) and "{" not in route.path]
        asked = {(method, route.path) for route in fixed for method in route.methods or ()}
        self._routes = {(method, path): _find_first(routes, method, path) for method, path in asked}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        route = (
            None
            if scope["type"] != "http" or scope.get("root_path")
            else self._routes.get((scope["method"], scope["path"]))
        )
        if route is None:
            return Match.NONE, {}
        match, found = route.matches(scope)
        return match, {**found, _CHOSEN: route}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_CHOSEN].handle(scope, receive, send)


def _find_first(routes: Sequence[BaseRoute], method: str, path: str) -> BaseRoute:
    asked = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    return next(route for route in routes if route.matches(asked)[0] is Match.FULL)
