"""Rights of requests: which right an operation takes, and its name in the audit log and in traces.

A mount brings the rows of its own operations; `PermissionTable` finds the one of a request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PROXY = "proxy"
OPEN = ""
"""No right needed: the page without its data, health, the description of the API."""

_SLASHED = ("v1", "v2", "v3", "api")
"""First segments below which a path may end with a slash, as clients of mem0 write it."""


@dataclass(frozen=True, slots=True)
class OperationPermission:
    """Right and names of one HTTP operation."""

    method: str
    """Method of the request; empty where any method is meant."""

    path: str
    """Path of the route, with its parameters in braces; also the route's name in metrics."""

    right: str
    """Right that a key needs: ``read``, ``write``, ``admin``, PROXY or OPEN."""

    name: str
    """Name in the audit log."""

    operation: str = ""
    """Name in the GenAI conventions for traces, if it has one."""

    @property
    def is_read(self) -> bool:
        return self.right == "read"

    @property
    def is_search(self) -> bool:
        return self.operation == "search_memory"


PermissionRow = tuple[str, str, str, str] | tuple[str, str, str, str, str]
"""Method, path, right, name and perhaps the GenAI operation."""


def list_permissions(rows: Iterable[PermissionRow]) -> tuple[OperationPermission, ...]:
    """Make permissions of rows."""
    return tuple(OperationPermission(*row) for row in rows)


SERVER_PERMISSIONS = list_permissions(
    (
        ("GET", "/metrics", "admin", "view.metrics"),
        ("GET", "/health", OPEN, "view.health"),
        ("GET", "/ready", OPEN, "view.ready"),
        ("GET", "/openapi.json", OPEN, "view.description"),
        ("GET", "/", OPEN, "view.page"),
        ("POST", "/ui/share", OPEN, "view.page"),
    )
)
"""Operations of the server itself, without any mount, and the page's address."""

_UNKNOWN = OperationPermission("", "other", "read", "nothing")
"""Paths below ours at which there is nothing."""
_PROXIED = OperationPermission("", "proxy", PROXY, "proxy")
_CHAT = OperationPermission("", "/v1/chat/completions", PROXY, "proxy.chat")
_MCP = OperationPermission("", "/mcp", "write", "mcp")
_MCP_SEARCH = OperationPermission("", "/mcp/search", "read", "mcp")
"""Tools over MCP; those of the profile ``search`` only read."""
_PAGE_FILES = OperationPermission("GET", "/ui/", OPEN, "view.page")


class PermissionTable:
    """Permissions of all operations of a server, found by method and path."""

    def __init__(self, permissions: Iterable[OperationPermission]) -> None:
        self._rows: dict[tuple[str, int], list[tuple[tuple[str, ...], OperationPermission]]] = {}
        self._v1_segments = set[str]()
        fixed = []
        for permission in permissions:
            segments = _split(permission.path)
            key = (permission.method, len(segments))
            self._rows.setdefault(key, []).append((segments, permission))
            if segments[0] == "v1" and len(segments) > 1:
                self._v1_segments.add(segments[1])
            if "{" not in permission.path:
                fixed.append(permission)
        # Most requests name a path without parameters: these are found without a comparison.
        self._fixed = {
            (permission.method, permission.path): self._search(permission.method, permission.path)
            for permission in fixed
        }

    def find(self, method: str, path: str) -> OperationPermission:
        """Find the permission of a request.

        Paths are compared as they stand: ``/health/`` is not ``/health``. An unknown path below
        ours takes the right to read; every other path is the proxy's.
        """
        return self._fixed.get((method, path)) or self._search(method, path)

    def _search(self, method: str, path: str) -> OperationPermission:
        method = "GET" if method == "HEAD" else method
        segments = _split(path)
        for pattern, permission in self._rows.get((method, len(segments)), ()):
            if _matches(pattern, segments):
                return permission
        if segments[0] in _SLASHED and segments[-1] == "" and len(segments) > 1:
            return self.find(method, path.removesuffix("/"))
        if path.startswith("/ui/") and method == "GET":
            return _PAGE_FILES
        if segments[0] == "v1" and len(segments) > 1 and segments[1] in self._v1_segments:
            return _UNKNOWN
        if segments[0] == "mcp":
            return _MCP_SEARCH if path == _MCP_SEARCH.path else _MCP
        return _CHAT if path in (_CHAT.path, _CHAT.path.removeprefix("/v1")) else _PROXIED


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("/")[1:])


def _matches(pattern: tuple[str, ...], segments: tuple[str, ...]) -> bool:
    """Return True if every segment is the pattern's, or fills a parameter of it."""
    return all(
        expected == segment or (expected.startswith("{") and segment)
        for expected, segment in zip(pattern, segments, strict=True)
    )
