"""A disk that is full, read-only or damaged, and another process at work on the same home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import httpx2
import pytest

import engrams
from engrams.errors import StoreError

OWNER = ("user", "alice")
PRELUDE = """
import json, os, resource, signal, sys
import engrams
from engrams.errors import EngramsError, StoreError
from engrams import Turn
OWNER = ("user", "alice")
home = sys.argv[1]
"""


def script(home: Path, body: str, *arguments: str) -> dict[str, object]:
    """Run ``body`` in a process of its own; its last line of output is JSON."""
    code = PRELUDE + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


def texts(home: Path) -> list[str]:
    with engrams.open(home=home) as memory:
        return [
            record.text
            for record in memory.list(scope=OWNER, limit=1000).records
            if record.kind == "note"
        ]


def test_a_full_disk_is_an_error_that_says_so(home: Path) -> None:
    """When no more can be written, the write raises StoreError with a hint, and what was
    acknowledged before stays.
    """
    pytest.importorskip("resource")
    with engrams.open(home=home) as memory:
        memory.add("There was room for this", scope=OWNER)
    told = script(
        home,
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        stored, error, hint = [], "", ""
        with engrams.open(home=home, jobs__workers=0) as memory:
            memory.search("room", scope=OWNER)
            size = sum(os.path.getsize(os.path.join(home, name)) for name in os.listdir(home))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 200_000, resource.RLIM_INFINITY))
            for number in range(2000):
                try:
                    stored.append(memory.add(f"Note number {number} " + "and so on " * 50, scope=OWNER).id)
                except StoreError as problem:
                    error, hint = problem.message, problem.hint
                    break
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            after = memory.add("There is room again", scope=OWNER).id
            readable = sum(memory.get(id, scope=OWNER) is not None for id in stored)
        print(json.dumps({"stored": stored, "error": error, "hint": hint, "after": after, "readable": readable}))
        """,
    )
    assert told["error"]
    assert told["hint"]
    stored = told["stored"]
    assert isinstance(stored, list)
    assert told["readable"] == len(stored) > 0
    with engrams.open(home=home) as memory:
        assert all(memory.get(name, scope=OWNER) for name in [*stored, told["after"]])
        assert memory.check()["ok"]
    assert "There was room for this" in texts(home)


