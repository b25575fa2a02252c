"""Answer 405 for the other methods of known paths, so that they never reach an upstream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from engrams.surfaces.http.problems import SCHEMA_HINT, make_problem


class MethodNotAllowedRoutes:
    """Answer 405 with the allowed methods for paths of ``routes``, else 404."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        matching = [route for route in self._routes if route.matches(scope)[0] is Match.PARTIAL]
        if matching:
            problem = make_problem(
                405, "Method Not Allowed", f"{scope['method']} is not for this path.", SCHEMA_HINT
            )
            methods = {method for route in matching for method in route.methods or ()}
            problem.headers["allow"] = ", ".join(sorted(methods))
        else:
            problem = make_problem(404, "Not Found", "There is nothing at this path.", SCHEMA_HINT)
        await problem(scope, receive, send)

    def routes_for(self, paths: Iterable[str]) -> list[BaseRoute]:
        """Build routes for every method, to be added after the real ones."""
        return [Route(path, self, include_in_schema=False) for path in dict.fromkeys(paths)]

    @property
    def paths(self) -> list[str]:
        """List the paths of the real routes."""
        return [route.path for route in self._routes]
