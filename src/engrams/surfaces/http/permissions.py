"""Table of operations: right, name in audit log, name in traces."""

from __future__ import annotations

from engrams.frozen_data import dataclass

PROXY = "proxy"
OPEN = ""
"""No right needed: the page without its data, health, the description of the API."""

_SLASHED = ("v1", "v2", "v3", "api")


@dataclass(frozen=True, slots=True)
class OperationPermission:
    """Right and audit name of one HTTP operation.

    ``operation``: its name in the GenAI conventions, if it has one.
    """

    name: str
    right: str
    path: str
    operation: str = ""

    @property
    def is_read(self) -> bool:
        return self.right == "read"

    @property
    def is_search(self) -> bool:
        return self.operation == "search_memory"


def _index_permissions(
    *rows: tuple[str, str, str, str, str],
) -> dict[tuple[str, int], list[tuple[tuple[str, ...], OperationPermission]]]:
    found: dict[tuple[str, int], list[tuple[tuple[str, ...], OperationPermission]]] = {}
    for method, path, right, name, operation in rows:
        parts = tuple(path.split("/")[1:])
        found.setdefault((method, len(parts)), []).append(
            (parts, OperationPermission(name, right, path, operation))
        )
    return found


_PERMISSIONS = _index_permissions(
    ("POST", "/v1/memories", "write", "memory.add", "create_memory"),
    ("GET", "/v1/memories", "read", "memory.list", ""),
    ("GET", "/v1/memories/{id}", "read", "memory.read", ""),
    ("PATCH", "/v1/memories/{id}", "write", "memory.edit", "update_memory"),
    ("DELETE", "/v1/memories/{id}", "write", "memory.forget", "delete_memory"),
    ("GET", "/v1/memories/{id}/history", "read", "memory.history", ""),
    ("POST", "/v1/memories/{id}/restore", "write", "memory.restore", "update_memory"),
    ("POST", "/v1/used", "write", "memory.used", ""),
    ("POST", "/v1/purge", "write", "memory.purge", "delete_memory"),
    ("POST", "/v1/purge/about", "read", "memory.preview", ""),
    ("POST", "/v1/preview", "read", "memory.preview", ""),
    ("POST", "/v1/search", "read", "memory.search", "search_memory"),
    ("POST", "/v1/explain", "read", "memory.explain", "search_memory"),
    ("POST", "/v1/context", "read", "memory.context", "search_memory"),
    ("GET", "/v1/scopes", "read", "view.scopes", ""),
    ("GET", "/v1/stats", "read", "view.stats", ""),
    ("GET", "/v1/stats/series", "read", "view.series", ""),
    ("GET", "/v1/state", "read", "view.state", ""),
    ("GET", "/v1/settings", "admin", "view.settings", ""),
    ("GET", "/v1/settings/model", "admin", "view.settings", ""),
    ("PUT", "/v1/settings/model", "admin", "settings.model", ""),
    ("POST", "/v1/settings/model/servers", "admin", "view.models", ""),
    ("POST", "/v1/settings/model/test", "admin", "settings.test", ""),
    ("GET", "/v1/audit", "read", "view.audit", ""),
    ("POST", "/v1/safety", "admin", "safety.add", ""),
    ("GET", "/v1/safety", "admin", "view.safety", ""),
    ("DELETE", "/v1/safety", "admin", "safety.purge", ""),
    ("POST", "/v1/feedback", "write", "feedback.add", ""),
    ("GET", "/v1/feedback", "read", "view.feedback", ""),
    ("GET", "/v1/sessions", "read", "view.sessions", ""),
    ("GET", "/v1/sessions/{id}", "read", "view.sessions", ""),
    ("POST", "/v1/sessions/{id}/end", "write", "session.end", ""),
    ("GET", "/v1/graph", "read", "view.graph", ""),
    ("GET", "/v1/notebook", "read", "view.notebook", ""),
    ("GET", "/v1/timeline", "read", "view.timeline", ""),
    ("GET", "/v1/jobs", "read", "job.list", ""),
    ("POST", "/v1/jobs/retry", "write", "job.retry", ""),
    ("GET", "/v1/garden", "read", "garden.status", ""),
    ("GET", "/v1/garden/plan", "read", "garden.plan", ""),
    ("GET", "/v1/garden/reports", "read", "garden.reports", ""),
    ("GET", "/v1/garden/conflicts", "read", "garden.conflicts", ""),
    ("POST", "/v1/garden/run", "write", "garden.run", ""),
    ("POST", "/v1/garden/undo", "write", "garden.undo", ""),
    ("POST", "/v1/garden/decide", "write", "garden.decide", ""),
    ("POST", "/v1/garden/queue", "write", "garden.wake", ""),
    ("DELETE", "/v1/garden/queue/{id}", "write", "garden.cancel", ""),
    ("POST", "/v1/garden/pause", "write", "garden.pause", ""),
    ("GET", "/v1/export", "read", "memory.export", ""),
    ("POST", "/v1/export", "read", "memory.export", ""),
    ("POST", "/v1/import", "write", "memory.import", "upsert_memory"),
    ("POST", "/v1/imports", "write", "memory.import", "upsert_memory"),
    ("GET", "/v1/imports", "read", "view.imports", ""),
    ("GET", "/v1/imports/{id}", "read", "view.imports", ""),
    ("PATCH", "/v1/imports/{id}", "write", "memory.import", "upsert_memory"),
    ("POST", "/v1/imports/{id}/undo", "write", "import.undo", "delete_memory"),
    ("DELETE", "/v1/imports/{id}", "write", "import.drop", ""),
    ("PUT", "/v1/memories/{id}", "write", "memory.edit", "update_memory"),
    ("DELETE", "/v1/memories", "write", "memory.forget", "delete_memory"),
    ("PUT", "/v1/batch", "write", "memory.edit", "update_memory"),
    ("DELETE", "/v1/batch", "write", "memory.forget", "delete_memory"),
    ("GET", "/v1/entities", "read", "view.scopes", ""),
    ("GET", "/v1/ping", "read", "view.ping", ""),
    ("DELETE", "/v2/entities/{kind}/{name}", "write", "memory.forget", "delete_memory"),
    ("POST", "/v3/memories/add", "write", "memory.add", "create_memory"),
    ("POST", "/v3/memories/search", "read", "memory.search", "search_memory"),
    ("POST", "/v3/memories", "read", "memory.list", ""),
    ("POST", "/v1/exports", "read", "memory.export", ""),
    ("POST", "/v1/exports/get", "read", "memory.export", ""),
    ("POST", "/v1/summary", "read", "memory.context", ""),
    ("GET", "/v2/entities/user/{name}/profile", "read", "memory.context", ""),
    ("GET", "/v2/profiles/settings", "read", "view.settings", ""),
    ("POST", "/v2/profiles/settings", "read", "view.settings", ""),
    ("POST", "/v2/profiles/jobs", "read", "memory.context", ""),
    ("GET", "/v2/profiles/jobs/{id}", "read", "memory.context", ""),
    (
        "GET",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
        "read",
        "view.settings",
        "",
    ),
    (
        "PATCH",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
        "read",
        "view.settings",
        "",
    ),
    (
        "DELETE",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
        "read",
        "view.settings",
        "",
    ),
    ("POST", "/api/v1/orgs/organizations/{org_id}/projects", "read", "view.settings", ""),
    (
        "GET",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
        "read",
        "view.settings",
        "",
    ),
    (
        "POST",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
        "read",
        "view.settings",
        "",
    ),
    (
        "PUT",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
        "read",
        "view.settings",
        "",
    ),
    (
        "DELETE",
        "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
        "read",
        "view.settings",
        "",
    ),
    ("GET", "/api/v1/webhooks/projects/{project_id}", "write", "webhook.list", ""),
    ("POST", "/api/v1/webhooks/projects/{project_id}", "write", "webhook.add", ""),
    ("PUT", "/api/v1/webhooks/{id}", "write", "webhook.edit", ""),
    ("DELETE", "/api/v1/webhooks/{id}", "write", "webhook.delete", ""),
    ("POST", "/reset", "write", "memory.forget", "delete_memory"),
    ("GET", "/configure", "read", "view.settings", ""),
    ("POST", "/configure", "read", "view.settings", ""),
    ("POST", "/memories", "write", "memory.add", "create_memory"),
    ("GET", "/memories", "read", "memory.list", ""),
    ("DELETE", "/memories", "write", "memory.forget", "delete_memory"),
    ("GET", "/memories/{id}", "read", "memory.read", ""),
    ("PUT", "/memories/{id}", "write", "memory.edit", "update_memory"),
    ("DELETE", "/memories/{id}", "write", "memory.forget", "delete_memory"),
    ("GET", "/memories/{id}/history", "read", "memory.history", ""),
    ("POST", "/search", "read", "memory.search", "search_memory"),
    ("GET", "/api/meta", "read", "view.meta", ""),
    ("GET", "/api/agents", "read", "view.meta", ""),
    ("GET", "/api/jobs", "read", "job.list", ""),
    ("GET", "/api/state", "read", "view.state", ""),
    ("GET", "/api/state/{agent}", "read", "view.state", ""),
    ("GET", "/api/l4", "read", "view.graph", ""),
    ("GET", "/api/registry/{agent}", "read", "memory.list", ""),
    ("POST", "/api/chat/{agent}", "write", "memory.chat", ""),
    ("POST", "/api/explain/{agent}", "read", "memory.explain", "search_memory"),
    ("POST", "/api/seed/{agent}", "write", "memory.add", "create_memory"),
    ("POST", "/api/consolidate/{agent}", "write", "memory.consolidate", ""),
    ("POST", "/api/abstract/{agent}", "write", "memory.abstract", ""),
    ("POST", "/api/kg/dedupe", "write", "memory.dedupe", ""),
    ("POST", "/api/reset", "admin", "memory.reset", "delete_memory"),
    ("GET", "/api/memory/status", "read", "view.stats", ""),
    ("PATCH", "/api/memory/recall", "write", "memory.recall", ""),
    ("GET", "/api/memory/{product}", "read", "memory.list", ""),
    ("DELETE", "/api/memory/{product}/{n}", "write", "memory.forget", "delete_memory"),
    ("GET", "/metrics", "admin", "view.metrics", ""),
    ("GET", "/health", OPEN, "view.health", ""),
    ("GET", "/ready", OPEN, "view.ready", ""),
    ("GET", "/openapi.json", OPEN, "view.description", ""),
    ("GET", "/", OPEN, "view.page", ""),
)

