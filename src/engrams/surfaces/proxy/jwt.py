"""Verify a web front end's signed user token (RFC 7519, HS256)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import TypeGuard

from engrams.types import Json

HEADER = "x-openwebui-user-jwt"

_ISSUER = "open-webui"
_LEEWAY = 30.0
"""Seconds by which two clocks may differ."""


def verify_subject(token: str, secret: str, now: float) -> str:
    """Return the subject of a valid token, else an empty text.

    Invalid: wrong signature, issuer or time. ``now``: seconds since 1970.
    """
    claims = _verify_claims(token, secret)
    if claims is None or claims.get("iss") != _ISSUER:
        return ""
    begins, ends = claims.get("nbf", 0), claims.get("exp")
    if not (_is_number(begins) and _is_number(ends) and begins - _LEEWAY <= now <= ends + _LEEWAY):
        return ""
    name = claims.get("sub")
    return name.strip() if isinstance(name, str) else ""


def _verify_claims(token: str, secret: str) -> dict[str, Json] | None:
    try:
        signed, _, signature = token.strip().encode("ascii").rpartition(b".")
        head, _, body = signed.partition(b".")
        expected = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
        if not hmac.compare_digest(expected, _decode(signature)):
            return None
        # Only HS256 is accepted: a token with "none" is invalid.
        kind, claims = json.loads(_decode(head)), json.loads(_decode(body))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return claims if isinstance(kind, dict) and kind.get("alg") == "HS256" and isinstance(claims, dict) else None


def _decode(part: bytes) -> bytes:
    return base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
