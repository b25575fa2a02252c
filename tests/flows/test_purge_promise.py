"""A hundred memories of every kind enter by every door of a running server's home, are purged by
every door, and no byte is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from tests.flows.traces import holders, secret

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Status
from engrams.testing import ReceivedModelRequest, ScriptedModel

ANN = ("user", "ann")
ENGRAMS = (sys.executable, "-m", "engrams.program.entry")
KINDS = (Kind.NOTE, Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.RULE)
LIVE = tuple(status for status in Status if status is not Status.PURGED)
DOORS = ("python", "command", "rest", "tools")
WORD = re.compile(r"quuxword(\d{3})")


def said(number: int) -> str:
    """A sentence of its own for each number."""
    rooms = ("cellar", "attic", "garage", "garden shed", "kitchen", "library", "workshop")
    return (
        f"The {rooms[number % 7]} door of house {number} opens with {secret(number)} and nothing"
        " else."
    )


@dataclass(frozen=True)
class Doors:
    """A home with a running server before a scripted model."""

    home: Path
    env: dict[str, str]
    api: httpx2.Client

    def open(self) -> MemoryEngine:
        return engrams.open(
            home=str(self.home),
            vault__enabled=True,
            vault__git=True,
            vault__watch="off",
            jobs__workers=0,
        )

    def command(self, *words: str) -> Any:
        result = subprocess.run(
            [*ENGRAMS, *words, "--json"],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.stdout, result.stderr
        return json.loads(result.stdout)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.api.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()


def answer(request: ReceivedModelRequest) -> Any:
    """Say the question's number again, as a model would; learn nothing."""
    words_asked = WORD.findall(request.text)
    if words_asked and request.text == said(int(words_asked[0])):
        return f"Noted: {secret(int(words_asked[0]))} belongs to that door."
    return {"statements": [], "decisions": []}


