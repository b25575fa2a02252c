"""Several processes on one home, each of which looks whether what it reads is stale, while others
write, purge, merge and are killed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from http.client import HTTPException
from typing import Any

from tests.campaign import doors
from tests.campaign.deadlypoints import arm
from tests.campaign.ledger import OWNERS, Expected, owner_of, query_for
from tests.campaign.process import kill, nap, spawn
from tests.campaign.world import World, scope

_RECENT = 60
"""Keys of the newest lines that a process asks for."""
_SECONDS = 1.6
"""Time of a crowd where nothing slows the machine."""
_HITS = 500

Ask = Callable[[str, str], Iterable[str]]
"""Owner and query to the texts of the answer."""


class LedgerReader:
    """Follows the lines of a ledger that other processes write."""

    def __init__(self, world: World) -> None:
        self.expected = Expected()
        self.recent = list[str]()
        self._path = world.ledger.path
        self._read = 0

    def update(self) -> None:
        """Take the lines into account that came since."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._read += len(data)
        for line in data.splitlines():
            does, key = json.loads(line)
            self.expected.note(does, key)
            if not does.startswith(("failed", "try-")):
                self.recent.append(key)
        del self.recent[:-_RECENT]

    def state(self, key: str) -> str:
        """How a key has to be: ``there``, ``gone``, or nothing where an act on it is under way."""
        known = self.expected
        if key in known.active:
            return "there"
        erased = key in known.purged and key not in known.returning
        hidden = key in known.forgotten and key not in known.unsure and key not in known.purging
        return "gone" if erased or hidden else ""


def look_once(world: World, told: LedgerReader, ask: Ask, door: str, owner: str = "") -> None:
    """Ask for one key; what was acknowledged before the question, and not changed until after the
    answer, must be in it.

    ``owner``: only for keys of this one; empty: of any.
    """
    told.update()
    recent = [key for key in told.recent if owner_of(key) == owner or not owner]
    gone = [key for key in recent if told.state(key) == "gone"]
    keys = gone if gone and world.dice.random() < 0.5 else recent
    if not keys:
        return
    key = world.dice.choice(keys)
    state = told.state(key)
    texts = [*ask(owner_of(key), query_for(key))]
    told.update()
    if (
        state
        and state == told.state(key)
        and any(key in text.split() for text in texts) != (state == "there")
    ):
        world.ledger.tell(
            "failed",
            f"stale: by {door}, {key} is {state}, and the answer of {len(texts)} texts tells"
            " otherwise",
        )


def watch(world: World, ask: Ask, door: str) -> None:
    """Look without end."""
    told = LedgerReader(world)
    while True:
        look_once(world, told, ask, door)


def ask_engine(memory: Any) -> Ask:
    def ask(owner: str, query: str) -> list[str]:
        return [
            hit.record.text for hit in memory.search(query, scope=scope(owner), limit=_HITS).hits
        ]

    return ask


def ask_command(world: World, *, real: bool) -> Ask:
    def ask(owner: str, query: str) -> list[str]:
        done = doors.Shell(world, owner, real).ask("search", query, "--json", "--limit", str(_HITS))
        if done.code:
            raise RuntimeError(f"search ended with {done.code}: {done.err}")
        return find_texts(json.loads(done.out))

    return ask


def ask_server(port: int) -> Ask:
    """A connection for each question: workers take them in turn."""

    def ask(owner: str, query: str) -> list[str]:
        return find_texts(
            doors.post(
                f"http://127.0.0.1:{port}/v1/search", {"query": query, "limit": _HITS}, owner
            )
        )

    return ask


def ask_mcp(client: doors.McpClient) -> Ask:
    def ask(_: str, query: str) -> list[str]:
        told = client.call("memory_search", query=query, limit=_HITS)
        if told is None or told.get("isError"):
            raise RuntimeError(f"memory_search failed: {told}")
        return find_texts(told["structuredContent"])

    return ask


