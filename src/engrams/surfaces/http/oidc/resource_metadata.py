"""Description of this server for clients that look for a token (RFC 9728), as MCP asks for it.

A refused request names the address of the description; the description names the provider.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Scope

from engrams.api_keys import RIGHTS
from engrams.settings.server import OidcSettings
from engrams.surfaces.http.oidc.token_verifier import SCOPE_PREFIX
from engrams.surfaces.http.permissions import OPEN, OperationPermission, list_permissions

_PATH = "/.well-known/oauth-protected-resource"
_MCP_PATH = re.compile(r"/mcp(/[A-Za-z0-9_-]+)?")
_HOST = re.compile(r"[A-Za-z0-9.:_\[\]-]+")
METADATA_PERMISSIONS: tuple[OperationPermission, ...] = list_permissions(
    ("GET", path, OPEN, "view.provider")
    for path in (_PATH, f"{_PATH}/mcp", f"{_PATH}/mcp/{{profile}}")
)


class ResourceMetadata:
    """Description of the server and of its MCP paths as protected resources."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings

    def list_routes(self) -> list[Route]:
        """Build the routes of the descriptions."""
        return [
            Route(row.path, self._describe, methods=["GET"], include_in_schema=False)
            for row in METADATA_PERMISSIONS
        ]

    def challenge(self, scope: Scope, error: str, detail: str, rights: Sequence[str]) -> str:
        """Write the header ``WWW-Authenticate`` of a refusal.

        ``error``: its code (RFC 6750); empty: the request had no token. ``rights``: needed ones.
        """
        parts = ['Bearer realm="engrams"']
        if error:
            parts += [f'error="{error}"', f'error_description="{_to_quotable(detail)}"']
        if rights and self._settings.rights_claim:
            parts.append(f'scope="{" ".join(SCOPE_PREFIX + right for right in rights)}"')
        address = self._find_address(scope)
        if address:
            path = scope["path"] if _MCP_PATH.fullmatch(scope["path"]) else ""
            parts.append(f'resource_metadata="{address}{_PATH}{path}"')
        return ", ".join(parts)

    async def _describe(self, request: Request) -> JSONResponse:
        path = request.url.path.removeprefix(_PATH)
        fields: dict[str, object] = {
            "resource": self._find_address(request.scope) + path,
            "authorization_servers": [self._settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "engrams",
        }
        if self._settings.rights_claim:
            fields["scopes_supported"] = [SCOPE_PREFIX + right for right in RIGHTS]
        return JSONResponse(fields)

    def _find_address(self, scope: Scope) -> str:
        """Find the address of the server as clients write it; empty: the request names none."""
        if self._settings.public_url:
            return self._settings.public_url.rstrip("/")
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        return f"{scope['scheme']}://{host}" if _HOST.fullmatch(host) else ""


def _to_quotable(text: str) -> str:
    """Leave out what the quoted text of a header may not hold (RFC 6750)."""
    return "".join(char for char in text if " " <= char <= "~" and char not in '"\\')
