"""A purge reaches every place, and its proof is true:
bytes of the whole home, looked at without the product's code.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import apsw
import httpx2
import pytest
from tests.flows.traces import holders, secret

import engrams
from engrams import MemoryEngine, Turn, admin

ANN = ("user", "ann")
KEPT = "I live in Zanzibar"


def open_home(home: Path, **settings: object) -> MemoryEngine:
    """The home, with files and git."""
    return engrams.open(
        home=str(home),
        vault__enabled=True,
        vault__git=True,
        vault__watch="off",
        jobs__workers=0,
        **settings,
    )


def fill(engine: MemoryEngine, home: Path, number: int) -> list[str]:
    """Say secrets through several doors; the ids of what was said."""
    ids = [
        engine.add(f"The vault code of room {n} is {secret(n)} indeed.", scope=ANN).id
        for n in range(number)
    ]
    ids += [
        engine.add(Turn(f"Remember {secret(n)}, my dear friend ({n}).", session="s1"), scope=ANN).id
        for n in range(number, number + 3)
    ]
    ids.append(engine.add("First wording of this note.", scope=ANN).id)
    engine.edit(
        ids[-1],
        scope=ANN,
        text=f"Second wording, with {secret(number + 3)} inside.",
        reason=f"about {secret(number + 3)}",
    )
    engine.edit(ids[-1], scope=ANN, text="Third wording of the same note.")
    engine.drain()
    admin.get_vault(engine).commit()
    (home / "vault/conflicts/user/ann/facts").mkdir(parents=True, exist_ok=True)
    (
        home
        / f"vault/conflicts/user/ann/facts/2026-01-01T0900__the-vault-code-of-room-0-is-{secret(0)}-indeed__ab12.0123abcd.md"
    ).write_text(f"The vault code of room 0 is {secret(0)} indeed.\n")
    (
        home
        / f"vault/conflicts/user/ann/facts/2026-01-01T0900__and-{secret(2)}-is__cd34.0123abcd.md"
    ).write_text(f"Once more: The vault code of room 2 is {secret(2)} indeed.\n")
    note = home / "vault/memory/user/ann"
    note.mkdir(parents=True, exist_ok=True)
    (note / "2026-01-02.md").write_text(
        f"# Day\n\n- The vault code of room 1 is {secret(1)} indeed.\n- Tea was had.\n"
    )
    admin.get_vault(engine).sync()
    admin.get_vault(engine).commit()
    return ids


def copies(home: Path) -> None:
    """Leave the product's own copies about."""
    for name in (
        "memory.db.v3.bak",
        "memory.db.corrupt-20260101T000000000000Z",
        "memory.db.corrupt-20260102T000000000000Z.rescued",
        "memory.db.old",
    ):
        apsw.Connection(str(home / "memory.db")).execute("VACUUM INTO ?", (str(home / name),))
    shutil.copyfile(home / "vault.db", home / "vault.db.corrupt-20260102T000000000000Z.rescued")


def test_a_purge_leaves_no_byte_and_proves_it(home: Path) -> None:
    """Everything said goes from database, files, copies, backup and git;
    with git kept the report is no proof.
    """
    with open_home(home) as engine:
        ids = fill(engine, home, 4)
        words = [secret(n) for n in range(8)]
        source = engine.add(f"I'm allergic to {secret(8)} and {KEPT}.", scope=ANN).id
        (fact,) = (
            record.id
            for record in engine.list(scope=ANN).records
            if record.evidence and secret(8) in record.text
        )
        admin.backup(engine, home / "mine.backup")
        copies(home)
        before = holders(home, [*words, secret(8)])
        assert {
            "memory.db-wal",
            "git objects",
            "mine.backup",
            "memory.db.v3.bak",
            "memory.db.old",
        } <= before.keys()
        report_without_git = engine.purge([*ids[:2], fact], scope=ANN)
        assert not report_without_git.proven and report_without_git.remaining["git history"] > 0
        assert next(
            check.advice for check in report_without_git.places if check.name == "git history"
        )
        report = engine.purge([*ids, fact], scope=ANN, git=True)
        assert report.proven, [check for check in report.places if check.left]
        assert engine.get(source, scope=ANN).text == f"[removed] and {KEPT}."
    assert holders(home, [*words, secret(8)]) == {}
    assert "memory.db.corrupt-20260101T000000000000Z" in {path.name for path in home.iterdir()}
    assert any(
        KEPT.encode() in path.read_bytes() for path in (home / "vault/entries").rglob("*.md")
    )
    assert not subprocess.run(
        ["git", "fsck", "--strict"], cwd=home / "vault", capture_output=True, check=True
    ).stderr