@pytest.fixture
def doors(home: Path) -> Iterator[Doors]:
    """The server, from its start to its end."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(home),
        "ENGRAMS_VAULT__ENABLED": "true",
        "ENGRAMS_VAULT__GIT": "true",
        "ENGRAMS_USER": "ann",
    }
    with (
        ScriptedModel(answer=answer) as model,
        started(env, port, model.url),
        httpx2.Client(timeout=120) as api,
    ):
        api.base_url = f"http://127.0.0.1:{port}"
        until(lambda: up(api))
        yield Doors(home, env, api)


@contextmanager
def started(env: dict[str, str], port: int, upstream: str) -> Iterator[None]:
    server = subprocess.Popen(
        [*ENGRAMS, "serve", "--port", str(port), "--upstream", upstream], env=env
    )
    try:
        yield
    finally:
        server.terminate()
        server.wait(30)


def up(api: httpx2.Client) -> bool:
    try:
        return api.get("/health").status_code == 200
    except httpx2.TransportError:
        return False


def until(is_done: Any, seconds: float = 120) -> None:
    """Wait until something holds."""
    limit = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < limit, "It took too long."
        time.sleep(0.3)


def fill(doors: Doors, folder: Path) -> None:
    """Say a hundred things, number by number, each by one of the doors;
    at the end they are in the file and in its log.
    """
    with doors.open() as engine:
        for n in range(15):
            engine.add(said(n), scope=ANN, kind=KINDS[n % 5])
        for n in range(15, 25):
            engine.observe(
                [
                    Turn(said(n), session="s1"),
                    Turn(f"Good, {secret(n)} then.", role="assistant", session="s1"),
                ],
                scope=ANN,
            )
        engine.sessions.end("s1", scope=ANN)
        for n in range(25, 30):
            first = engine.add(
                f"I'm allergic to {secret(n)}, and house {n} is far away from here.", scope=ANN
            )
            engine.edit(
                first.id,
                scope=ANN,
                text=f"The house {n} is near, and {secret(n)} is harmless.",
                reason=f"not {secret(n)}",
            )
            engine.edit(
                first.id, scope=ANN, text=f"A third wording about house {n}; see {secret(n)}."
            )
    doors.command("add", *(said(n) for n in range(30, 40)))
    (folder / "talk.jsonl").write_text(
        "".join(json.dumps({"role": "user", "text": said(n)}) + "\n" for n in range(40, 50))
    )
    doors.command("import", str(folder / "talk.jsonl"))
    for n in range(50, 58):
        doors.post("/v1/memories", text=said(n))
    doors.post(
        "/v1/memories",
        messages=[{"role": "user", "content": said(n)} for n in range(58, 65)],
        session="s2",
    )
    asyncio.run(tell_tools(doors))
    for n in range(75, 85):
        doors.post(
            "/v1/chat/completions", model="m", messages=[{"role": "user", "content": said(n)}]
        )
    waiting = "".join(
        json.dumps({"role": "user", "text": said(n)}) + "\n" for n in range(50, 65)
    ).encode()
    sent = doors.api.post(
        "/v1/imports", content=waiting, headers={"upload-length": str(len(waiting) + 100)}
    )
    assert sent.status_code == 202, sent.text
    write_files(doors.home / "vault")
    until(lambda: not missing(doors))
    doors.command("sync", "--local")
    doors.command("status", "--wait")
    with closing(sqlite3.connect(doors.home / "memory.db")) as database:
        database.execute("PRAGMA wal_checkpoint(PASSIVE)")


async def tell_tools(doors: Doors) -> None:
    """Ten memories by the client of the tools."""
    start = StdioServerParameters(command=ENGRAMS[0], args=[*ENGRAMS[1:], "mcp"], env=doors.env)
    async with Client(start, read_timeout_seconds=120) as tools:
        for n in range(65, 75):
            answer = await tools.call_tool(
                "memory_add", {"text": said(n), "kind": KINDS[n % 5].value}
            )
            assert not answer.is_error


def write_files(vault: Path) -> None:
    """Memories as files, a daily note, and words that could not be merged."""
    entries = vault / "entries/user/ann/facts"
    notes = vault / "memory/users/ann"
    conflicts = vault / "conflicts/user/ann/facts"
    for folder in (entries, notes, conflicts):
        folder.mkdir(parents=True, exist_ok=True)
    for n in range(85, 95):
        (entries / f"written-{n}.md").write_text(said(n) + "\n")
    for n in range(95, 100):
        (notes / f"2026-01-{n - 90:02}.md").write_text(f"# Day\n\n- {said(n)}\n- Tea was had.\n")
    (
        conflicts
        / f"2026-01-01T0900__the-cellar-door-of-house-0-opens-with-{secret(0)}-and__ab12.0123abcd.md"
    ).write_text(said(0) + "\n")
    (conflicts / f"2026-01-01T0900__and-{secret(1)}-is__cd34.0123abcd.md").write_text(
        f"Once more: {said(1)}\n"
    )


def missing(doors: Doors) -> set[int]:
    """Numbers that no memory says yet."""
    with doors.open() as engine:
        return set(range(100)) - {n for record in everything(engine) for n in numbers_of(record)}


def everything(engine: MemoryEngine) -> list[Record]:
    """Memories of every status and kind, pieces of notes among them."""
    records = list[Record]()
    after = ""
    while True:
        page = engine.list(scope=ANN, statuses=LIVE, kinds=tuple(Kind), limit=200, after=after)
        records += page.records
        if not (after := page.next):
            return records


def numbers_of(record: Record) -> set[int]:
    texts = (
        record.text,
        record.summary,
        record.object,
        *record.steps,
        *(item.quote for item in record.evidence),
    )
    return {int(number) for text in texts for number in WORD.findall(text)}


def leave_copies(doors: Doors) -> None:
    """A backup, and what a migration and a repair leave beside the database."""
    doors.command("backup", str(doors.home / "mine.backup"))
    for name in ("memory.db.v3.bak", "memory.db.corrupt-20260101T000000000000Z"):
        with closing(sqlite3.connect(doors.home / "memory.db")) as database:
            database.execute("VACUUM INTO ?", (str(doors.home / name),))
    torn = doors.home / "memory.db.corrupt-20260101T000000000000Z"
    data = bytearray(torn.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = os.urandom(4096)
    torn.write_bytes(data)


def purge(doors: Doors, door: str, ids: list[str], git: bool) -> Any:
    """Purge by one door; its report as data."""
    if door == "python":
        with doors.open() as engine:
            report = engine.purge(ids, scope=ANN, git=git)
            return {
                "proven": report.proven,
                "places": [
                    {"name": check.name, "left": check.left, "advice": check.advice}
                    for check in report.places
                ],
            }
    if door == "command":
        return doors.command("purge", *ids, "--confirm", "purge", *(["--git"] if git else []))
    if door == "tools":
        return asyncio.run(purge_by_tools(doors, ids, git))
    return doors.post("/v1/purge", ids=ids, git=git)


async def purge_by_tools(doors: Doors, ids: list[str], git: bool) -> Any:
    """Purge by the tools, each time after a preview."""
    start = StdioServerParameters(
        command=ENGRAMS[0], args=[*ENGRAMS[1:], "mcp", "--profile", "erase"], env=doors.env
    )
    async with Client(start, read_timeout_seconds=300) as tools:
        preview = await tools.call_tool("preview_purge", {"ids": ids})
        assert not preview.is_error, preview
        answer = await tools.call_tool(
            "purge", {"token": preview.structured_content["token"], "git": git}
        )
        assert not answer.is_error, answer
        return answer.structured_content


def left_of(report: Any) -> dict[str, str]:
    return {check["name"]: check["advice"] for check in report["places"] if check["left"]}


@pytest.mark.slow
def test_a_hundred_memories_leave_no_byte(doors: Doors, tmp_path: Path) -> None:
    """Entered and purged by every door while the server runs:
    the report is proven, bytes and answers hold nothing.
    """
    fill(doors, tmp_path)
    leave_copies(doors)
    words = [secret(n) for n in range(100)]
    before = holders(doors.home, words)
    assert {
        "memory.db",
        "mine.backup",
        "memory.db.v3.bak",
        "memory.db.corrupt-20260101T000000000000Z",
        "git objects",
    } <= before.keys()
    assert any(name.startswith("uploads/") for name in before)
    assert {word for door_words in before.values() for word in door_words} == set(words)
    with doors.open() as engine:
        records = everything(engine)
    assert len(records) >= 100
    for door_index, door in enumerate(DOORS):
        mine = {
            record.id
            for record in records
            if numbers_of(record) and min(numbers_of(record)) % len(DOORS) == door_index
        }
        with doors.open() as engine:
            ids = [record.id for record in everything(engine) if record.id in mine]
        if not door_index:
            first_advice = purge(doors, door, ids, git=False)
            assert not first_advice["proven"] and "git history" in left_of(first_advice), left_of(
                first_advice
            )
        second_advice = purge(doors, door, ids, git=True)
        assert second_advice["proven"], (door, left_of(second_advice))
        gone_words = [secret(n) for n in range(door_index, 100, len(DOORS))]
        assert holders(doors.home, gone_words) == {}, door
        for n in range(door_index, 100, len(DOORS) * 6):
            objects_text = "".join(
                doors.api.post(f"/v1/{read}", json={"query": said(n)}).text
                for read in ("search", "context")
            )
            assert secret(n) not in objects_text.replace(json.dumps(said(n))[1:-1], ""), door
    assert holders(doors.home, words) == {}
    with doors.open() as engine:
        engine.vault.sync()
        assert not [record for record in everything(engine) if numbers_of(record)]
    assert holders(doors.home, words) == {}
