"""Damage: found, mended, and never answered by throwing memories away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.store.make import ALICE, START, Time, add, change, found, get, record, texts, vector

from engrams.core import Edge, EdgeType
from engrams.errors import StoreError
from engrams.ports import JobSpec, NewRecord
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore


def opened(home: Path, clock: Time) -> SqliteStore:
    return SqliteStore.open(home / "memory.db", StoreSettings(), clock)


def fill(home: Path, clock: Time, count: int = 3) -> None:
    store = opened(home, clock)
    add(
        store,
        *(
            record(f"Alice likes tea number {number} on the {number * 7} th")
            for number in range(count)
        ),
    )
    store.close()


def raw(home: Path, *statements: str) -> None:
    """What a defect or another program might do to the file."""
    connection = apsw.Connection(str(home / "memory.db"))
    for statement in statements:
        connection.execute(statement)
    connection.close()


QUIET_DAMAGE = {
    "a term too few": "UPDATE records SET lexemes = substr(lexemes, 5) WHERE number = 1",
    "a term too many": "UPDATE records SET lexemes = CAST(lexemes || x'01000000' AS BLOB)",
    "half a term": "UPDATE records SET lexemes = substr(lexemes, 2) WHERE number = 3",
    "a term of no word": "UPDATE records SET lexemes = x'FFFFFFFF' WHERE number = 2",
    "another word": "UPDATE lexicon SET term = 'tfa' WHERE term = 'tea'",
    "a lost word": "DELETE FROM lexicon WHERE term = 'tea'",
    "a wrong count": "UPDATE tallies SET total = total + 5",
    "a count too many": (
        "INSERT INTO tallies VALUES ('user/x', 'user/x', 'fact', 'semantic', 'recent', 'active',"
        " '', 1, 0)"
    ),
}


@pytest.mark.parametrize("damage", QUIET_DAMAGE)
def test_quiet_damage_is_found_and_mended(home: Path, clock: Time, damage: str) -> None:
    """What only a thorough look can find is reported by the check, mended when asked, and then
    gone.
    """
    fill(home, clock)
    raw(home, QUIET_DAMAGE[damage])
    store = opened(home, clock)
    report = store.check(False)
    assert not report["ok"]
    assert len(report["problems"]) == 1
    mended = store.check(True)
    assert mended["ok"], mended
    assert mended["repaired"]
    assert store.check(False) == {**mended, "problems": [], "bytes": store.check(False)["bytes"]}
    assert store.counts(None)["status"] == {"active": 3}
    store.close()


def test_a_memory_that_its_words_do_not_find_is_found_after_a_repair(
    home: Path, clock: Time
) -> None:
    """Where stored words are not those of the text, the check names the memory; the repair indexes
    it again, also in a store that has searched before.
    """
    store = opened(home, clock)
    tea = record("Alice likes tea")
    add(store, tea, record("Bob likes coffee"))
    raw(home, "UPDATE records SET lexemes = zeroblob(12) WHERE text LIKE '%tea'")
    assert found(store, "tea") == set()
    report = store.check(False)
    assert not report["ok"]
    assert tea.id in report["problems"][0]
    assert any("1 memories were indexed" in note for note in store.check(True)["repaired"])
    assert found(store, "tea") == {tea.id}
    assert len(found(store, "likes")) == 2
    store.close()


def test_a_healthy_store_is_left_alone(home: Path, clock: Time) -> None:
    """A check of a sound store reports sizes and counts and repairs nothing, asked to or not."""
    fill(home, clock)
    store = opened(home, clock)
    report = store.check(True)
    assert (report["ok"], report["problems"], report["repaired"], report["aside"]) == (
        True,
        [],
        [],
        [],
    )
    assert report["rows"]["records"] == 3
    assert report["bytes"] > 0
    assert report["path"] == str(home / "memory.db")
    store.close()


def header(path: Path) -> None:
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])


def schema_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(bytes(data))


@pytest.mark.covers("S1.54")
@pytest.mark.parametrize("damage", [header, schema_page])
def test_an_unreadable_file_is_rescued_and_kept(
    home: Path, clock: Time, damage: Callable[[Path], None]
) -> None:
    """What a damaged file still holds is copied to a new one;
    the damaged file is kept unchanged, and the check tells.
    """
    fill(home, clock, 200)
    damage(home / "memory.db")
    bytes_ = (home / "memory.db").read_bytes()
    store = opened(home, clock)
    back = len(texts(store, limit=1000))
    assert back == 200
    add(store, record("life goes on"))
    report = store.check(False)
    assert report["ok"], report
    assert f"{back} memories" in report["repaired"][0]
    (kept,) = home.glob("memory.db.corrupt-2025*.rescued")
    assert kept.read_bytes() == bytes_
    store.close()
    again = opened(home, clock)
    assert len(texts(again, limit=1000)) == back + 1
    again.close()


@pytest.mark.covers("S1.54")
def test_many_that_find_the_damage_at_once(home: Path, clock: Time) -> None:
    """Of several that open a damaged file at the same time one rescues it, and all use the same new
    one.
    """
    fill(home, clock)
    header(home / "memory.db")
    stores: list[SqliteStore] = []
    barrier = threading.Barrier(6)

    def work() -> None:
        barrier.wait()
        stores.append(opened(home, clock))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, store in enumerate(stores):
        add(store, record(f"from {number}"))
    assert [len(texts(store)) for store in stores] == [9] * 6
    assert len(list(home.glob("*.rescued"))) == 1
    for store in stores:
        store.close()


def test_an_empty_file_is_a_new_store(home: Path, clock: Time) -> None:
    """A file of no bytes, as a crash right after its creation leaves it, is simply filled."""
    home.mkdir()
    (home / "memory.db").touch()
    store = opened(home, clock)
    add(store, record("x"))
    assert store.check(False)["aside"] == []
    store.close()


def damage_pages(home: Path, table: str, keep: int) -> int:
    """Overwrite every page of a table but the first ``keep`` leaves. How many were hit."""
    connection = apsw.Connection(str(home / "memory.db"))
    pages = [
        number
        for (number,) in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (table,)
        )
    ][keep:]
    connection.close()
    with (home / "memory.db").open("r+b") as file:
        for number in pages[:2]:
            file.seek((number - 1) * 4096)
            file.write(b"\xa5" * 4096)
    return len(pages[:2])


@pytest.mark.covers("S1.54")
@pytest.mark.parametrize("table", ["records", "records_hash", "history", "vectors", "lexicon"])
def test_what_is_readable_is_rescued(home: Path, clock: Time, table: str) -> None:
    """With pages in the middle overwritten, opening saves every record that can be read and keeps
    the damaged file.
    """
    store = opened(home, clock)
    many = [
        record(f"Alice likes tea number {number} and the word w{number}x{number * 31}")
        for number in range(400)
    ]
    add(
        store,
        *(
            NewRecord(one, vector=vector(one, 1, number + 1, *[0] * 62))
            for number, one in enumerate(many)
        ),
        jobs=(JobSpec("a", "b"),),
    )
    add(store, edges=(Edge(ALICE, many[0].id, many[1].id, EdgeType.RELATES_TO),))
    store.close()
    assert damage_pages(home, table, keep=2)
    store = opened(home, clock)
    mended = store.check(True)
    assert mended["ok"], mended
    assert "was damaged" in mended["repaired"][0]
    kept = len(store.get(ALICE, [stored.id for stored in many]))
    assert kept == 400 if table != "records" else 350 < kept < 400
    assert mended["rows"]["jobs"] == mended["rows"]["edges"] == 1
    assert mended["aside"] == []
    assert (
        len([path for path in home.glob("memory.db.corrupt-*") if path.suffix == ".rescued"]) == 1
    )
    fresh = record("life goes on")
    add(store, fresh)
    assert found(store, "life") == {fresh.id}
    assert get(store, many[0]) == many[0]
    assert len(found(store, "tea")) == kept if table != "lexicon" else True
    store.close()


def test_damage_met_in_passing_says_what_to_do(home: Path, clock: Time) -> None:
    """Reading a damaged page is an error that names the file and the command that mends it."""
    fill(home, clock, 400)
    store = opened(home, clock)
    damage_pages(home, "records", keep=2)
    with pytest.raises(StoreError) as caught:
        texts(store, limit=1000)
    assert "doctor --repair" in caught.value.hint
    assert "memory.db" in caught.value.message
    store.close()


def test_nothing_of_a_purged_text_is_in_the_files(home: Path, clock: Time) -> None:
    """After a purge the words of the record are in no byte of the database or its log."""
    store = opened(home, clock)
    secret = record(
        "Zanzibarquux flibbertigibbet",
        caption="xylophonist",
        speaker="Wolpertinger",
        meta={"k": "Quokkaberry"},
    )
    add(store, *(record(f"Alice likes tea {number}") for number in range(50)))
    add(
        store,
        secret,
        jobs=(JobSpec("extract", "x", {"items": [secret.id], "text": "Zanzibarquux"}),),
    )
    change(store, secret, text="Cattywampus flibbertigibbet", summary="Snollygoster")
    change(store, secret, text="nothing to see", caption="")
    assert set(store.purge(ALICE, [secret.id], START).remaining.values()) == {0}
    data = b"".join(path.read_bytes().lower() for path in home.iterdir())
    store.close()
    data += b"".join(path.read_bytes().lower() for path in home.iterdir())
    for word in (
        "zanzibar",
        "flibberti",
        "xylophon",
        "wolperting",
        "quokka",
        "snollygoster",
        "cattywamp",
    ):
        assert word.encode() not in data, word
    assert b"alice likes tea 7" in data