def test_a_note_that_was_purged_before_goes_from_git_too(home: Path) -> None:
    """Nothing but a hash is left of a purged note's words;
    a second purge with git still finds them in the history.
    """
    with open_home(home) as engine:
        note = home / "vault/memory/users/ann/2026-01-02.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"# Day\n\n- The vault code of room 1 is {secret(1)} indeed.\n")
        admin.get_vault(engine).sync()
        admin.get_vault(engine).commit()
        ids = [record.id for record in engine.list(scope=ANN).records if secret(1) in record.text]
        assert ids and not engine.purge(ids, scope=ANN).proven
        assert holders(home, [secret(1)]).keys() == {
            "git objects",
            *(name for name in holders(home, [secret(1)]) if ".git/" in name),
        }
        assert engine.purge(ids, scope=ANN, git=True).proven
    assert holders(home, [secret(1)]) == {}


@pytest.mark.parametrize("step", ["vault.settle_purge", "vault.rewrite_history", "store.finish"])
def test_a_killed_purge_goes_on(home: Path, step: str) -> None:
    """A process that dies within a purge leaves a job; the next process ends it."""
    with open_home(home) as engine:
        engine.add(f"The vault code is {secret(1)} indeed.", scope=ANN)
        engine.drain()
        admin.get_vault(engine).commit()
    code = (
        "import os, signal, engrams\nfrom engrams import admin\nengine ="
        f" engrams.open(home={str(home)!r}, vault__enabled=True, vault__git=True,"
        " vault__watch='off', jobs__workers=0)\nvault, store = admin.get_vault(engine),"
        " engine.store\nids = [one.id for one in"
        f" engine.list(scope={ANN!r}).records]\n{step.replace('vault.', 'type(vault).') if step.startswith('vault') else 'store.finish'}"
        f" = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\nengine.purge(ids, scope={ANN!r},"
        " git=True)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], timeout=60, check=False, capture_output=True
    )
    assert result.returncode == -signal.SIGKILL, result.stderr
    later = time.time() + 60
    with open_home(home, clock=lambda: datetime.fromtimestamp(later, UTC)) as engine:
        assert engine.drain(20)
    assert holders(home, [secret(1)]) == {}


@pytest.mark.slow
def test_a_server_forgets_what_the_command_purged(home: Path) -> None:
    """While a server runs, the command purges;
    the server's next answers hold nothing of it, and no file does.
    """
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(home),
        "ENGRAMS_VAULT__ENABLED": "true",
        "ENGRAMS_VAULT__GIT": "true",
        "ENGRAMS_USER": "ann",
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "engrams.program.entry", "serve", "--port", str(port)], env=env
    )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as api:
            for _ in range(100):
                try:
                    api.get("/health")
                    break
                except httpx2.TransportError:
                    time.sleep(0.2)
            responses = [
                api.post(
                    "/v1/memories",
                    json={"text": f"The vault code of room {n} is {secret(n)} indeed."},
                ).json()
                for n in range(30)
            ]
            ids = [response["results"][0]["id"] for response in responses]
            for query in ("vault code of room 3", secret(4)):
                assert "quuxword" in api.post("/v1/search", json={"query": query}).text
                api.post("/v1/context", json={"query": query})
            command = [
                sys.executable,
                "-m",
                "engrams.program.entry",
                "purge",
                *ids[:15],
                "--git",
                "--confirm",
                "purge",
                "--json",
            ]
            result = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=120, check=False
            )
            assert json.loads(result.stdout)["proven"], result.stdout + result.stderr
            objects_text = "".join(
                api.post(f"/v1/{door}", json={"query": "vault code of room 3"}).text
                for door in ("search", "context", "explain")
            )
            assert (
                not [n for n in range(15) if secret(n) in objects_text]
                and "quuxword" in objects_text
            )
            proof = api.post("/v1/purge", json={"ids": ids[15:], "git": True}).json()
            assert proof["proven"], proof
        assert holders(home, [secret(n) for n in range(30)]) == {}
    finally:
        server.terminate()
        server.wait(20)
    assert holders(home, [secret(n) for n in range(30)]) == {}


