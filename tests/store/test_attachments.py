"""Files of documents on Postgres: read by every machine, of one owner, erased, and moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store import postgres
from tests.transfer.documents import media_files
from tests.transfer.documents.test_purged_documents import find_words_in_rows

import engrams
from engrams import admin
from engrams.core import clock
from engrams.errors import NotFoundError, StoreError
from engrams.settings import load

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
pytest.importorskip("PIL", reason="pictures need Pillow")

ANN = ("user", "ann")
BOB = ("user", "bob")
WORD = "quuxword001"
NOISE = bytes(number * 7 % 251 for number in range(3 << 20))


def make_picture() -> bytes:
    """A picture of more than three pieces, with a word in its bytes."""
    return media_files.make_picture("JPEG", comment=WORD.encode()) + NOISE


def open_engine(home: Path, url: str) -> engrams.MemoryEngine:
    return engrams.open(home=home, store__url=url, jobs__workers=0)


def test_every_machine_reads_a_file(home: Path, tmp_path: Path) -> None:
    """A picture that one machine added is read by another, and by nobody else's memory."""
    url = postgres.empty_database()
    path = tmp_path / "a.jpg"
    path.write_bytes(make_picture())
    with open_engine(home, url) as engine:
        engine.add_document(path, scope=ANN)
    assert not (home / "attachments").exists()
    with open_engine(tmp_path / "elsewhere", url) as engine:
        assert engine.documents.read_file("a.jpg", ANN).data == path.read_bytes()
        assert engine.documents.read_file("a.jpg", ANN, small=True).media_type == "image/jpeg"
        with pytest.raises(NotFoundError):
            engine.documents.read_file("a.jpg", BOB)
        engine.add_document(path, scope=BOB)
        assert engine.documents.purge("a.jpg", ANN).proven
        assert engine.documents.read_file("a.jpg", BOB).data == path.read_bytes()


@pytest.mark.parametrize("way", ["purged", "undone", "everything"])
def test_a_purged_picture_is_in_no_row(home: Path, tmp_path: Path, way: str) -> None:
    """The proof of a purge looks for the file too, and no piece of it is left."""
    url = postgres.empty_database()
    path = tmp_path / "a.jpg"
    path.write_bytes(make_picture())
    with open_engine(home, url) as engine:
        added = engine.add_document(path, scope=ANN)
        assert find_words_in_rows(url, [WORD]) == {WORD}
        if way == "undone":
            engine.imports.undo(added.id, ANN)
        else:
            report = (
                engine.documents.purge("a.jpg", ANN)
                if way == "purged"
                else engine.purge_all(scope=ANN)
            )
            assert report.proven
            assert "files of documents" in {place.name for place in report.places}
    assert find_words_in_rows(url, [WORD]) == set()
    assert count_rows(url) == (0, 0)


def count_rows(url: str) -> tuple[int, ...]:
    import psycopg

    with psycopg.connect(url) as connection:
        return tuple(
            connection.execute(f"SELECT count(*) FROM engrams.{table}".encode()).fetchall()[0][0]
            for table in ("attachments", "attachment_pieces")
        )


def test_a_changed_row_is_not_shown(home: Path, tmp_path: Path) -> None:
    """Contents that another program changed in the database are refused."""
    import psycopg

    url = postgres.empty_database()
    path = tmp_path / "a.jpg"
    path.write_bytes(make_picture())
    with open_engine(home, url) as engine:
        engine.add_document(path, scope=ANN)
        with psycopg.connect(url) as connection:
            connection.execute(
                "UPDATE engrams.attachment_pieces SET data = set_byte(data, 9, 1)"
                " WHERE part = 'file' AND start > 0"
            )
        with pytest.raises(StoreError, match="another program"):
            engine.documents.read_file("a.jpg", ANN)


def test_files_move_there_and_back(home: Path, tmp_path: Path) -> None:
    """A move takes the files of all owners along, with their small copies, and what they count; moved
    again, nothing changes.
    """
    url = postgres.empty_database()
    path = tmp_path / "a.jpg"
    path.write_bytes(make_picture())
    with open_engine(home, "") as engine:
        for owner in (ANN, BOB):
            engine.add_document(path, scope=owner)
            engine.add("Bees dance.", scope=owner)
        preview = engine.documents.read_file("a.jpg", ANN, small=True).data
    settings = load({"home": home}, {}).settings
    for _ in range(2):
        assert admin.move_memory(settings, url, clock.now, lambda *_: None)["files"] == 2
    fresh = tmp_path / "fresh"
    served = load({"home": fresh, "store.url": url}, {}).settings
    assert admin.move_memory(served, str(fresh / "memory.db"), clock.now, lambda *_: None)
    for opened_home, opened_url in ((tmp_path / "elsewhere", url), (fresh, "")):
        with open_engine(opened_home, opened_url) as engine:
            for owner in (ANN, BOB):
                assert engine.documents.read_file("a.jpg", owner).data == path.read_bytes()
                assert engine.documents.read_file("a.jpg", owner, small=True).data == preview
                storage = engine.store.storage(engrams.core.Scope(owner))
                assert storage.bytes > path.stat().st_size
            assert engine.documents.purge("a.jpg", ANN).proven
