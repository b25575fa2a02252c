"""Pages of the web as documents: fetched from public addresses alone, within limits.

``fetch_page`` is the entry. Each address on the way is resolved once and checked, and the request goes to
that very address: no page leads into the private network of this machine.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

import httpx2

from engrams.errors import EngramsError, InputError
from engrams.transfer.documents.stored_documents import GivenDocument
from engrams.transfer.webhooks.public_addresses import resolve_public

_SECONDS = 30.0
"""Time for a page, with all its redirections."""
_MOST_BYTES = 20 << 20
_MOST_REDIRECTIONS = 5
_HEADERS = {"user-agent": "engrams", "accept": "text/html, application/pdf;q=0.9, */*;q=0.5"}


def is_address(text: str) -> bool:
    """True for the address of a page."""
    return text.startswith(("https://", "http://")) and not any(map(str.isspace, text))


def fetch_page(url: str, *, allow_private: bool) -> GivenDocument:
    """Fetch a page, or another document, by its address.

    RefusedError: an address on the way is on this machine or in a private network, unless
    ``allow_private``. InputError: there is no such page, or it is too large.
    """
    try:
        data = asyncio.run(_fetch(url, allow_private=allow_private))
    except (httpx2.HTTPError, TimeoutError, ValueError) as problem:
        if isinstance(problem, EngramsError):
            raise
        raise InputError(
            f"{url:.200} does not answer: {type(problem).__name__}.",
            hint="Check the address; or save the page as a file, and add that.",
        ) from None
    return GivenDocument(url, url, data)


async def _fetch(url: str, *, allow_private: bool) -> bytes:
    async with (
        asyncio.timeout(_SECONDS),
        httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False, trust_env=False) as client,
    ):
        for _ in range(_MOST_REDIRECTIONS + 1):
            target, headers, host = await _prepare(url, allow_private=allow_private)
            async with client.stream(
                "GET", target, headers=headers, extensions={"sni_hostname": host}
            ) as response:
                if not response.is_redirect:
                    return await _read(response, url)
                url = urljoin(url, response.headers.get("location", ""))
    raise InputError(
        f"It leads on more than {_MOST_REDIRECTIONS} times.", hint="Give the last address."
    )


async def _prepare(url: str, *, allow_private: bool) -> tuple[httpx2.URL, dict[str, str], str]:
    """Resolve an address; return what is asked, the headers, and the name of the host."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.password:
        raise InputError(
            f"{url:.200} is no address of a page.",
            hint="It begins with https:// and has no password.",
        )
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = await asyncio.to_thread(resolve_public, host, port, allow_private)
    return httpx2.URL(url).copy_with(host=address), {**_HEADERS, "host": parts.netloc}, host


async def _read(response: httpx2.Response, url: str) -> bytes:
    if response.status_code != httpx2.codes.OK:
        raise InputError(
            f"{url:.200} answers with status {response.status_code}.", hint="Check the address."
        )
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > _MOST_BYTES:
            raise InputError(
                f"The page has more than {_MOST_BYTES:,} bytes.",
                hint="Save it as a file, and add that.",
            )
    return bytes(data)
