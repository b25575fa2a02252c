"""A pooler that hands every transaction to another connection, as PgBouncer does in transaction mode.

It speaks the protocol of version 3 between clients and a few connections to a server, which no client keeps beyond a transaction. Prepared
statements are known by client, and prepared on a connection when one is used there: PgBouncer 1.22 with ``max_prepared_statements``."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from itertools import count

CONNECTIONS = 4
_SSL, _GSS, _VERSION = 80877103, 80877104, 196608
_STARTUP = struct.pack("!I", _VERSION) + b"user\0postgres\0database\0postgres\0\0"


@cache
def start_pooler(socket: str) -> str:
    """Address of a pooler before the server at a Unix socket, until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="pooler", daemon=True).start()
    port = asyncio.run_coroutine_threadsafe(TransactionPooler(socket).open(), loop).result(30)
    return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"


@dataclass(eq=False)
class Backend:
    """A connection to the server; ``known``: statements prepared on it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    greeting: bytes = b""
    known: set[bytes] = field(default_factory=set)

    async def exchange(self, sent: bytes) -> tuple[bytes, bytes]:
        """Send messages; everything up to the next ReadyForQuery, and its status."""
        self.writer.write(sent)
        told = bytearray()
        while True:
            kind, body = await read_message(self.reader)
            told += pack(kind, body)
            if kind == b"Z":
                return bytes(told), body


class TransactionPooler:
    """Clients' transactions on a few connections, each on the one that rested longest."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._idle: deque[Backend] = deque()
        self._free = asyncio.Semaphore(0)
        self._numbers = count(1)

    async def open(self) -> int:
        """Connect, and listen; the port."""
        for _ in range(CONNECTIONS):
            reader, writer = await asyncio.open_unix_connection(self._socket)
            backend = Backend(reader, writer)
            told, _ = await backend.exchange(struct.pack("!I", len(_STARTUP) + 4) + _STARTUP)
            backend.greeting = told
            self._idle.append(backend)
            self._free.release()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held: Backend | None = None
        try:
            if not await greet(reader, writer, self._idle[0].greeting if self._idle else b""):
                return
            prepared: dict[bytes, bytes] = {}
            prefix = b"c%d" % next(self._numbers)
            while batch := await read_batch(reader):
                if held is None:
                    await self._free.acquire()
                    held = self._idle.popleft()
                sent = b"".join([await translate(held, prefix, prepared, kind, body) for kind, body in batch])
                told, status = await held.exchange(sent)
                if status == b"I":
                    held = self._give_back(held)
                writer.write(told)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if held is not None:
                await held.exchange(pack(b"Q", b"ROLLBACK\0"))
                self._give_back(held)
            writer.close()

    def _give_back(self, held: Backend) -> None:
        self._idle.append(held)
        self._free.release()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> bool:
    """Take a client's start; False: it only wanted to cancel something."""
    while True:
        size, code = struct.unpack("!II", await reader.readexactly(8))
        await reader.readexactly(size - 8)
        if code not in (_SSL, _GSS):
            break
        writer.write(b"N")
    if code != _VERSION:
        return False
    writer.write(greeting)
    return True


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


async def read_batch(reader: asyncio.StreamReader) -> list[tuple[bytes, bytes]]:
    """Messages up to the next that asks for an answer; none: the client is done."""
    found = []
    while True:
        kind, body = await read_message(reader)
        if kind == b"X":
            return []
        found.append((kind, body))
        if kind in (b"Q", b"S"):
            return found


def pack(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


async def translate(held: Backend, prefix: bytes, prepared: dict[bytes, bytes], kind: bytes, body: bytes) -> bytes:
    """A client's message for this connection, on which its statements have names of their own."""
    if kind == b"P":
        name, _, rest = body.partition(b"\0")
        if name:
            prepared[name] = rest
            held.known.add(prefix + name)
            body = prefix + body
    elif kind == b"B":
        portal, _, rest = body.partition(b"\0")
        name, _, values = rest.partition(b"\0")
        if name:
            await prepare(held, prefix, prepared, name)
            body = portal + b"\0" + prefix + name + b"\0" + values
    elif kind in (b"D", b"C") and body[:1] == b"S" and len(body) > 2:
        name = body[1:-1]
        if kind == b"D":
            await prepare(held, prefix, prepared, name)
        else:
            held.known.discard(prefix + name)
        body = b"S" + prefix + body[1:]
    return pack(kind, body)


async def prepare(held: Backend, prefix: bytes, prepared: dict[bytes, bytes], name: bytes) -> None:
    """Prepare a client's statement on a connection that does not know it."""
    if prefix + name not in held.known and name in prepared:
        await held.exchange(pack(b"P", prefix + name + b"\0" + prepared[name]) + pack(b"S", b""))
        held.known.add(prefix + name)
