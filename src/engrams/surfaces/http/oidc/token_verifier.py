"""Checks of tokens (JWT) of an OpenID Connect provider; `OidcTokenVerifier` is the entry."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from engrams.api_keys import RIGHTS, ApiKey
from engrams.core import Scope
from engrams.errors import RefusedError, ScopeError
from engrams.ports import Clock
from engrams.settings.server import OidcSettings
from engrams.surfaces.http.oidc.signing_keys import ProviderSigningKeys, PublicKeyFields

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures by a key of the provider alone. ``none`` has no signature, and HS256 takes a secret: a
token signed with the text of a public key would pass as one."""
_SUBJECT_MARK = "oidc:"
"""Beginning of the id of a key that stands for a token. No id of a stored key has a colon."""
SCOPE_PREFIX = "engrams:"
"""Beginning of a word that names a right in a claim, such as ``engrams:read``."""

_TOKEN = re.compile(r"ey[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")
_MAX_TOKEN_CHARS = 16_384
_LEEWAY = timedelta(seconds=30)
"""Time by which the clocks of provider and server may differ."""
_TOKEN_TYPES = ("", "jwt", "at+jwt", "application/at+jwt")
"""Types of a token that opens something. Others are messages, such as a logout."""
_MAX_KEYS_TRIED = 5
"""Keys that a token without the id of its key is checked with."""


class OidcTokenVerifier:
    """Verifier of the tokens of one provider for this server."""

    def __init__(self, settings: OidcSettings, clock: Clock) -> None:
        self._settings = settings
        self._keys = ProviderSigningKeys(settings.issuer, clock)
        # A thread of its own: a provider that does not answer holds up nothing but unknown tokens.
        self._waiting = ThreadPoolExecutor(1, "engrams-oidc")

    @property
    def hint(self) -> str:
        """Say what a client sends."""
        audience = " or ".join(self._settings.audience)
        return (
            f"Send `Authorization: Bearer TOKEN` with a signed token (JWT) of"
            f" {self._settings.issuer} for {audience}, or a key that `engrams keys add` makes."
        )

    def is_token(self, word: str) -> bool:
        """Return True for a text in the form of a signed token."""
        return _TOKEN.fullmatch(word) is not None

    async def find_key(self, token: str, now: datetime) -> ApiKey:
        """Check a token and return the key that it stands for, live or not.

        RefusedError: the token opens nothing, with the reason. StoreError: the provider cannot be
        asked for the key of its signature.
        """
        if len(token) > _MAX_TOKEN_CHARS:
            raise RefusedError(f"The token has more than {_MAX_TOKEN_CHARS:,} characters.")
        key_id, algorithm = _read_header(token)
        keys = self._keys.recall(key_id, algorithm)
        claims = self._check_signature(token, algorithm, keys)
        if claims is None and (key_id is None or not keys):
            loop = asyncio.get_running_loop()
            keys = await loop.run_in_executor(
                self._waiting, self._keys.find, key_id, algorithm, keys
            )
            claims = self._check_signature(token, algorithm, keys)
        if claims is None:
            raise RefusedError("The token is signed with no key that its provider publishes.")
        expires_at = _check_times(claims, now)
        name = self._read_name(claims)
        try:
            owner = Scope(("user", self._settings.owner_prefix + name))
        except ScopeError as problem:
            raise RefusedError(f"The token's owner has no valid name: {problem.message}") from None
        return ApiKey(
            id=_SUBJECT_MARK + name,
            name=name,
            owner=owner,
            rights=self._read_rights(claims),
            digest="",
            created_at=now,
            expires_at=expires_at,
        )

    async def describe_provider(self) -> Mapping[str, Any]:
        """Return the provider's addresses for logins. StoreError: it cannot be asked."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._waiting, self._keys.describe)

    def _check_signature(
        self, token: str, algorithm: str, keys: tuple[PublicKeyFields, ...]
    ) -> Mapping[str, Any] | None:
        """Return the claims of a token that one of the keys has signed; None: none of them has.

        RefusedError: issuer or audience is wrong, or the token cannot be read.
        """
        for key in keys[:_MAX_KEYS_TRIED]:
            try:
                return self._decode(token, algorithm, key)
            except (jwt.InvalidSignatureError, jwt.InvalidKeyError, jwt.PyJWKError):
                continue
            except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as problem:
                raise RefusedError(f"The token is not accepted: {problem}.") from None
        return None

    def _decode(self, token: str, algorithm: str, key: PublicKeyFields) -> Mapping[str, Any]:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            jwt.PyJWK({**key}, algorithm),
            algorithms=[algorithm],
            audience=self._settings.audience,
            issuer=self._settings.issuer,
            # Times are compared with the server's own clock below.
            options={
                "require": ["exp", "iss", "aud"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "enforce_minimum_key_length": True,
            },
        )
        return claims

    def _read_name(self, claims: Mapping[str, Any]) -> str:
        """Read the name of the owner. RefusedError: there is none that can be trusted."""
        claim = self._settings.owner_claim
        name = claims.get(claim)
        if not isinstance(name, str) or not name or name != name.strip():
            raise RefusedError(f"The token has no usable claim {claim!r}.")
        if claim == "email" and claims.get("email_verified") is not True:
            raise RefusedError("The provider has not verified the e-mail address of the token.")
        return name

    def _read_rights(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Read the rights of a token: those of its claim, or those that all tokens have."""
        if not self._settings.rights_claim:
            return tuple(right for right in RIGHTS if right in self._settings.rights)
        value: Any = claims
        # A name with dots may be a path, as of roles in a realm, or the name itself, as of a site.
        path = self._settings.rights_claim.split(".")
        if self._settings.rights_claim in claims:
            path = [self._settings.rights_claim]
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list):
            return ()
        return tuple(right for right in RIGHTS if SCOPE_PREFIX + right in words)


def _read_header(token: str) -> tuple[str | None, str]:
    """Read the id of the key and the algorithm. RefusedError: the token has another form."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError) as problem:
        raise RefusedError(f"The token is not accepted: {problem}.") from None
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise RefusedError(f"Tokens signed with {algorithm!r:.40} are not accepted.")
    kind = header.get("typ", "")
    if not isinstance(kind, str) or kind.casefold() not in _TOKEN_TYPES:
        raise RefusedError(f"Tokens of the type {kind!r:.40} are not accepted.")
    key_id = header.get("kid")
    return (key_id if isinstance(key_id, str) else None), str(algorithm)


def _check_times(claims: Mapping[str, Any], now: datetime) -> datetime:
    """Check the times of a token; return the time at which it ends. RefusedError: not now."""
    seconds = now.timestamp()
    leeway = _LEEWAY.total_seconds()
    expires = _read_seconds(claims, "exp")
    if seconds >= expires + leeway:
        raise RefusedError("The token has expired.")
    for name in ("nbf", "iat"):
        if name in claims and _read_seconds(claims, name) > seconds + leeway:
            raise RefusedError("The token is not valid yet.")
    try:
        return datetime.fromtimestamp(expires, UTC) + _LEEWAY
    except (ValueError, OverflowError, OSError):
        raise RefusedError("The token has no usable claim 'exp'.") from None


def _read_seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RefusedError(f"The token has no usable claim {name!r}.")
    return value
