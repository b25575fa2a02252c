"""Rights and names of the operations of mem0's APIs."""

from __future__ import annotations

from engrams.surfaces.http.permissions import list_permissions

MEM0_PERMISSIONS = list_permissions(
    (
        ("PUT", "/v1/memories/{id}", "write", "memory.edit", "update_memory"),
        ("DELETE", "/v1/memories", "write", "memory.forget", "delete_memory"),
        ("PUT", "/v1/batch", "write", "memory.edit", "update_memory"),
        ("DELETE", "/v1/batch", "write", "memory.forget", "delete_memory"),
        ("GET", "/v1/entities", "read", "view.scopes"),
        ("GET", "/v1/ping", "read", "view.ping"),
        ("DELETE", "/v2/entities/{kind}/{name}", "write", "memory.forget", "delete_memory"),
        ("POST", "/v3/memories/add", "write", "memory.add", "create_memory"),
        ("POST", "/v3/memories/search", "read", "memory.search", "search_memory"),
        ("POST", "/v3/memories", "read", "memory.list"),
        ("POST", "/v1/exports", "read", "memory.export"),
        ("POST", "/v1/exports/get", "read", "memory.export"),
        ("POST", "/v1/summary", "read", "memory.context"),
        ("GET", "/v2/entities/user/{name}/profile", "read", "memory.context"),
        ("GET", "/v2/profiles/settings", "read", "view.settings"),
        ("POST", "/v2/profiles/settings", "read", "view.settings"),
        ("POST", "/v2/profiles/jobs", "read", "memory.context"),
        ("GET", "/v2/profiles/jobs/{id}", "read", "memory.context"),
        (
            "GET",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
            "read",
            "view.settings",
        ),
        (
            "PATCH",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
            "read",
            "view.settings",
        ),
        (
            "DELETE",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}",
            "read",
            "view.settings",
        ),
        ("POST", "/api/v1/orgs/organizations/{org_id}/projects", "read", "view.settings"),
        (
            "GET",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
            "read",
            "view.settings",
        ),
        (
            "POST",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
            "read",
            "view.settings",
        ),
        (
            "PUT",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
            "read",
            "view.settings",
        ),
        (
            "DELETE",
            "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/members",
            "read",
            "view.settings",
        ),
        ("GET", "/api/v1/webhooks/projects/{project_id}", "write", "webhook.list"),
        ("POST", "/api/v1/webhooks/projects/{project_id}", "write", "webhook.add"),
        ("PUT", "/api/v1/webhooks/{id}", "write", "webhook.edit"),
        ("DELETE", "/api/v1/webhooks/{id}", "write", "webhook.delete"),
        ("POST", "/reset", "write", "memory.forget", "delete_memory"),
        ("GET", "/configure", "read", "view.settings"),
        ("POST", "/configure", "read", "view.settings"),
        ("POST", "/memories", "write", "memory.add", "create_memory"),
        ("GET", "/memories", "read", "memory.list"),
        ("DELETE", "/memories", "write", "memory.forget", "delete_memory"),
        ("GET", "/memories/{id}", "read", "memory.read"),
        ("PUT", "/memories/{id}", "write", "memory.edit", "update_memory"),
        ("DELETE", "/memories/{id}", "write", "memory.forget", "delete_memory"),
        ("GET", "/memories/{id}/history", "read", "memory.history"),
        ("POST", "/search", "read", "memory.search", "search_memory"),
    )
)
"""Clients of mem0 end most of these paths with a slash; the table finds them without it."""
