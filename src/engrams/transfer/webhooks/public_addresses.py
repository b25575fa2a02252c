"""Post to an address that a user named, but never into the private network of this machine.

``post_json`` is the entry. A web hook's address may name a host whose DNS record points inside
(server-side request forgery), so the name is resolved once, the address is checked, and the request
goes to that very address.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import httpx2

from engrams.errors import EngramsError, RefusedError

_SECONDS = 10.0
"""Time for a whole request."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that lead to the IPv4 address in their last 32 bits (RFC 6052)."""
_UNICAST = IPv6Network("2000::/3")
"""The public part of IPv6 (RFC 4291)."""


def post_json(url: str, body: bytes, headers: Mapping[str, str], allow_private: bool) -> int:
    """Post a body and return the status; redirections are not followed.

    RefusedError: an address of this machine or of a private network, unless ``allow_private``.
    EngramsError: no answer within ten seconds.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = resolve_public(host, port, allow_private)
    target = httpx2.URL(url).copy_with(host=address)
    try:
        return asyncio.run(_post(target, body, {**headers, "host": parts.netloc}, host))
    except (httpx2.HTTPError, TimeoutError) as problem:
        raise EngramsError(
            f"{parts.scheme}://{host} does not answer: {type(problem).__name__}.",
            hint="It is tried again.",
        ) from None


async def _post(target: httpx2.URL, body: bytes, headers: Mapping[str, str], host: str) -> int:
    """Post within one deadline for the whole request, not one for each read."""
    async with (
        asyncio.timeout(_SECONDS),
        httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False, trust_env=False) as client,
        client.stream(
            "POST", target, content=body, headers=headers, extensions={"sni_hostname": host}
        ) as response,
    ):
        return response.status_code


def resolve_public(host: str, port: int, allow_private: bool) -> str:
    """Resolve a name to one of its addresses, IPv4 before IPv6.

    RefusedError: one of its addresses is not public. EngramsError: it has none.
    """
    try:
        addresses = {
            str(socket_address[0]).partition("%")[0]  # without the zone of a link-local address
            for *_, socket_address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except (OSError, UnicodeError):
        raise EngramsError(
            f"The name {host!r:.80} has no address.", hint="It is tried again."
        ) from None
    if not allow_private and not all(map(is_public, map(ip_address, addresses))):
        raise RefusedError(
            f"{host!r:.80} is on this machine or in a private network.",
            hint="Set serve.allow_private_webhooks to allow it.",
        )
    return min(addresses, key=lambda address: (":" in address, address))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Check that an address is public, and so is any IPv4 address that it embeds."""
    if isinstance(address, IPv6Address):
        embedded = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(inner.is_global for inner in embedded if inner is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
        if address not in _UNICAST and address not in _NAT64:
            return False
    return address.is_global and not address.is_multicast
