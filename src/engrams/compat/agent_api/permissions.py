"""Rights and names of the operations under ``/api``."""

from __future__ import annotations

from engrams.surfaces.http.permissions import list_permissions

AGENT_PERMISSIONS = list_permissions(
    (
        ("GET", "/api/meta", "read", "view.meta"),
        ("GET", "/api/agents", "read", "view.meta"),
        ("GET", "/api/jobs", "read", "job.list"),
        ("GET", "/api/state", "read", "view.state"),
        ("GET", "/api/state/{agent}", "read", "view.state"),
        ("GET", "/api/l4", "read", "view.graph"),
        ("GET", "/api/registry/{agent}", "read", "memory.list"),
        ("POST", "/api/chat/{agent}", "write", "memory.chat"),
        ("POST", "/api/explain/{agent}", "read", "memory.explain", "search_memory"),
        ("POST", "/api/seed/{agent}", "write", "memory.add", "create_memory"),
        ("POST", "/api/consolidate/{agent}", "write", "memory.consolidate"),
        ("POST", "/api/abstract/{agent}", "write", "memory.abstract"),
        ("POST", "/api/kg/dedupe", "write", "memory.dedupe"),
        ("POST", "/api/reset", "admin", "memory.reset", "delete_memory"),
        ("GET", "/api/memory/status", "read", "view.stats"),
        ("PATCH", "/api/memory/recall", "write", "memory.recall"),
        ("GET", "/api/memory/{product}", "read", "memory.list"),
        ("DELETE", "/api/memory/{product}/{n}", "write", "memory.forget", "delete_memory"),
    )
)
"""Operations of the agent and of the person's control."""
