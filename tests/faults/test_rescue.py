"""What else of a home can be damaged:
the log beside the store, the files' own notes; and what comes back from files and backups.
"""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.faults.test_damage import OWNER, run

import engrams
from engrams.core import Status

NOTES = 60
FRAME = 4096 + 24

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def said(number: int) -> str:
    return f"Parcel r{number}x{number * 31} waits in the hall of house {number % 40}."


def killed(home: Path, **settings: object) -> Path:
    """A home of 60 memories whose writer was killed: half of them are in the log alone."""
    child = os.fork()
    if not child:
        memory = engrams.open(home=home, jobs__workers=0, **settings)
        for number in range(NOTES):
            if number == NOTES // 2:
                memory.close()
                memory = engrams.open(home=home, jobs__workers=0, **settings)
            memory.add(said(number), scope=OWNER, settle=False)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (home / "memory.db-wal").stat().st_size > 10 * FRAME
    return home


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return killed(tmp_path_factory.mktemp("logged") / "home")


def texts(home: Path, **settings: object) -> list[str]:
    with engrams.open(home=home, **settings) as memory:
        return sorted(
            record.text
            for record in memory.list(scope=OWNER, statuses=tuple(Status), limit=1000).records
        )


def overwrite(path: Path, place: int, content: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:place] + content + data[place + len(content) :])


@pytest.mark.parametrize(
    "where",
    ["header", "salts of the first page", "an early page", "a late page", "a page's number"],
)
def test_a_byte_of_the_log_loses_nothing(logged: Path, tmp_path: Path, where: str) -> None:
    """SQLite would drop the log from the damaged frame on, and say nothing:
    all memories are listed, and it is said.
    """
    home = Path(shutil.copytree(logged, tmp_path / "home"))
    log = home / "memory.db-wal"
    frames = (log.stat().st_size - 32) // FRAME
    place = {
        "header": 17,
        "salts of the first page": 32 + 9,
        "an early page": 32 + 2 * FRAME + 24 + 4000,
        "a late page": 32 + (frames - 2) * FRAME + 24 + 4000,
        "a page's number": 32 + (frames - 2) * FRAME,
    }[where]
    overwrite(log, place, bytes((log.read_bytes()[place] ^ 0x55,)))
    if where == "header":
        listed = run(home, "list", "--limit", "1000", "--user", "ada")
        assert listed.returncode == 0 and "was damaged" in listed.stderr, listed.stderr
    assert texts(home) == sorted(map(said, range(NOTES)))
    assert list(home.glob("memory.db.corrupt-*.rescued"))
    with engrams.open(home=home) as memory:
        assert memory.check()["ok"]


def test_zeros_in_the_log_lose_what_they_cover_only(logged: Path, tmp_path: Path) -> None:
    """Where a page of the log is gone, everything whose bytes are still there comes back."""
    home = Path(shutil.copytree(logged, tmp_path / "home"))
    overwrite(home / "memory.db-wal", 4 * 4096, bytes(4096))
    left = b"".join((home / name).read_bytes() for name in ("memory.db", "memory.db-wal"))
    assert set(texts(home)) >= {
        said(number) for number in range(NOTES) if said(number).encode() in left
    }


