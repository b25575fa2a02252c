"""Signatures of requests to S3 and what is compatible with it: AWS Signature Version 4, in one header.

The secret key never leaves this machine. What is signed names the time, so a server refuses a request of
a machine whose clock is wrong.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from urllib.parse import quote

_METHOD = "AWS4-HMAC-SHA256"
_UNRESERVED = "-._~"


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """Key by which somebody signs."""

    id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)
    """Session token of a key that was lent for a while."""


@dataclass(frozen=True, slots=True)
class RequestToSign:
    """Parts of a request that are signed."""

    method: str
    path: str
    """As it is sent: encoded once."""
    query: str
    """As ``write_query`` writes it."""
    headers: Mapping[str, str]
    """Every one is signed; the host is among them."""
    body_hash: str
    """SHA-256 of the body, in hexadecimal."""


def write_query(values: Mapping[str, str]) -> str:
    """Write the query of an address so that its signature fits: sorted, and all encoded."""
    return "&".join(
        f"{quote(name, safe=_UNRESERVED)}={quote(value, safe=_UNRESERVED)}"
        for name, value in sorted(values.items())
    )


def write_path(path: str) -> str:
    """Encode a path as S3 signs it; slashes stay."""
    return quote(path, safe=_UNRESERVED + "/")


def write_time(moment: datetime) -> str:
    """Write a time in UTC as the header ``x-amz-date`` has it."""
    return moment.strftime("%Y%m%dT%H%M%SZ")


def sign(request: RequestToSign, keys: AwsKeys, region: str, moment: datetime) -> str:
    """Return the header ``authorization`` of a request to S3.

    ``moment``: in UTC, the one of the header ``x-amz-date``.
    """
    headers = {name.lower(): " ".join(value.split()) for name, value in request.headers.items()}
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        (
            request.method,
            request.path,
            request.query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            request.body_hash,
        )
    )
    day = moment.strftime("%Y%m%d")
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join((_METHOD, write_time(moment), scope, sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"{_METHOD} Credential={keys.id}/{scope},SignedHeaders={names},Signature={signature}"
