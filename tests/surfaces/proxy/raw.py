"""An upstream that says exactly the bytes it is told to, and remembers exactly the bytes it was
sent.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Heard:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


class Drop:
    """Break the connection off."""


class Close:
    """End the connection."""


@dataclass
class Raw:
    """``script`` is what the next answers are made of:
    bytes are written, an Event is waited for, Drop breaks off.
    """

    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    script: list[Any] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)

    def says(self, *steps: Any) -> None:
        """The same for every request until told otherwise."""
        self.heard.clear()
        self.left.clear()
        self.script = list(steps)

    @property
    def last(self) -> Heard:
        return self.heard[-1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = [
            (name, value.strip())
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        ]
        heard = Heard(method, target, headers, b"")
        if heard.header("transfer-encoding"):
            heard.body = await self._chunks(reader)
        elif heard.header("content-length"):
            heard.body = await reader.readexactly(int(heard.header("content-length")[0]))
        self.heard.append(heard)
        for step in self.script:
            if isinstance(step, Drop):
                writer.transport.abort()
                return False
            if isinstance(step, Close):
                return False
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif not await self._held(step, reader):
                self.left.set()
                return False
        return True

    async def _held(self, event: threading.Event, reader: asyncio.StreamReader) -> bool:
        while not event.is_set():
            if reader.at_eof():
                return False
            await asyncio.sleep(0.005)
        return True

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return body


@contextmanager
def raw_upstream() -> Iterator[Raw]:
    """A running one; its address is ``raw.url``."""
    raw = Raw()
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    async def main() -> None:
        server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
        raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()

    def run() -> None:
        loop.run_until_complete(main())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(10)
    yield raw
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


def reply(
    body: bytes, status: str = "200 OK", *headers: str, kind: str = "application/json"
) -> bytes:
    """A whole answer."""
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def opening(*headers: str, kind: str = "text/event-stream") -> bytes:
    """The head of a chunked stream."""
    return "\r\n".join(
        ["HTTP/1.1 200 OK", f"Content-Type: {kind}", "Transfer-Encoding: chunked", *headers, "", ""]
    ).encode()


def piece(data: bytes) -> bytes:
    """One chunk of it; an empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)