def find_texts(value: Any) -> list[str]:
    """All texts of memories in an answer: the query is said back under another name."""
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return own + [text for part in value.values() for text in find_texts(part)]
    return [text for part in value for text in find_texts(part)] if isinstance(value, list) else []


class Crowd:
    """Processes on one home; each is started anew where it was killed."""

    def __init__(self, world: World, upstream: str) -> None:
        self._world = world
        self._upstream = upstream
        self._lives = 0
        self._running: dict[int, Callable[[], None]] = {}
        self._also: dict[int, int] = {}

    def failed(self, problem: str) -> None:
        self._world.ledger.tell("failed", f"crowd: {problem}")

    def run(self, servers: tuple[str, ...]) -> None:
        """Let writers and readers work, and kill some of them."""
        for start in (
            self.start_writer,
            self.start_writer,
            self.start_reader,
            *(getattr(self, f"start_{name}") for name in servers),
        ):
            start()
        until = time.monotonic() + _SECONDS * self._world.pace * (4 if "serve" in servers else 1)
        try:
            while time.monotonic() < until:
                nap(self._world.dice, 0.5 * self._world.pace)
                child = self._world.dice.choice([*self._running])
                again = self._end(child)
                again()
        finally:
            for child in [*self._running]:
                self._end(child)

    def _end(self, child: int) -> Callable[[], None]:
        again = self._running.pop(child)
        kill(child)
        if child in self._also:
            kill(self._also.pop(child))
        return again

    def _life(self) -> World:
        self._lives += 1
        number = self._world.number * 100 + self._lives
        return self._world.life(number, f"crowd {number}")

    def start_writer(self) -> None:
        """Write, change and search at random;
        every second one dies by itself at a point that matters.
        """
        world = self._life()

        def work() -> None:
            if world.dice.random() < 0.5:
                arm(world.dice)
            doors.use_engine(world)

        self._running[spawn(work, self.failed)] = self.start_writer

    def start_reader(self) -> None:
        """Look through an engine that stays open, or through commands."""
        world = self._life()

        def work() -> None:
            if world.dice.random() < 0.3:
                watch(world, ask_command(world, real=world.dice.random() < 0.2), "command")
            with world.open() as memory:
                watch(world, ask_engine(memory), "engine")

        self._running[spawn(work, self.failed)] = self.start_reader

    def start_serve(self) -> None:
        """Look through a server of two workers."""
        world = self._life()
        port = doors.free_port()
        server = spawn(lambda: doors.serve(world, port, self._upstream, workers=2), self.failed)

        def work() -> None:
            doors.wait_until_up(f"http://127.0.0.1:{port}")
            try:
                watch(world, ask_server(port), "server")
            except (OSError, HTTPException):
                return

        client = spawn(work, self.failed)
        self._running[server] = self.start_serve
        self._also[server] = client

    def start_mcp(self) -> None:
        """Look through an MCP server."""
        world = self._life()
        owner = world.dice.choice(OWNERS)
        to_server, into = os.pipe()
        answers, from_server = os.pipe()

        def serve() -> None:
            os.close(into)
            os.close(answers)
            doors.serve_mcp(world, to_server, from_server, owner)

        def work() -> None:
            os.close(to_server)
            os.close(from_server)
            with closing(doors.McpClient(into, answers)) as client:
                try:
                    client.start()
                    watch_as(world, ask_mcp(client), owner)
                except (BrokenPipeError, json.JSONDecodeError):
                    return  # killed, perhaps within a line

        server = spawn(serve, self.failed)
        client = spawn(work, self.failed)
        for end in (to_server, into, answers, from_server):
            os.close(end)
        self._running[server] = self.start_mcp
        self._also[server] = client


def watch_as(world: World, ask: Ask, owner: str) -> None:
    """Look without end, for keys of one owner."""
    told = LedgerReader(world)
    while True:
        look_once(world, told, ask, "mcp", owner)
