"""Parts of a server that takes a provider's tokens; all empty where it takes none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.ports import Clock
from engrams.settings import Settings

if TYPE_CHECKING:
    from starlette.routing import Route

    from engrams.surfaces.http.oidc.resource_metadata import ResourceMetadata
    from engrams.surfaces.http.oidc.token_verifier import OidcTokenVerifier
    from engrams.surfaces.http.permissions import OperationPermission


@dataclass(frozen=True, slots=True)
class TokenAuthorization:
    """Verifier of tokens, and the description by which clients find their provider."""

    tokens: OidcTokenVerifier | None = None
    metadata: ResourceMetadata | None = None
    permissions: Sequence[OperationPermission] = ()
    routes: Sequence[Route] = ()


def open_token_authorization(settings: Settings, clock: Clock) -> TokenAuthorization:
    """Open what a provider's tokens need. ExtraError: its package is not installed."""
    oidc = settings.serve.oidc
    if not oidc.issuer:
        return TokenAuthorization()
    require_token_package()
    from engrams.surfaces.http.oidc.page_login import LOGIN_PERMISSIONS, PageLogin
    from engrams.surfaces.http.oidc.resource_metadata import METADATA_PERMISSIONS, ResourceMetadata
    from engrams.surfaces.http.oidc.token_verifier import OidcTokenVerifier

    tokens = OidcTokenVerifier(oidc, clock)
    metadata = ResourceMetadata(oidc)
    permissions = [*METADATA_PERMISSIONS]
    routes = metadata.list_routes()
    if oidc.client_id:
        permissions += LOGIN_PERMISSIONS
        routes += PageLogin(oidc, tokens, clock).list_routes()
    return TokenAuthorization(tokens, metadata, permissions, routes)


def require_token_package() -> None:
    """Raise ExtraError where the packages that check tokens are not installed."""
    for package in ("jwt", "cryptography"):
        if find_spec(package) is None:
            raise ExtraError(
                f"The package that checks tokens is not installed ({package}).",
                hint=install_hint("oidc"),
            )
