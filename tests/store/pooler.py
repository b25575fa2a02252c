"""A pooler that hands every transaction to another connection, as PgBouncer does in transaction
mode.

It speaks the protocol of version 3 between clients and a few connections to a server, which no
client keeps beyond a transaction. Prepared statements are known by client, and prepared on a
connection when one is used there: PgBouncer 1.22 with ``max_prepared_statements``. An old one
passes them on as they are, to whatever connection.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count

CONNECTIONS = 4
_SSL = 80877103
_GSS = 80877104
_VERSION = 196608
_STARTUP = struct.pack("!I", _VERSION) + b"user\0postgres\0database\0postgres\0\0"


@cache
def start_pooler(socket: str, old: bool = False) -> str:
    """Address of a pooler before the server at a Unix socket, until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="pooler", daemon=True).start()
    port = asyncio.run_coroutine_threadsafe(TransactionPooler(socket, old).open(), loop).result(30)
    return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"


@dataclass(eq=False)
class Backend:
    """A connection to the server.

    ``known``: statements prepared on it. ``parses``: those being prepared, up to each message that
    asks for an answer, and who asked.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    known: set[bytes] = field(default_factory=set)
    parses: deque[deque[tuple[bytes, bool]]] = field(default_factory=lambda: deque([deque()]))

    def parse(self, name: bytes, rest: bytes, *, own: bool) -> bytes:
        """Prepare a statement. ``own``: the client shall not hear of it."""
        self.parses[-1].append((name, own))
        return pack(b"P", name + b"\0" + rest)

    def has(self, name: bytes) -> bool:
        return name in self.known or any(name == each for rows in self.parses for each, _ in rows)


@dataclass(eq=False)
class Session:
    """A client with its statements.

    ``prefix``: of their names on a connection; empty where the pooler knows none.

    ``backend``: its connection during a transaction. ``asked``: answers that are due; ``open``:
    something was sent since it last asked.
    """

    prefix: bytes
    writer: asyncio.StreamWriter
    prepared: dict[bytes, bytes] = field(default_factory=dict)
    backend: Backend | None = None
    asked: int = 0
    open: bool = False


class TransactionPooler:
    """Clients' transactions on a few connections, each on the one that rested longest."""

    def __init__(self, socket: str, old: bool = False) -> None:
        self._socket = socket
        self._old = old
        self._idle: deque[Backend] = deque()
        self._free = asyncio.Semaphore(0)
        self._numbers = count(1)
        self._greeting = b""
        self._relays: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Connect, and listen; the port."""
        for _ in range(CONNECTIONS):
            await self._connect()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _connect(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self._socket)
        writer.write(struct.pack("!I", len(_STARTUP) + 4) + _STARTUP)
        told = b""
        kind = b""
        while kind != b"Z":
            kind, body = await read_message(reader)
            told += pack(kind, body)
        self._greeting = told
        self._give_back(Backend(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(b"" if self._old else b"c%d" % next(self._numbers), writer)
        try:
            if not await greet(reader, writer, self._greeting):
                return
            while True:
                kind, body = await read_message(reader)
                if kind == b"X":
                    return
                if kind == b"H":
                    # A flush asks for no answer of its own.
                    if session.backend is not None:
                        session.backend.writer.write(pack(kind, body))
                    continue
                if session.backend is None:
                    await self._free.acquire()
                    session.backend = backend = self._idle.popleft()
                    task = asyncio.create_task(self._relay(session, backend))
                    self._relays.add(task)
                    task.add_done_callback(self._relays.discard)
                backend.writer.write(translate(backend, session, kind, body))
                session.open = kind not in (b"Q", b"S")
                session.asked += not session.open
                if not session.open:
                    backend.parses.append(deque())
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if session.backend is not None:
                # It left in the middle of a transaction.
                session.backend.writer.transport.abort()
                await self._connect()
            writer.close()

    async def _relay(self, session: Session, backend: Backend) -> None:
        """Pass on what the server says until the transaction is over."""
        with suppress(OSError, asyncio.IncompleteReadError):
            while session.backend is backend:
                kind, body = await read_message(backend.reader)
                if kind == b"1":
                    name, own = backend.parses[0].popleft()
                    backend.known.add(name)
                    if own:
                        continue
                session.writer.write(pack(kind, body))
                if kind == b"Z":
                    backend.parses.popleft()
                    session.asked -= 1
                    if body == b"I" and not session.asked and not session.open:
                        session.backend = None
                        self._give_back(backend)

    def _give_back(self, backend: Backend) -> None:
        self._idle.append(backend)
        self._free.release()


async def greet(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes
) -> bool:
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


def pack(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def translate(backend: Backend, session: Session, kind: bytes, body: bytes) -> bytes:
    """A client's message for this connection, on which its statements have names of their own."""
    prefix = session.prefix
    if kind == b"P":
        name, _, rest = body.partition(b"\0")
        if name and prefix:
            session.prepared[name] = rest
        return backend.parse(prefix + name if name else b"", rest, own=False)
    if kind == b"B":
        portal, _, rest = body.partition(b"\0")
        name, _, values = rest.partition(b"\0")
        if name:
            return prepare(backend, session, name) + pack(
                kind, portal + b"\0" + prefix + name + b"\0" + values
            )
    elif kind == b"D" and body[:1] == b"S" and len(body) > 2:
        return prepare(backend, session, body[1:-1]) + pack(kind, b"S" + prefix + body[1:])
    elif kind == b"C" and body[:1] == b"S" and len(body) > 2:
        backend.known.discard(prefix + body[1:-1])
        return pack(kind, b"S" + prefix + body[1:])
    return pack(kind, body)


def prepare(backend: Backend, session: Session, name: bytes) -> bytes:
    """Prepare a client's statement on a connection that does not know it."""
    full = session.prefix + name
    return (
        b""
        if backend.has(full) or name not in session.prepared
        else backend.parse(full, session.prepared[name], own=True)
    )
