"""Public keys with which an OpenID Connect provider signs; `ProviderSigningKeys` is the entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import httpx2

from engrams.errors import StoreError
from engrams.ports import Clock

DISCOVERY_PATH = "/.well-known/openid-configuration"
PublicKeyFields = Mapping[str, Any]
"""A public key as the provider publishes it (RFC 7517)."""

_FRESH = timedelta(hours=1)
"""Keys are read again after this time."""
_MAX_AGE = timedelta(hours=24)
"""While the provider does not answer, keys that were read count for this long."""
_RETRY = timedelta(seconds=10)
"""The provider is asked at most once in this time: nobody makes us ask it by made-up tokens."""
_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 1_000_000
_MAX_KEYS = 100
_ENDPOINTS = ("authorization_endpoint", "token_endpoint")
"""Addresses of a login; one that is no web address is left out."""
_PUBLIC_KINDS = ("RSA", "EC", "OKP")
"""Kinds of key with a public half. A secret (``oct``) that is published is none."""
_ALGORITHM_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_NEVER = datetime.min.replace(tzinfo=UTC)


class ProviderSigningKeys:
    """Keys of one provider. Thread safe; one thread asks the provider, others use what is known."""

    def __init__(self, issuer: str, clock: Clock) -> None:
        self._issuer = issuer
        self._clock = clock
        self._lock = Lock()
        self._keys: tuple[PublicKeyFields, ...] = ()
        self._description: Mapping[str, Any] = {}
        self._read_at = _NEVER
        self._asked_at = _NEVER
        self._problem = ""
        """Reason why the last reading failed; empty: it did not."""

    def recall(self, key_id: str | None, algorithm: str) -> tuple[PublicKeyFields, ...]:
        """Return the keys that fit a token, without waiting. None of them: call ``find``."""
        now = self._clock()
        is_usable = now - self._read_at < _FRESH or (
            now - self._read_at < _MAX_AGE and now - self._asked_at < _RETRY
        )
        return self._select(key_id, algorithm) if is_usable else ()

    def find(
        self, key_id: str | None, algorithm: str, tried: tuple[PublicKeyFields, ...] = ()
    ) -> tuple[PublicKeyFields, ...]:
        """Return the keys that fit a token; ask the provider for a key that is not known yet.

        ``tried``: keys that did not sign the token. StoreError: no other key fits, and the provider
        cannot be asked.
        """
        with self._lock:
            fitting = self.recall(key_id, algorithm)
            if fitting and fitting != tried:
                return fitting
            if self._clock() - self._asked_at >= _RETRY:
                self._refresh()
            is_usable = self._clock() - self._read_at < _MAX_AGE
            fitting = self._select(key_id, algorithm) if is_usable else ()
            if fitting == tried:
                fitting = ()
            if self._problem and not fitting:
                raise self._make_error()
        return fitting

    def describe(self) -> Mapping[str, Any]:
        """Return the provider's addresses for logins. StoreError: it cannot be asked."""
        with self._lock:
            if not self._description and self._clock() - self._asked_at >= _RETRY:
                self._refresh()
            if not self._description:
                raise self._make_error()
            return self._description

    def _make_error(self) -> StoreError:
        return StoreError(
            f"The identity provider {self._issuer} cannot be asked for its keys: {self._problem}.",
            hint=(
                "Try again when it answers. Tokens of keys that the server read within 24 hours"
                " still work."
            ),
        )

    def _select(self, key_id: str | None, algorithm: str) -> tuple[PublicKeyFields, ...]:
        kind = _ALGORITHM_KINDS.get(algorithm[:2], "")
        return tuple(
            key
            for key in self._keys
            if key["kty"] == kind
            and key.get("alg", algorithm) == algorithm
            and (key_id is None or key.get("kid") == key_id)
        )

    def _refresh(self) -> None:
        """Read the keys from the provider; keep those that are known where it does not answer."""
        self._asked_at = self._clock()
        try:
            self._keys = self._read_keys()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as problem:
            self._problem = f"{problem}".strip() or type(problem).__name__
            return
        self._read_at = self._clock()
        self._problem = ""

    def _read_keys(self) -> tuple[PublicKeyFields, ...]:
        with httpx2.Client(timeout=_TIMEOUT_SECONDS, follow_redirects=False) as client:
            description = _read_object(client, self._issuer.rstrip("/") + DISCOVERY_PATH)
            if description.get("issuer") != self._issuer:
                raise ValueError(
                    f"it calls itself {description.get('issuer')!r:.200}, and serve.oidc.issuer is"
                    " to be the same text"
                )
            address = description.get("jwks_uri")
            if not isinstance(address, str) or not _is_as_safe(address, self._issuer):
                raise ValueError("its jwks_uri is no https address")
            keys = _read_object(client, address).get("keys")
            self._description = {
                name: description[name]
                for name in _ENDPOINTS
                if _is_as_safe(str(description.get(name, "")), self._issuer)
            }
        if not isinstance(keys, list):
            raise ValueError("it publishes no keys")
        return tuple(key for key in keys[:_MAX_KEYS] if _is_signing_key(key))


def _read_object(client: httpx2.Client, address: str) -> dict[str, Any]:
    """Read a JSON object. ValueError: it is none, or too large."""
    with client.stream("GET", address, headers={"accept": "application/json"}) as response:
        if response.status_code != 200:
            raise ValueError(f"{address} answers {response.status_code}")
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > _MAX_BYTES:
                raise ValueError(f"{address} sends more than {_MAX_BYTES:,} bytes")
    fields = json.loads(bytes(body))
    if not isinstance(fields, dict):
        raise ValueError(f"{address} sends no JSON object")
    return fields


def _is_as_safe(address: str, issuer: str) -> bool:
    """True for an https address, and for an http one of an issuer on this machine."""
    scheme = urlsplit(address).scheme
    return scheme == "https" or (scheme == "http" and urlsplit(issuer).scheme == "http")


def _is_signing_key(key: Any) -> bool:
    return (
        isinstance(key, dict)
        and key.get("kty") in _PUBLIC_KINDS
        and key.get("use", "sig") == "sig"
        and isinstance(key.get("alg", ""), str)
    )