def test_a_killed_writer_s_log_is_not_called_damaged(logged: Path, tmp_path: Path) -> None:
    """A log that a kill left, also with half of a last frame, is read as it is and nothing is moved
    aside.
    """
    home = Path(shutil.copytree(logged, tmp_path / "home"))
    log = home / "memory.db-wal"
    log.write_bytes(log.read_bytes() + log.read_bytes()[32 : 32 + FRAME // 2])
    assert texts(home) == sorted(map(said, range(NOTES)))
    assert not list(home.glob("memory.db.corrupt-*"))


@pytest.mark.parametrize("damage", ["a byte of the schema", "zeroed", "a text", "a waiting note"])
def test_the_files_own_notes_are_made_anew(tmp_path: Path, damage: str) -> None:
    """Where the database of the files' state is damaged, files and memory are compared:
    nothing is lost, doubled, or refused.
    """
    home = tmp_path / "home"
    with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
        for number in range(12):
            memory.add(said(number), scope=OWNER)
        memory.drain()
        facts = home / "vault/entries/user/ada/facts"
        facts.mkdir(parents=True, exist_ok=True)
        (facts / "mine.md").write_text(said(12) + "\n", "utf-8")
    state = home / "vault.db"
    content = state.read_bytes()
    match damage:
        case "a byte of the schema":
            overwrite(state, content.index(b"CREATE TABLE files") + 8, b"\x01")
        case "zeroed":
            overwrite(state, 4096, bytes(3 * 4096))
        case "a waiting note":
            with closing(apsw.Connection(str(state))) as notes:
                notes.execute(
                    "INSERT INTO touched VALUES ('user/ada/facts/mine.md', char(1) || '\"does\":"
                    ' "edit"}\')'
                )
        case "a text":
            state.write_text("Dear diary. " * 900)
    for _ in range(2):
        assert texts(home, vault__enabled=True) == sorted(map(said, range(13)))


def test_a_file_is_taken_in_once(tmp_path: Path) -> None:
    """Killed between memory's commit and the note of it, a file without an id becomes one memory,
    not two.
    """
    home = tmp_path / "home"
    facts = home / "vault/entries/user/ada/facts"
    facts.mkdir(parents=True)
    (facts / "mine.md").write_text(said(1) + "\n", "utf-8")
    child = os.fork()
    if not child:
        from engrams.vault.files.sync_state import VaultStateDatabase

        VaultStateDatabase.put = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
            memory.vault.sync()
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(2):
        with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
            memory.vault.sync()
            memory.drain()
    assert texts(home, vault__enabled=True) == [said(1)]


@pytest.mark.parametrize("truth", ["files", "db"])
@pytest.mark.parametrize("content", [b"", b"\0" * 50_000])
@pytest.mark.slow
def test_memory_comes_back_from_the_files(tmp_path: Path, content: bytes, truth: str) -> None:
    """With nothing left of the store and no backup, `doctor --repair` reads memory from the vault's
    files, also where they only show memory.
    """
    home = tmp_path / "home"
    vault = ("--set", "vault.enabled=true", "--set", f"vault.source_of_truth={truth}")
    settings = {"vault__enabled": True, "vault__source_of_truth": truth}
    with engrams.open(home=home, jobs__workers=0, **settings) as memory:
        for number in range(25):
            memory.add(said(number), scope=OWNER)
        memory.drain()
    before = texts(home, **settings)
    (home / "memory.db").write_bytes(content)
    listed = run(home, "list", "--user", "ada", *vault)
    if content:
        assert listed.returncode == 5 and "engrams doctor --repair" in listed.stderr, listed
        done = run(home, "doctor", "--offline", "--repair", *vault)
        assert done.returncode == 0 and "read from the files" in done.stdout, done.stdout
        assert [path.read_bytes() for path in home.glob("memory.db.corrupt-*.rescued")] == [content]
    assert texts(home, **settings) == before


def test_memory_comes_back_where_both_databases_are_gone(tmp_path: Path) -> None:
    """The files alone bring memory back, also where they only show it. What was purged, and a file
    that somebody adds later, stay out.
    """
    home = tmp_path / "home"
    settings = {"vault__enabled": True, "vault__source_of_truth": "db", "vault__git": False}
    with engrams.open(home=home, jobs__workers=0, **settings) as memory:
        ids = [memory.add(said(number), scope=OWNER, settle=False).id for number in range(4)]
        memory.purge(ids[0], scope=OWNER)
        memory.drain()
    for path in home.glob("*.db*"):
        path.unlink()
    assert texts(home, **settings) == sorted(map(said, range(1, 4)))
    (home / "vault/entries/user/ada/facts/mine.md").write_text(said(9) + "\n", "utf-8")
    with engrams.open(home=home, jobs__workers=0, **settings) as memory:
        memory.purge_all(OWNER)
        memory.vault.sync()
    with engrams.open(home=home, **settings) as memory:
        assert not memory.list(scope=OWNER).records


def test_what_the_rescue_lost_comes_back_from_its_file(tmp_path: Path) -> None:
    """Rows that are gone or rubbish are read from their files again, also where more memories came
    since that have no file yet.
    """
    home = tmp_path / "home"
    with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
        for number in range(12):
            memory.add(said(number), scope=OWNER)
        memory.drain()
        memory.vault.sync()
        memory.observe([engrams.Turn(said(number)) for number in range(12, 30)], scope=OWNER)
    data = (home / "memory.db").read_bytes()
    place = data.index(said(5).encode())
    while place >= 0:
        data = data[: place - 150] + bytes(150 + len(said(5))) + data[place + len(said(5)) :]
        place = data.find(said(5).encode())
    data = data.replace(said(7).encode(), b"\xf5" * len(said(7)))
    (home / "memory.db").write_bytes(data)
    for _ in range(2):
        with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
            memory.vault.sync()
        assert texts(home, vault__enabled=True) == sorted(map(said, range(30)))


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """A home with files in which a word of one text is another one, in every place, without
    SQLite's noticing.
    """
    home = tmp_path / "home"
    with engrams.open(home=home, vault__enabled=True, jobs__workers=0) as memory:
        for number in range(12):
            memory.add(said(number), scope=OWNER)
        memory.drain()
        memory.vault.sync()
    path = home / "memory.db"
    path.write_bytes(
        path.read_bytes().replace(said(5).encode(), said(5).replace("hall", "well").encode())
    )
    return home


def test_a_text_that_changed_by_itself_comes_back_from_its_file(spoilt: Path) -> None:
    """`engrams doctor` names it and fails; `--repair` reads its file."""
    vault = ("--set", "vault.enabled=true", "--offline")
    found = run(spoilt, "doctor", *vault)
    assert (
        found.returncode == 1 and "text of 1 memories differs from the written text" in found.stdout
    ), found.stdout
    assert said(5) not in texts(spoilt, vault__enabled=True)
    mended = run(spoilt, "doctor", "--repair", *vault)
    assert mended.returncode == 0, mended.stdout
    assert texts(spoilt, vault__enabled=True) == sorted(map(said, range(12)))


@pytest.mark.slow
def test_a_text_that_changed_by_itself_is_told_until_accepted(spoilt: Path) -> None:
    """Without files the damaged text stays, and `doctor` says whose it is until it is edited or
    accepted.
    """
    shutil.rmtree(spoilt / "vault")
    (spoilt / "vault.db").unlink()
    for words in (("--repair",), ()):
        told = run(spoilt, "doctor", "--offline", *words)
        assert (
            told.returncode == 1
            and "of user/ada" in told.stdout
            and "is damaged, look at it and edit it" in told.stdout
        ), told.stdout
    with engrams.open(home=spoilt) as memory:
        (bad,) = (
            record
            for record in memory.list(scope=OWNER, limit=100).records
            if "well" in record.text
        )
        memory.edit(bad.id, scope=OWNER, text=said(5))
    assert run(spoilt, "doctor", "--offline").returncode == 0
    assert texts(spoilt) == sorted(map(said, range(12)))


def test_an_older_file_under_the_newest_number_is_rescued(tmp_path: Path) -> None:
    """As an old database beside a newer log has it: the number of the newest schema, and tables of
    an older one. All memories come back, and the doctor is not needed.
    """
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0) as memory:
        for number in range(5):
            memory.add(said(number), scope=OWNER, settle=False)
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        connection.execute(
            "DROP TABLE owner_state; DROP TABLE topics; PRAGMA journal_mode = DELETE"
        )
    assert texts(home) == sorted(said(number) for number in range(5))
    assert list(home.glob("memory.db.corrupt-*.rescued"))


def test_what_a_rescue_cannot_verify_is_named(tmp_path: Path) -> None:
    """An edit behind the memory's back stays named where damage makes a rescue seal all rows anew."""
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0) as memory:
        sound, edited = (
            memory.add(said(number), scope=OWNER, settle=False).id for number in (1, 2)
        )
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        connection.execute("UPDATE records SET importance = 0.99 WHERE id = ?", (edited,))
        connection.pragma("wal_checkpoint(truncate)")
    overwrite(home / "memory.db", 0, b"no header at all")
    with engrams.open(home=home, jobs__workers=0) as memory:
        (lost,) = memory.check()["lost"]
    assert "seals do not fit" in lost and edited in lost and sound not in lost


def test_a_rescued_file_is_not_said_to_be_of_another_home(tmp_path: Path) -> None:
    """A word that was changed in the file damages it. The copy is sealed by this home's key, and so
    nothing says that its memories are left out of answers, which have them.
    """
    with engrams.open(home=tmp_path, jobs__workers=0) as engine:
        for number in range(20):
            engine.add(f"The cake of day {number} is one with marzipan.", scope=("user", "ann"))
    database = tmp_path / "memory.db"
    database.write_bytes(database.read_bytes().replace(b"marzipan", b"cinnamon"))
    with engrams.open(home=tmp_path, jobs__workers=0) as engine:
        notes = " ".join(engine.check()["repaired"])
        assert "damaged" in notes
        assert "left out" not in notes
        assert engine.search("cake", scope=("user", "ann")).hits
