"""A wire between processes and Postgres that is cut and stalled on demand."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress


class UnreliableWire:
    """TCP port of this machine that leads to a server's Unix socket."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._lines: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._loop.run_forever, name="wire", daemon=True).start()
        self.port: int = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)

    async def _open(self) -> int:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._target)
        except OSError:
            writer.close()
            return
        pair = {writer, back}
        self._lines |= pair
        try:
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        finally:
            self._lines -= pair
            for each in pair:
                each.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(65536):
                await self._flowing.wait()
                target.write(piece)
                await target.drain()
        with suppress(OSError):
            target.write_eof()

    def cut(self, dice: random.Random) -> int:
        """Cut every connection, or one of them; how many."""

        def do() -> int:
            lines = list(self._lines)
            some = lines if dice.random() < 0.3 else dice.sample(lines, min(1, len(lines)))
            for each in some:
                each.transport.abort()
            return len(some)

        return self._call(do)

    def stall(self, seconds: float) -> None:
        """Let nothing through for some time; nothing is dropped."""

        def do() -> int:
            self._flowing.clear()
            self._loop.call_later(seconds, self._flowing.set)
            return 0

        self._call(do)

    def _call(self, do: object) -> int:
        async def run() -> int:
            return do()  # type: ignore[operator, no-any-return]

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)
