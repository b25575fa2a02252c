"""SIGKILL at a random moment, through each door."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.campaign import doors
from tests.campaign.ledger import OWNERS
from tests.campaign.process import kill, nap, spawn, wait
from tests.campaign.world import World
from tests.faults.storm import armed

LONGEST = {
    "engine": 0.15,
    "commands": 0.5,
    "processes": 2.0,
    "files": 0.25,
    "serve": 0.5,
    "mcp": 0.5,
}
"""Seconds until a child is killed at most, where nothing slows the machine; a server's from when it
answers.
"""
_START = 8.0
"""Seconds that a server may take to answer."""


def kill_once(world: World, door: str, upstream: str) -> None:
    """Let one child work at a door until it is killed."""

    def failed(problem: str) -> None:
        world.ledger.tell("failed", f"{door}: {problem}")

    match door:
        case "serve":
            port = doors.free_port()
            server = spawn(lambda: doors.serve(world, port, upstream), failed)
            _kill_server(
                world, server, lambda ready: doors.use_server(world, port, ready), failed, door
            )
        case "mcp":
            _kill_mcp(world, failed)
        case _:
            _kill_worker(world, door, failed)


def _kill_worker(world: World, door: str, failed: Callable[[str], None]) -> None:
    """Kill a worker; every third one at the engine just before or after one of its writes."""
    deadly = door == "engine" and world.dice.random() < 0.34

    def work() -> None:
        if deadly:
            armed(world.dice.randint(1, 30), after=world.dice.random() < 0.5)
        doors.DOORS[door](world)

    child = spawn(work, failed)
    if deadly:
        wait(child, 3.0 * world.pace)
        return
    nap(world.dice, LONGEST[door] * world.pace)
    kill(child)


def _kill_mcp(world: World, failed: Callable[[str], None]) -> None:
    owner = world.dice.choice(OWNERS)
    to_server, into = os.pipe()
    answers, from_server = os.pipe()

    def start() -> None:
        os.close(into)
        os.close(answers)
        doors.serve_mcp(world, to_server, from_server, owner)

    server = spawn(start, failed)
    os.close(to_server)
    os.close(from_server)
    _kill_server(
        world,
        server,
        lambda ready: doors.use_mcp(world, into, answers, owner, ready),
        failed,
        "mcp",
    )
    os.close(into)
    os.close(answers)


def _kill_server(
    world: World,
    server: int,
    use: Callable[[Callable[[], None]], None],
    failed: Callable[[str], None],
    door: str,
) -> None:
    """Kill a server while its client writes;
    one in ten before it answers. The client then ends by itself.
    """
    waiting, ready = os.pipe()
    client = spawn(lambda: use(lambda: os.close(ready)), failed)
    os.close(ready)
    if world.dice.random() < 0.9:
        _wait_for_end(waiting)
    os.close(waiting)
    nap(world.dice, LONGEST[door] * world.pace)
    kill(server)
    # What it was told before is in the ledger within moments.
    wait(client, 0.5)


def _wait_for_end(pipe: int) -> None:
    import select

    select.select([pipe], [], [], _START)
