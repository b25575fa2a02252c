"""Requests to addresses that somebody else named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import httpx2

from engrams.errors import EngramsError, RefusedError

_SECONDS = 10.0
_NAT64 = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
"""Prefixes that lead to an address of IPv4, and to the public IPv6 network."""


def post_json(url: str, body: bytes, headers: Mapping[str, str], allow_private: bool) -> int:
    """Post a body and return the status; redirections are not followed.

    The name is resolved once, and the request goes to the address that was checked. RefusedError:
    an address of this machine or of a private network, unless ``allow_private``. EngramsError:
    nobody answers within ten seconds.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = resolve_public(host, port, allow_private)
    target = httpx2.URL(url).copy_with(host=address)
    sent = {**headers, "host": parts.netloc}
    try:
        return asyncio.run(_post(target, body, sent, host))
    except (httpx2.HTTPError, TimeoutError) as problem:
        raise EngramsError(
            f"{parts.scheme}://{host} does not answer: {type(problem).__name__}.",
            hint="It is tried again.",
        ) from None


async def _post(target: httpx2.URL, body: bytes, headers: Mapping[str, str], host: str) -> int:
    """Post within a time for all of it, not for each read."""
    async with (
        asyncio.timeout(_SECONDS),
        httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False, trust_env=False) as client,
        client.stream(
            "POST", target, content=body, headers=headers, extensions={"sni_hostname": host}
        ) as answer,
    ):
        return answer.status_code


def resolve_public(host: str, port: int, allow_private: bool) -> str:
    """Resolve a name to an address that may be asked.

    RefusedError: one of its addresses is not public. EngramsError: it has none.
    """
    try:
        found = {
            str(each[4][0]).partition("%")[0]
            for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except (OSError, UnicodeError):
        raise EngramsError(
            f"The name {host!r:.80} has no address.", hint="It is tried again."
        ) from None
    if not allow_private and not all(is_public(ip_address(each)) for each in found):
        raise RefusedError(
            f"{host!r:.80} is on this machine or in a private network.",
            hint="Set serve.allow_private_webhooks to allow it.",
        )
    return min(found, key=lambda each: (":" in each, each))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Check that an address, and one inside it, is public."""
    if isinstance(address, IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(each.is_global for each in inner if each is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
        if address not in _UNICAST and address not in _NAT64:
            return False
    return address.is_global and not address.is_multicast