@pytest.mark.parametrize("vault", [False, True])
@pytest.mark.slow
def test_memory_is_read_while_no_file_can_grow(home: Path, vault: bool) -> None:
    """On a disk without room for a log's index, searches, contexts and lists are answered; then the
    next write works again.

    So it is where memory is in files, too.
    """
    pytest.importorskip("resource")
    with engrams.open(home=home, vault__enabled=vault) as memory:
        memory.add("The spare key is under the blue flowerpot", scope=OWNER)
    told = script(
        home,
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
            memory.search("warm", scope=OWNER)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        error = ""
        with engrams.open(home=home, jobs__workers=0, vault__enabled=sys.argv[2] == "True") as memory:
            found = [hit.record.text for hit in memory.search("spare key", scope=OWNER).hits]
            context = memory.context("spare key", scope=OWNER).text
            listed = sorted({record.text for record in memory.list(scope=OWNER).records})
            try:
                memory.add("There is no room for this", scope=OWNER)
            except StoreError as problem:
                error = problem.message
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            memory.add("There is room again for a spare key", scope=OWNER)
            after = len(memory.search("spare key", scope=OWNER).hits)
        print(json.dumps({"found": found, "context": context, "listed": listed, "error": error, "after": after}))
        """,
        str(vault),
    )
    assert told["found"] == ["The spare key is under the blue flowerpot"]
    assert "blue flowerpot" in str(told["context"])
    assert told["listed"] == ["The spare key is under the blue flowerpot"]
    assert "is full" in str(told["error"])
    assert told["after"] == 2
    with engrams.open(home=home) as memory:
        assert memory.check()["repaired"] == []


def test_a_write_that_found_no_room_is_no_damage(home: Path) -> None:
    """A log with the rest of a write that did not fit, behind smaller ones that did, is whole:
    nothing is rescued.
    """
    pytest.importorskip("resource")
    code = PRELUDE + textwrap.dedent("""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        memory = engrams.open(home=home, jobs__workers=0)
        kept = [memory.add("The spare key is under the blue flowerpot", scope=OWNER).id]
        size = os.path.getsize(os.path.join(home, "memory.db-wal"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300_000, resource.RLIM_INFINITY))
        try:
            memory.add(" ".join(f"word{number}" for number in range(9000)), scope=OWNER)
        except StoreError:
            print("no room", flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        kept.append(memory.add("It is there since May", scope=OWNER).id)
        grown = os.path.getsize(os.path.join(home, "memory.db-wal"))
        print(json.dumps({"kept": kept, "tail": grown > size + 250_000}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=120
    )
    said, last = done.stdout.splitlines()
    told = json.loads(last)
    assert (said, told["tail"]) == ("no room", True)
    for index in (True, False):
        copy = home.with_name(f"copy-{index}")
        shutil.copytree(home, copy)
        if not index:
            (copy / "memory.db-shm").unlink()
        with engrams.open(home=copy) as memory:
            assert all(memory.get(name, scope=OWNER) for name in told["kept"])
            assert memory.check()["repaired"] == []
        assert not list(copy.glob("*.rescued"))


def test_a_home_that_cannot_be_written_is_an_error_that_says_so(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without the right to write, opening or writing raises StoreError with a hint;
    nothing else escapes.
    """
    with engrams.open(home=home) as memory:
        memory.add("Written while it was allowed", scope=OWNER)
    lent = Path("/tmp") / f"engrams-read-only-{os.getpid()}"
    shutil.copytree(home, lent)
    try:
        for path in (*lent.rglob("*"), lent):
            path.chmod(0o555 if path.is_dir() else 0o444)
        told = script(
            lent,
            """
            with engrams.open(store__url=":memory:", jobs__workers=0) as memory:  # loads what this user may not read
                memory.add("warm up", scope=OWNER)
                memory.search("warm", scope=OWNER)
            if os.geteuid() == 0:
                os.setuid(65534)
            error, hint = "", ""
            try:
                with engrams.open(home=home, jobs__workers=0) as memory:
                    memory.add("Not allowed", scope=OWNER)
            except StoreError as problem:
                error, hint = problem.message, problem.hint
            print(json.dumps({"error": error, "hint": hint}))
            """,
        )
    finally:
        lent.chmod(0o755)
        shutil.rmtree(lent, ignore_errors=True)
    assert told["error"]
    assert told["hint"]
    assert texts(home) == ["Written while it was allowed"]


@pytest.mark.slow
def test_two_processes_may_write_at_once(home: Path) -> None:
    """Two processes that add to one home at the same time both succeed, and each sees the other's."""
    body = PRELUDE + textwrap.dedent("""
        with engrams.open(home=home) as memory:
            for number in range(150):
                memory.add(Turn(f"Process {sys.argv[2]} says {number}", external_id=f"{sys.argv[2]}-{number}"), scope=OWNER)
            memory.drain(30)
        """)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", body, str(home), name], stderr=subprocess.PIPE, text=True
        )
        for name in "AB"
    ]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    with engrams.open(home=home) as memory:
        kept = {
            record.external_id
            for record in memory.list(scope=OWNER, limit=1000).records
            if record.external_id
        }
        assert kept == {f"{name}-{number}" for name in "AB" for number in range(150)}
        found = memory.search("What does process B say about 149?", scope=OWNER, limit=5)
        assert "B-149" in [hit.record.external_id for hit in found.hits]


def test_an_empty_database_file_is_a_new_one(home: Path) -> None:
    """A file of no bytes, as a crash at creation leaves it, is used as it is."""
    home.mkdir()
    (home / "memory.db").touch()
    with engrams.open(home=home) as memory:
        memory.add("First words", scope=OWNER)
    assert texts(home) == ["First words"]


def test_a_file_where_the_home_should_be_is_an_error_that_says_so(home: Path) -> None:
    """A home that cannot be a folder raises StoreError with a hint."""
    home.write_text("I am a file")
    with pytest.raises(StoreError) as caught, engrams.open(home=home) as memory:
        memory.add("Nowhere to go", scope=OWNER)
    assert caught.value.hint


def test_a_server_starts_where_no_file_can_be_made_beside_memory(home: Path) -> None:
    """It answers searches though the note of its address cannot be written, says so, and leaves
    nothing of the attempt.
    """
    with engrams.open(home=home) as memory:
        memory.add("The spare key is under the blue flowerpot", scope=OWNER)
    (home / "serve.json").mkdir()
    line = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "serve",
        "--port",
        "0",
        "--user",
        "alice",
        "--home",
        str(home),
    ]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
        found = httpx2.post(f"{url}/search", json={"query": "spare key"}, timeout=30).json()
        server.terminate()
        _, told = server.communicate(timeout=60)
    assert "blue flowerpot" in found["hits"][0]["memory"]["text"]
    assert "serve.json was not written" in told
    assert not list(home.glob("serve.[0-9]*"))
