"""Doors of the product, each used without end by a child that is going to be killed."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from tests.campaign.ledger import KEY, OWNERS, owner_of, text_of
from tests.campaign.process import Ended, command, run_line
from tests.campaign.world import World, scope

from engrams import Turn
from engrams.core import Kind, Status
from engrams.errors import NotFoundError, RefusedError


def use_engine(world: World) -> None:
    """Write, forget, erase, search and tidy through ``MemoryEngine``."""
    with world.open(jobs__workers=world.dice.choice((0, 2))) as memory:
        while True:
            act(world, memory)


def act(world: World, memory: Any) -> None:
    """One random act, noted before and after."""
    dice = world.dice
    ledger = world.ledger
    does = dice.choices(
        ("add", "observe", "forget", "restore", "purge", "search", "drain", "end", "edit"),
        (8, 5, 2, 1, 1, 2, 2, 1, 1),
    )[0]
    key = world.key()
    owner = owner_of(key)
    if does in ("add", "observe"):
        keys = [
            key,
            *(world.key(owner) for _ in range(dice.choice((0, 2, 5)) if does == "observe" else 0)),
        ]
        ledger.tell("try-store", *keys)
        if does == "add":
            memory.add(
                Turn(text_of(key), external_id=key), scope=scope(owner), settle=dice.random() < 0.5
            )
        else:
            memory.observe(
                [Turn(text_of(one), external_id=one, session=f"s{world.number}") for one in keys],
                scope=scope(owner),
            )
        ledger.tell("store", *keys)
    elif does in ("forget", "restore", "purge", "edit"):
        change(world, memory, does, owner)
    elif does == "search":
        memory.search("Which parcel is in the hall of house 7?", scope=scope(owner))
    elif does == "end":
        with suppress(NotFoundError):
            memory.sessions.end(f"s{world.number}", scope=scope(owner))
    else:
        memory.drain(0.05)


def change(world: World, memory: Any, does: str, owner: str) -> None:
    """Forget, restore, erase or tag something that is there."""
    status = (Status.FORGOTTEN,) if does == "restore" else (Status.ACTIVE,)
    page = memory.list(
        scope=scope(owner), statuses=status, kinds=(Kind.NOTE, Kind.TURN), limit=40
    ).records
    records = [
        record for record in page if record.text.startswith("Parcel") and KEY.search(record.text)
    ]
    if not records:
        return
    record = world.dice.choice(records)
    key = KEY.findall(record.text)[0]
    with suppress(NotFoundError, RefusedError):  # in a crowd another process may be first
        if does == "edit":
            memory.edit(record.id, scope=scope(owner), fields={"importance": world.dice.random()})
            return
        world.ledger.tell(f"try-{does}", key)
        done = getattr(memory, does)(record.id, scope=scope(owner))
        if does == "purge" and not done.proven:
            world.ledger.tell("left", key)
        world.ledger.tell(does, key)


def use_commands(world: World, *, real: bool = False) -> None:
    """One command after the other, as a shell would."""
    while True:
        run_command(world, real=real)


@dataclass(frozen=True)
class Shell:
    """Command line of one owner; an error that is not told in words fails the campaign."""

    world: World
    owner: str
    real: bool

    def ask(self, *words: str) -> Ended:
        done = command(
            self.world.home, *words, *self.world.set, "--user", self.owner, real=self.real
        )
        if "Traceback" in done.err:
            raise RuntimeError(f"{words[0]}: {done.err}")
        return done

    def run(self, *words: str) -> bool:
        return self.ask(*words).code == 0


def run_command(world: World, *, real: bool = False) -> None:
    """One random command; its exit code acknowledges."""
    does = world.dice.choices(
        ("add", "import", "search", "drain", "forget", "purge", "backup", "garden", "sync"),
        (6, 5, 2, 2, 2, 1, 1, 1, 1),
    )[0]
    key = world.key()
    shell = Shell(world, owner_of(key), real)
    match does:
        case "add":
            world.ledger.tell("try-store", key)
            if shell.run("add", text_of(key), "--id", key):
                world.ledger.tell("store", key)
        case "import":
            import_file(world, shell)
        case "forget" | "purge":
            change_by_command(world, shell, does)
        case "backup":
            back_up(world, shell, key)
        case "search":
            shell.run("search", f"Where is parcel {key}?")
        case "drain":
            shell.run("status", "--wait")
        case "garden":
            shell.run("garden", "run")
        case _:
            if world.vault:
                shell.run("sync", "--local")


def change_by_command(world: World, shell: Shell, does: str) -> None:
    """Forget or erase one of the newest memories."""
    told = shell.ask("list", "--json", "--kind", "note", "--kind", "turn", "--limit", "20").out
    rows = [
        row
        for row in json.loads(told or "{}").get("records", ())
        if row["text"].startswith("Parcel")
    ]
    if rows:
        row = world.dice.choice(rows)
        key = KEY.findall(row["text"])[0]
        world.ledger.tell(f"try-{does}", key)
        done = shell.ask(
            does, row["id"], *(("--confirm", "purge", "--json") if does == "purge" else ())
        )
        if done.code == 0:
            if does == "purge" and not json.loads(done.out)["proven"]:
                world.ledger.tell("left", key)
            world.ledger.tell(does, key)


def back_up(world: World, shell: Shell, key: str) -> None:
    """Back the home up, and restore that into a fresh one."""
    target = world.home.with_name(f"{world.home.name}-{key}.backup")
    if shell.run("backup", str(target)):
        fresh = World(target.with_suffix(".home"), world.ledger, world.settings, world.dice)
        if not Shell(fresh, shell.owner, shell.real).run("restore", str(target)):
            raise RuntimeError(f"The backup {target} cannot be restored.")


def import_file(world: World, shell: Shell) -> None:
    """Import a file of messages; one that a killed life left is imported again first."""
    waiting = sorted(world.home.parent.glob(f"{world.home.name}-{shell.owner}q*.jsonl"))
    if waiting and world.dice.random() < 0.7:
        path = waiting[0]
        keys = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    else:
        keys = [world.key(shell.owner) for _ in range(world.dice.randrange(3, 40))]
        path = world.home.with_name(f"{world.home.name}-{keys[0]}.jsonl")
        path.write_text(
            "".join(
                json.dumps({"id": key, "role": "user", "text": text_of(key)}) + "\n" for key in keys
            ),
            "utf-8",
        )
    world.ledger.tell("try-store", *keys)
    if shell.run("import", str(path)):
        world.ledger.tell("store", *keys)
        path.unlink()


def use_processes(world: World) -> None:
    """The same with processes that really start anew."""
    use_commands(world, real=True)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def serve(world: World, port: int, upstream: str, workers: int = 1) -> None:
    """Become ``engrams serve`` with a proxy to the scripted model."""
    with (world.home.with_name(world.home.name + ".served")).open("ab") as log:
        several = ("--workers", str(workers)) if workers > 1 else ()
        line = [
            "serve",
            "--port",
            str(port),
            "--upstream",
            upstream,
            *several,
            *world.set,
            "--home",
            str(world.home),
        ]
        run_line(line, log.fileno(), log.fileno())


def use_server(world: World, port: int, ready: Callable[[], None]) -> None:
    """Write over REST and chat through the proxy until nobody answers."""
    url = f"http://127.0.0.1:{port}"
    wait_until_up(url)
    ready()
    with suppress(
        OSError, HTTPException
    ):  # the second: killed between an answer's head and its body
        while True:
            _request(world, url)


def _request(world: World, url: str) -> None:
    key = world.key()
    owner = owner_of(key)
    world.ledger.tell("try-store", key)
    if world.dice.random() < 0.6:
        post(f"{url}/v1/memories", {"text": text_of(key)}, owner)
    else:
        post(
            f"{url}/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": text_of(key)}]},
            owner,
        )
    world.ledger.tell("store", key)
    if world.dice.random() < 0.1:
        told = post(
            f"{url}/v1/search",
            {"query": f"parcel {key}"},
            next(one for one in OWNERS if one != owner),
        )
        if key in json.dumps(told.get("hits", told.get("results", ""))):
            world.ledger.tell("failed", f"another tenant found {key} over REST")


def wait_until_up(url: str) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.02)


def post(url: str, body: dict[str, Any], owner: str) -> dict[str, Any]:
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {"content-type": "application/json", "x-engrams-user": owner, "authorization": "Bearer x"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return dict(json.load(answer))


def serve_mcp(world: World, source: int, out: int, owner: str) -> None:
    """Become ``engrams mcp`` on two pipes."""
    with (world.home.with_name(world.home.name + ".served")).open("ab") as log:
        run_line(
            ["mcp", *world.set, "--user", owner, "--home", str(world.home)],
            out,
            log.fileno(),
            source,
        )


class McpClient:
    """Client of an MCP server on two pipes."""

    def __init__(self, into: int, answers: int) -> None:
        self._requests = os.fdopen(into, "w")
        self._lines = os.fdopen(answers)
        self._number = 0

    def start(self) -> None:
        """Greet the server. BrokenPipeError: it is gone, here and below."""
        client = {"name": "campaign", "version": "1"}
        self.send(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
        )
        self._write({"method": "notifications/initialized", "params": {}})

    def call(self, tool: str, **arguments: Any) -> Any:
        """Result of a tool, or None."""
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def send(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._write({"method": method, "params": params, "id": self._number})
        while True:
            line = self._lines.readline()
            if not line:
                raise BrokenPipeError
            told = json.loads(line)
            if told.get("id") == self._number:
                return told.get("result")

    def _write(self, row: dict[str, Any]) -> None:
        self._requests.write(json.dumps({"jsonrpc": "2.0", **row}) + "\n")
        self._requests.flush()

    def close(self) -> None:
        """Close both pipes; what was not sent is dropped."""
        with suppress(OSError):
            self._requests.close()
        self._lines.close()


def use_mcp(world: World, into: int, answers: int, owner: str, ready: Callable[[], None]) -> None:
    """Call ``memory_add`` over standard input and output until the pipe breaks."""
    client = McpClient(into, answers)
    with closing(client), suppress(BrokenPipeError):
        client.start()
        ready()
        while True:
            key = world.key(owner)
            world.ledger.tell("try-store", key)
            told = client.call("memory_add", text=text_of(key), key=key)
            if told and not told.get("isError"):
                world.ledger.tell("store", key)


def use_files(world: World) -> None:
    """Write files by hand, change others, and let memory follow."""
    facts = {owner: world.home / "vault" / "entries" / "user" / owner / "facts" for owner in OWNERS}
    with world.open() as memory:
        while True:
            chance = world.dice.random()
            if chance < 0.25:
                key = world.key()
                folder = facts[owner_of(key)]
                folder.mkdir(parents=True, exist_ok=True)
                world.ledger.tell("try-store", key)
                path = folder / f"{key}.md"
                # An editor's way: whole, then in its place.
                path.with_suffix(".tmp").write_text(text_of(key) + "\n", "utf-8")
                path.with_suffix(".tmp").rename(path)
                world.ledger.tell("store", key)
            elif chance < 0.5:
                memory.vault.sync()
            elif chance < 0.6 and world.settings.get("vault__git"):
                memory.vault.commit()
            else:
                act(world, memory)


DOORS: dict[str, Callable[[World], None]] = {
    "engine": use_engine,
    "commands": use_commands,
    "processes": use_processes,
    "files": use_files,
}
