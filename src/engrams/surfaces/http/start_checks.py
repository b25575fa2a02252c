"""Settings with which a server must not start: reachable by everybody, or its own upstream."""

from __future__ import annotations

import os
from contextlib import closing
from urllib.parse import urlsplit

from engrams import admin
from engrams.core.clock import now
from engrams.errors import SettingsError
from engrams.settings import Settings
from engrams.settings.server import OidcSettings
from engrams.surfaces.http.oidc.token_authorization import require_token_package
from engrams.surfaces.http.origin_guard import is_loopback

_FIRST_KEY = (
    "Create one: `engrams keys add NAME --user WHOSE --right read --right write --right proxy`."
)


def check_settings(settings: Settings) -> None:
    """Refuse unsafe settings.

    SettingsError: reachable without a key, its own upstream, nobody's memory.
    """
    serve = settings.serve
    settings.owner_labels("any")  # raises where nobody's memory would be meant
    _check_provider(serve.oidc)
    host = serve.host.strip("[]").casefold()
    needs_key = not is_loopback(host) or serve.require_keys == "always"
    has_key = bool(serve.oidc.issuer) or (needs_key and _has_live_key(settings))
    if not is_loopback(host) and not has_key:
        raise SettingsError(
            f"serve.host is {serve.host!r}: everyone who can reach that address could read this"
            " memory.",
            hint=f"{_FIRST_KEY} Or listen on 127.0.0.1.",
        )
    if serve.require_keys == "always" and not has_key:
        raise SettingsError("serve.require_keys is always, and there is no key.", hint=_FIRST_KEY)
    if _is_own_upstream(serve.upstream, serve.port):
        raise SettingsError(
            "serve.upstream is this server itself.",
            hint="Name the model server behind it, or change serve.port.",
        )


def require_shareable(settings: Settings) -> None:
    """Refuse several workers where they cannot serve one memory. SettingsError: why."""
    if os.name == "nt":
        raise SettingsError(
            "serve.workers is for Linux and macOS: on Windows processes do not share a port.",
            hint="Leave it at 1.",
        )
    if settings.is_volatile:
        raise SettingsError(
            "This memory is in one process only, and several workers need one that they share.",
            hint="Leave it at 1.",
        )


def _check_provider(oidc: OidcSettings) -> None:
    """Refuse a provider whose tokens nobody could trust. SettingsError: why.

    ExtraError: the package that checks tokens is not installed.
    """
    if not oidc.issuer:
        return
    address = urlsplit(oidc.issuer)
    is_local = address.scheme == "http" and is_loopback(address.hostname or "")
    if not address.hostname or (address.scheme != "https" and not is_local):
        raise SettingsError(
            f"serve.oidc.issuer is {oidc.issuer!r}, and the way to it is not protected.",
            hint="Give the https address that the provider writes into its tokens as `iss`.",
        )
    if not any(audience.strip() for audience in oidc.audience):
        raise SettingsError(
            "serve.oidc.audience is empty: tokens for any other program would open this memory.",
            hint="Give the name of this server at the provider, as its tokens have it in `aud`.",
        )
    require_token_package()


def _has_live_key(settings: Settings) -> bool:
    with closing(admin.open_keys(settings)) as keys:
        return any(key.is_live(now()) for key in keys.list())


def _is_own_upstream(upstream: str, port: int) -> bool:
    """Return True if requests that are relayed would come back to this server."""
    url = urlsplit(upstream)
    if not url.hostname or not is_loopback(url.hostname) or not port:
        return False
    return port == (url.port or (443 if url.scheme == "https" else 80))
