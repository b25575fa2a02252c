"""Everything else that goes wrong:
disks, clocks, descriptors, odd files, other tenants, hostile texts.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from tests.campaign.doors import act
from tests.campaign.ledger import KEY, OWNERS, owner_of, text_of
from tests.campaign.process import ask
from tests.campaign.world import World, scope

import engrams
from engrams.core.clock import now
from engrams.errors import EngramsError, StoreError

_ACTS = 25


def fill_disk(world: World, until_full: Callable[[World, int], None] | None = None) -> None:
    """Write until the disk is full, then with room again.

    A small disk of its own where this user may mount one, else a limit on the size of files.
    """
    room = sum(
        path.stat().st_size for path in world.home.rglob("*") if path.is_file()
    ) + world.dice.randrange(60_000, 3_000_000)
    disk = world.home.with_name(world.home.name + ".disk")
    disk.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)], capture_output=True
    ).returncode
    moved = world.home.with_name(world.home.name + ".moved")
    try:
        if mounted:
            try:
                shutil.copytree(
                    world.home,
                    disk / "home",
                    symlinks=True,
                    ignore=shutil.ignore_patterns("*.sock"),
                )
            except shutil.Error:
                return  # its blocks alone do not fit
            world.home.rename(moved)
            world.home.symlink_to(disk / "home")
        _report(
            world,
            ask(lambda: (until_full or _until_full)(world, 0 if mounted else room)),
            "full disk",
        )
        if mounted:
            world.home.unlink()
            shutil.copytree(
                disk / "home", world.home, symlinks=True, ignore=shutil.ignore_patterns("*.sock")
            )
            shutil.rmtree(moved)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()


def _until_full(world: World, room: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    refused = 0
    try:
        opened = world.open()
    except StoreError as problem:
        if "is full" not in problem.message:
            raise
        return  # there is no room even to open it, and it says so
    with opened as memory:
        if room:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        while refused < 5:
            refused += _try_act(world, memory)
        if room:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )


def _try_act(world: World, memory: engrams.MemoryEngine) -> bool:
    """One act; True where memory refused it with a reason."""
    try:
        key = world.key()
        world.ledger.tell("try-store", key)
        memory.add(text_of(key) + " and so on" * 200, scope=scope(owner_of(key)))
        world.ledger.tell("store", key)
        if world.dice.random() < 0.2:
            act(world, memory)
    except EngramsError:
        return True
    return False


def jump_clock(world: World) -> None:
    """Work while the clock jumps by hours and years, forward and back."""

    def work() -> None:
        offset = [timedelta()]

        def clock() -> datetime:
            return now() + offset[0]

        with engrams.open(home=world.home, clock=clock, **world.settings) as memory:
            for _ in range(_ACTS):
                offset[0] = timedelta(
                    hours=world.dice.choice((0, 1, -1, 30, -30, 24 * 400, -24 * 400))
                    * world.dice.random()
                )
                act(world, memory)

    _report(world, ask(work), "clock")


def use_up_descriptors(world: World) -> None:
    """Work with hardly a descriptor left;
    refusals are fine, wrong owners and other errors are not.
    """

    def work() -> None:
        limit = world.dice.randrange(12, 40)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        memory = None
        if world.dice.random() < 0.5:
            memory = world.open()
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        for _ in range(_ACTS):
            try:
                memory = memory or world.open()
                act(world, memory)
            except EngramsError:
                continue
            except OSError as problem:
                if problem.errno != errno.EMFILE:
                    raise
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if memory:
            memory.close()

    _report(world, ask(work), "descriptors")


def put_odd_files(world: World) -> None:
    """Put pipes, sockets, links, folders and rubbish into the vault, and let memory follow."""
    folder = world.home / "vault" / "entries" / "user" / "ada" / "facts"
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / f"odd{world.number}-{number}.md" for number in range(7)]
    held = socket.socket(socket.AF_UNIX)
    try:
        os.mkfifo(names[0])
        os.chdir(folder)
        held.bind(names[1].name)
        names[2].symlink_to("/dev/zero")
        names[3].mkdir()
        names[4].write_bytes(world.dice.randbytes(5000))
        names[5].symlink_to(names[5])
        names[6].write_text("---\nscope: user/bob\nid: ../../../x\n---\n" + "[" * 5000, "utf-8")

        def work() -> None:
            with world.open(vault__enabled=True, vault__max_missing_share=1.0) as memory:
                for _ in range(5):
                    act(world, memory)
                memory.vault.sync()  # type: ignore[union-attr]

        _report(world, ask(work, 40), "odd files")
    finally:
        held.close()
        os.chdir("/")
        for name in names:
            if name.is_dir() and not name.is_symlink():
                name.rmdir()
            else:
                name.unlink(missing_ok=True)


def call_as_another(world: World) -> None:
    """Call with ids and words of another tenant; also by a file that claims to be his."""

    def work() -> None:
        with world.open(vault__enabled=True, vault__max_missing_share=1.0) as memory:
            thief, victim = world.dice.sample(OWNERS, 2)
            rows = memory.list(scope=scope(victim), limit=30).records
            for record in world.dice.sample(rows, min(12, len(rows))):
                _steal(world, memory, record, thief)
            _forge(world, memory, thief, victim)

    _report(world, ask(work), "tenants")


def _steal(world: World, memory: Any, record: Any, thief: str) -> None:
    mine = scope(thief)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: memory.get(record.id, scope=mine),
        lambda: memory.history(record.id, scope=mine),
        lambda: memory.edit(record.id, scope=mine, text="mine now"),
        lambda: memory.forget(record.id, scope=mine),
        lambda: memory.purge([record.id], scope=mine),
        lambda: memory.search(record.text[:200], scope=mine),
        lambda: memory.context(record.text[:200], scope=mine).text,
        lambda: memory.explain(record.text[:200], scope=mine),
        lambda: memory.links.related(record.id, scope=mine),
        lambda: memory.list(scope=mine, limit=200),
        lambda: memory.sessions.list(scope=mine, limit=50),
    )
    for call in world.dice.sample(calls, 6):
        try:
            answer = repr(call())
        except EngramsError as problem:
            answer = str(problem)
        foreign = [key for key in KEY.findall(answer) if owner_of(key) != thief]
        # What was asked for may be said back in the query.
        if [key for key in foreign if key not in record.text]:
            world.ledger.tell("failed", f"leak: {thief} got {foreign} by {call.__code__.co_names}")


def _forge(world: World, memory: Any, thief: str, victim: str) -> None:
    """A file in the thief's folder whose front matter names the victim."""
    key = world.key(thief)
    folder = world.home / "vault" / "entries" / "user" / thief / "facts"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.md"
    path.write_text(f"---\nscope: user/{victim}\nkind: fact\n---\n{text_of(key)}\n", "utf-8")
    memory.vault.sync()
    if [one for one in memory.list(scope=scope(victim), limit=1000).records if key in one.text]:
        world.ledger.tell("failed", f"leak: a file of {thief} came into the memory of {victim}")
    path.unlink()