def test_a_short_secret_goes_from_git_too(home: Path) -> None:
    """Its file, notes and messages lose it;
    other memories' old versions keep what they share with a purged text.
    """
    long = (
        "Below the blue flower pot is written the vault code of the old house by the sea, and"
        " nowhere else at all."
    )
    other_text = (
        "Nobody should ask Marple for the vault code of the old house by the sea, as she has long"
        " forgotten it."
    )
    with open_home(home) as engine:
        short = [
            engine.add(text, scope=ANN, kind="note").id
            for text in ("PIN 42", "4821", "PIN 4821", "tango")
        ]
        gone_id = engine.add(long, scope=ANN).id
        kept_id = engine.add(other_text, scope=ANN).id
        note = home / "vault/memory/users/ann/2026-01-02.md"
        note.parent.mkdir(parents=True)
        note.write_text(
            f"# Day\n\n- PIN 42\n- 4821\n- She said: PIN 42, and PIN 4821.\n- tango\n- {long}\n"
        )
        dream = home / "vault/dreams/2026-01-03.md"
        dream.parent.mkdir(parents=True)
        dream.write_text("# Dream\n\nWe danced a tango.\n")
        admin.get_vault(engine).sync()
        admin.get_vault(engine).commit()
        engine.edit(kept_id, scope=ANN, text="Something else altogether.")
        admin.get_vault(engine).commit()
        report = engine.purge([*short[:3], gone_id], scope=ANN, git=True)
        assert report.proven, [check for check in report.places if check.left]
        assert holders(home, ["pin 4821", "4821", "pin 42", long.lower()]) == {}
        history = git_texts(home)
        assert other_text in history and "We danced a tango." in history
        short_report = engine.purge(short[3:], scope=ANN, git=True)
        (git_check,) = (
            place_check for place_check in short_report.places if place_check.name == "git history"
        )
        assert (
            not short_report.proven and git_check.left and "under 8 characters" in git_check.advice
        )
        assert "We danced a tango." in git_texts(home)


def git_texts(home: Path) -> str:
    """All objects of the vault's repository."""
    command = ["git", "cat-file", "--batch-all-objects", "--unordered", "--batch"]
    return subprocess.run(
        command, cwd=home / "vault", capture_output=True, check=True
    ).stdout.decode("utf-8", "replace")


def test_a_long_text_goes_from_the_note_of_the_day(home: Path) -> None:
    """The end of a conversation notes its messages by day, long ones cut;
    a purge takes the cut lines too.
    """
    texts = [
        f"Parcel q{n}x waits in the hall. " + " ".join(f"shelf{n}{k}" for k in range(60))
        for n in range(3)
    ]
    with open_home(home) as engine:
        ids = [engine.add(Turn(text, session="s1"), scope=ANN).id for text in texts]
        engine.sessions.end("s1", scope=ANN)
        engine.drain()
        (note,) = (home / "vault/memory").rglob("*.md")
        assert "q0x" in note.read_text() and "q1x" in note.read_text() and "…" in note.read_text()
        engine.purge(ids[1], scope=ANN)
        assert "q1x" not in note.read_text() and "q0x" in note.read_text()
        hits = engine.search("Where is parcel q1x?", scope=ANN, limit=50).hits
        assert hits and not [hit for hit in hits if "q1x" in hit.record.text]
