"""Changes in one process, and questions right afterwards to all others that had the older index
mapped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

from tests.campaign import doors
from tests.campaign.crowd import Ask, ask_command, ask_engine, ask_mcp, ask_server
from tests.campaign.ledger import KEY, OWNERS, owner_of, query_for, text_of
from tests.campaign.process import kill, spawn
from tests.campaign.world import World, scope

from engrams import Turn
from engrams.core import Kind, Status

_STEPS = 10
_CHANGES = {"add": 3, "observe": 2, "forget": 3, "restore": 2, "purge": 3, "correct": 3, "many": 1}
_MANY = 50
"""Memories that come at once, so that an index file is written anew."""

Expectation = tuple[str, bool]
"""Key, and whether it is found."""


def look(world: World, upstream: str) -> list[str]:
    """Change and ask by turns;
    what was answered wrongly, in words. ``upstream``: of a server of two workers, none where it is
    empty.
    """
    problems: list[str] = []
    with ExitStack() as stack:
        askers = {
            f"engine {number}": stack.enter_context(closing(EngineDoor(world, problems))).ask
            for number in range(2)
        }
        askers["command"] = ask_command(world, real=False)
        owner = world.dice.choice(OWNERS)
        mcp = stack.enter_context(closing(McpDoor(world, owner, problems)))
        askers["mcp"] = ask_mcp(mcp.client)
        if upstream:
            askers["a worker"] = askers["the other worker"] = stack.enter_context(
                closing(ServerDoor(world, upstream, problems))
            ).ask
        memory = stack.enter_context(world.open())
        askers["itself"] = ask_engine(memory)
        changer = Changer(world, memory)
        for _ in range(_STEPS):
            what, expected = changer.change()
            for door, ask in askers.items():
                for key, there in expected:
                    if door == "mcp" and owner_of(key) != owner:
                        continue
                    texts = [*ask(owner_of(key), query_for(key))]
                    if any(key in text.split() for text in texts) != there:
                        problems.append(
                            f"after {what}, {door} {'misses' if there else 'still tells'} {key},"
                            f" {len(texts)} texts"
                        )
            if problems:
                break
    return problems


class Changer:
    """Changes memories through the engine, or now and then by a command."""

    def __init__(self, world: World, memory: Any) -> None:
        self._world = world
        self._memory = memory

    def change(self) -> tuple[str, list[Expectation]]:
        """Make one change; its name, and what has to be found after it."""
        what = self._world.dice.choices([*_CHANGES], [*_CHANGES.values()])[0]
        return what, [*getattr(self, f"_{what}")(self._world.dice.choice(OWNERS))]

    def _say(self, owner: str, number: int) -> Iterator[Expectation]:
        keys = [self._world.key(owner) for _ in range(number)]
        self._world.ledger.tell("try-store", *keys)
        turns = [
            Turn(text_of(key), external_id=key, session=f"stale{self._world.number}")
            for key in keys
        ]
        self._memory.observe(turns, scope=scope(owner))
        self._world.ledger.tell("store", *keys)
        yield from ((key, True) for key in keys[:3])

    def _add(self, owner: str) -> Iterator[Expectation]:
        if self._world.dice.random() < 0.5:
            yield from self._say(owner, 1)
            return
        key = self._world.key(owner)
        self._world.ledger.tell("try-store", key)
        if doors.Shell(self._world, owner, False).run("add", text_of(key), "--id", key):
            self._world.ledger.tell("store", key)
            yield key, True

    def _observe(self, owner: str) -> Iterator[Expectation]:
        yield from self._say(owner, 5)

    def _many(self, owner: str) -> Iterator[Expectation]:
        yield from self._say(owner, _MANY)

    def _pick(self, owner: str, status: Status) -> tuple[str, str] | None:
        """Id and key of something that was said."""
        order = self._world.dice.choice(("newest", "oldest"))
        page = self._memory.list(
            scope=scope(owner),
            statuses=(status,),
            kinds=(Kind.NOTE, Kind.TURN),
            limit=200,
            order=order,
        ).records
        known = self._world.ledger.expect()
        wanted = known.active if status is Status.ACTIVE else known.forgotten - known.unsure
        found = [
            (one.id, key)
            for one in page
            if one.text.startswith("Parcel")
            for key in KEY.findall(one.text)[:1]
            if key in wanted
        ]
        return self._world.dice.choice(found) if found else None

    def _act(self, does: str, owner: str, *, there: bool) -> Iterator[Expectation]:
        found = self._pick(owner, Status.FORGOTTEN if does == "restore" else Status.ACTIVE)
        if found is None:
            return
        name, key = found
        self._world.ledger.tell(f"try-{does}", key)
        if self._world.dice.random() < 0.6:
            done = getattr(self._memory, does)(name, scope=scope(owner))
            proven = does != "purge" or done.proven
        else:
            words = ("--confirm", "purge", "--json") if does == "purge" else ()
            ended = doors.Shell(self._world, owner, False).ask(does, name, *words)
            if ended.code and does != "purge":
                raise RuntimeError(f"{does} ended with {ended.code}: {ended.err}")
            proven = not ended.code
        if not proven:
            self._world.ledger.tell("left", key)
        self._world.ledger.tell(does, key)
        yield key, there

    def _forget(self, owner: str) -> Iterator[Expectation]:
        yield from self._act("forget", owner, there=False)

    def _purge(self, owner: str) -> Iterator[Expectation]:
        yield from self._act("purge", owner, there=False)

    def _restore(self, owner: str) -> Iterator[Expectation]:
        yield from self._act("restore", owner, there=True)

    def _correct(self, owner: str) -> Iterator[Expectation]:
        """Another text in the place of one; the ledger then asks no more for the first one."""
        found = self._pick(owner, Status.ACTIVE)
        if found is None:
            return
        name, old = found
        key = self._world.key(owner)
        self._world.ledger.tell("try-purge", old)
        self._world.ledger.tell("try-store", key)
        self._memory.edit(name, scope=scope(owner), text=text_of(key))
        self._world.ledger.tell("store", key)
        yield old, False
        yield key, True


class EngineDoor:
    """An engine in a process of its own, which answers by searches and by contexts."""

    def __init__(self, world: World, problems: list[str]) -> None:
        to_child, into = os.pipe()
        answers, from_child = os.pipe()

        def work() -> None:
            os.close(into)
            os.close(answers)
            with (
                world.open() as memory,
                os.fdopen(to_child) as lines,
                os.fdopen(from_child, "w") as out,
            ):
                ask: Ask = ask_engine(memory)
                for line in lines:
                    owner, query = json.loads(line)
                    texts = [*ask(owner, query), memory.context(query, scope=scope(owner)).text]
                    out.write(json.dumps(texts) + "\n")
                    out.flush()

        self._child = spawn(work, lambda problem: world.ledger.tell("failed", f"stale: {problem}"))
        os.close(to_child)
        os.close(from_child)
        self._requests = os.fdopen(into, "w")
        self._answers = os.fdopen(answers)
        for owner in OWNERS:
            self.ask(owner, "Which parcel is in the hall?")

    def ask(self, owner: str, query: str) -> list[str]:
        self._requests.write(json.dumps([owner, query]) + "\n")
        self._requests.flush()
        line = self._answers.readline()
        if not line:
            raise RuntimeError("An engine that had an index file mapped is gone.")
        texts: list[str] = json.loads(line)
        return texts

    def close(self) -> None:
        kill(self._child)
        with suppress(OSError):
            self._requests.close()
        self._answers.close()


class McpDoor:
    """An MCP server of one owner."""

    def __init__(self, world: World, owner: str, problems: list[str]) -> None:
        to_server, into = os.pipe()
        answers, from_server = os.pipe()

        def serve() -> None:
            os.close(into)
            os.close(answers)
            doors.serve_mcp(world, to_server, from_server, owner)

        self._child = spawn(serve, problems.append)
        os.close(to_server)
        os.close(from_server)
        self.client = doors.McpClient(into, answers)
        self.client.start()

    def close(self) -> None:
        kill(self._child)
        self.client.close()


class ServerDoor:
    """A server of two workers, which take the questions in turn."""

    def __init__(self, world: World, upstream: str, problems: list[str]) -> None:
        port = doors.free_port()
        self._child = spawn(lambda: doors.serve(world, port, upstream, workers=2), problems.append)
        doors.wait_until_up(f"http://127.0.0.1:{port}")
        self.ask = ask_server(port)

    def close(self) -> None:
        kill(self._child)