PATTERNS = (
    *(
        " ",
        "\t",
        "\u00a0",
        ".",
        "?!",
        "\n",
        "- ",
        "(",
        "((",
        "[[",
        "{",
        '"',
        "'",
        "`",
        "*",
        "# ",
        "| a ",
        "a,",
        "12/",
        "1.",
        "http://",
        "@a",
    ),
    *(
        "a ",
        "and ",
        "I ",
        "not ",
        "5 ",
        "é",
        "東",
        "東京",
        "\u0301",
        "\u200b",
        "😀",
        "I moved to Oslo and ",
        "my my ",
        "on Monday ",
        "last last ",
    ),
    *(
        "remember that ",
        "forget ",
        "<x",
        "&",
        "\\",
        "$",
        "%",
        "--",
        "a" * 50 + " ",
        "password=",
        "=",
    ),
)
_SIZES = (2_000, 4_000, 8_000)
_GROWTH = 3.2
"""Largest growth of time where a text doubles, after which it is no longer called linear."""


def speak_hostile(world: World) -> None:
    """Say and ask texts of repeated pieces of doubling length;
    time must not grow faster than they do.
    """

    def work() -> None:
        pieces = [world.dice.choice(PATTERNS) for _ in range(world.dice.choice((1, 1, 2, 3)))]
        edge = world.dice.choice(("where", "I moved to", "my name is", "forget that", ""))

        def text(size: int) -> str:
            piece = "".join(pieces)
            return edge + piece * (size // len(piece)) + world.dice.choice(("x", "?", ""))

        with engrams.open(
            home=world.home.with_name(world.home.name + ".hostile"), **world.settings
        ) as memory:
            memory.add("Parcel warm waits.", scope=scope("ada"))
            for name, call in (
                ("add", lambda text: memory.add(text, scope=scope("ada"))),
                ("search", lambda text: memory.search(text, scope=scope("ada"))),
                ("context", lambda text: memory.context(text, scope=scope("ada"))),
            ):
                spent = []
                for size in _SIZES:
                    start = time.process_time()
                    with suppress(EngramsError):
                        call(text(size))
                    spent.append(time.process_time() - start)
                if (
                    spent[-1] > 0.25
                    and spent[-1] > _GROWTH * spent[-2]
                    and spent[-2] > _GROWTH * max(spent[-3], 0.002)
                ):
                    world.ledger.tell(
                        "failed",
                        f"superlinear: {name} of {edge!r} and {pieces!r}:"
                        f" {[round(one, 3) for one in spent]} s",
                    )

    _report(world, ask(work), "hostile text")


def _report(world: World, told: Any, what: str) -> None:
    for name in ("raised", "hung"):
        if told and name in told:
            world.ledger.tell("failed", f"{what}: {told[name]}")


def damage_file(world: World) -> None:
    """Change a random byte of a file of the vault:
    a hand may do so; only its own memory may change.
    """
    paths = sorted((world.home / "vault" / "entries").rglob("*.md"))
    if paths:
        path = world.dice.choice(paths)
        whole = path.read_bytes()
        keys = set(KEY.findall(whole.decode(errors="replace")))
        for key in keys:
            world.ledger.tell("try-purge", key)
        place = world.dice.randrange(len(whole))
        data = (
            whole[:place]
            + bytes((whole[place] ^ world.dice.randrange(1, 256),))
            + whole[place + 1 :]
        )
        # A byte that makes one parcel another would be told as a memory that came twice.
        if keys >= set(KEY.findall(data.decode(errors="replace"))):
            path.write_bytes(data)


ODD: dict[str, Callable[[World], None]] = {
    "full disk": fill_disk,
    "clock": jump_clock,
    "descriptors": use_up_descriptors,
    "odd files": put_odd_files,
    "vault file": damage_file,
    "tenants": call_as_another,
    "hostile text": speak_hostile,
}


def suits(name: str, world: World) -> bool:
    """True where an event can happen to this home."""
    return world.vault or name not in ("odd files", "vault file", "tenants")