_V1_SEGMENTS = frozenset(
    parts[1]
    for rows in _PERMISSIONS.values()
    for parts, _ in rows
    if parts[0] == "v1" and len(parts) > 1
)
_NOTHING = OperationPermission("nothing", "read", "other")
_PROXIED = OperationPermission("proxy", PROXY, "proxy")
_CHAT = OperationPermission("proxy.chat", PROXY, "/v1/chat/completions")
_MCP = OperationPermission("mcp", "write", "/mcp")
_MCP_SEARCH = OperationPermission("mcp", "read", "/mcp/search")
"""Tools over MCP; those of the profile ``search`` only read."""
_FILES = OperationPermission("view.page", OPEN, "/ui/")


def find_permission(method: str, path: str) -> OperationPermission:
    """Find the permission of a request.

    Paths are compared as they stand: ``/health/`` is not ``/health``. An unknown path below ours
    takes the right to read; every other path is the proxy's.
    """
    return _FIXED.get((method, path)) or _search_table(method, path)


def _search_table(method: str, path: str) -> OperationPermission:
    method = "GET" if method == "HEAD" else method
    parts = tuple(path.split("/")[1:])
    for known, act in _PERMISSIONS.get((method, len(parts)), ()):
        if all(
            mine == its or (mine.startswith("{") and its)
            for mine, its in zip(known, parts, strict=True)
        ):
            return act
    if parts[0] in _SLASHED and parts[-1] == "" and len(parts) > 1:
        # Clients of mem0 end these paths with a slash.
        return find_permission(method, path.removesuffix("/"))
    if path.startswith("/ui/") and method == "GET":
        return _FILES
    if parts[0] == "v1" and len(parts) > 1 and parts[1] in _V1_SEGMENTS:
        return _NOTHING
    if parts[0] == "mcp":
        return _MCP_SEARCH if path == _MCP_SEARCH.path else _MCP
    return _CHAT if path in (_CHAT.path, _CHAT.path.removeprefix("/v1")) else _PROXIED


_FIXED = {
    (method, act.path): _search_table(method, act.path)
    for (method, _), rows in _PERMISSIONS.items()
    for _, act in rows
    if "{" not in act.path
}
"""Operations of paths without parameters."""


def list_operations() -> set[tuple[str, str]]:
    """List every method and path of the table."""
    return {(method, act.path) for (method, _), rows in _PERMISSIONS.items() for _, act in rows}
