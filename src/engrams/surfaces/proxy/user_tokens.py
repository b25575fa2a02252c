"""Signed tokens (JWT) by which Open WebUI tells who its user is.

`verify_subject` checks one. Only signatures by HS256 with the shared secret are valid.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import TypeGuard

from engrams.core import Json

SIGNED_USER_HEADER = "x-openwebui-user-jwt"
_ISSUER = "open-webui"
_LEEWAY_SECONDS = 30.0
"""Seconds by which two clocks may differ."""


def verify_subject(token: str, secret: str, now: float) -> str:
    """Return the subject of a valid token, else an empty text.

    Invalid: wrong signature, issuer or time. ``now``: seconds since 1970.
    """
    claims = _verify_claims(token, secret)
    if claims is None or claims.get("iss") != _ISSUER:
        return ""
    not_before = claims.get("nbf", 0)
    expires = claims.get("exp")
    if not (_is_number(not_before) and _is_number(expires)):
        return ""
    if not not_before - _LEEWAY_SECONDS <= now <= expires + _LEEWAY_SECONDS:
        return ""
    subject = claims.get("sub")
    return subject.strip() if isinstance(subject, str) else ""


def _verify_claims(token: str, secret: str) -> dict[str, Json] | None:
    """Return the claims of a token with a valid signature, else None."""
    try:
        signed_part, _, signature = token.strip().encode("ascii").rpartition(b".")
        header_part, _, claims_part = signed_part.partition(b".")
        expected = hmac.new(secret.encode(), signed_part, hashlib.sha256).digest()
        if not hmac.compare_digest(expected, _decode(signature)):
            return None
        header = json.loads(_decode(header_part))
        claims = json.loads(_decode(claims_part))
    except (ValueError, RecursionError, binascii.Error):
        return None
    # Only HS256 is accepted: a token with "none" is invalid.
    if not isinstance(header, dict) or header.get("alg") != "HS256":
        return None
    return claims if isinstance(claims, dict) else None


def _decode(text: bytes) -> bytes:
    """Decode URL-safe base64 without padding."""
    return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
