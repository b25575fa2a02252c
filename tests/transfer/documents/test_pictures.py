"""Pictures and sounds as documents: kept with their bytes, found by what is known of them, erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.flows.traces import holders
from tests.transfer.documents import media_files

import engrams
from engrams import MemoryEngine, admin
from engrams.backup import home_backup
from engrams.backup.home_paths import HomePaths
from engrams.core import Kind, Record
from engrams.core.document_location import read_location
from engrams.errors import InputError
from engrams.settings import load
from engrams.testing import temp_engine

pytest.importorskip("PIL", reason="pictures need Pillow")

ANN = ("user", "ann")
OSLO = {1: "N", 2: (59.0, 54.0, 50.0), 3: "E", 4: (10.0, 45.0, 8.0)}


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine() as engine:
        yield engine


def add(engine: MemoryEngine, path: Path, data: bytes, note: str = "") -> list[Record]:
    """Write a file and add it; its passages."""
    path.write_bytes(data)
    engine.add_document(path, scope=ANN, note=note)
    return list(engine.documents.read(path.name, ANN))


def list_files(home: Path) -> list[Path]:
    return [path for path in (home / "attachments").rglob("*") if path.is_file()]


def test_a_picture_is_found_by_note_name_and_time(engine: MemoryEngine, tmp_path: Path) -> None:
    """Its words are a document's: nothing is learned, and it has the time at which it was taken."""
    picture = media_files.make_picture("JPEG", taken="2026:05:01 14:03:22", place=OSLO)
    (passage,) = add(engine, tmp_path / "cabin.jpg", picture, "Anna at the quagga farm.")
    assert passage.text == (
        "Anna at the quagga farm.\nPicture of 40 × 30 pixels, taken on 2026-05-01 at 14:03."
    )
    location = read_location(passage)
    assert location is not None
    assert (location.label, location.media, location.by) == ("cabin.jpg", "image/jpeg", "")
    assert (passage.kind, passage.recorded_at.isoformat()[:16]) == (
        Kind.PASSAGE,
        "2026-05-01T14:03",
    )
    for query in ("the quagga farm", "cabin picture", "pictures of 2026-05-01"):
        assert [hit.record.id for hit in engine.search(query, scope=ANN).hits] == [passage.id]
    engine.drain()
    assert engine.list(scope=ANN, kinds=("fact", "rule", "preference")).records == ()


def test_a_place_is_stored_where_a_setting_says_so(tmp_path: Path) -> None:
    """Whoever sends a picture rarely knows that it tells where it was taken."""
    picture = media_files.make_picture("JPEG", place=OSLO)
    for is_on in (False, True):
        with temp_engine(documents__picture_places=is_on) as engine:
            (passage,) = add(engine, tmp_path / "cabin.jpg", picture)
            assert ("59.9139, 10.7522" in passage.text) is is_on


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_each_kind_of_picture_is_read(engine: MemoryEngine, tmp_path: Path, form: str) -> None:
    """The first bytes tell the kind, whatever the name says."""
    (passage,) = add(engine, tmp_path / "file.bin", media_files.make_picture(form))
    location = read_location(passage)
    assert location is not None
    assert location.media == f"image/{form.lower()}"


def test_heic_is_read_where_its_library_is_installed(engine: MemoryEngine, tmp_path: Path) -> None:
    """Phones send HEIC; the small copy of it is a JPEG."""
    heic = pytest.importorskip("pillow_heif")
    heic.register_heif_opener()
    (passage,) = add(engine, tmp_path / "a.heic", media_files.make_picture("HEIF", (64, 64)))
    assert passage.text == "Picture of 64 × 64 pixels."


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (media_files.make_wav(2), "Sound of 2 s."),
        (media_files.make_mp3(100), "Sound of 3 s."),
        (media_files.make_m4a(3700), "Sound of 1 h 1 min 40 s."),
        (media_files.make_ogg(3), "Sound of 3 s."),
    ],
)
def test_each_kind_of_sound_is_read(
    engine: MemoryEngine, tmp_path: Path, data: bytes, text: str
) -> None:
    """A sound tells how long it lasts."""
    (passage,) = add(engine, tmp_path / "memo", data)
    assert passage.text == text


def test_another_note_takes_the_place_of_the_first(engine: MemoryEngine, tmp_path: Path) -> None:
    """The same file again is stored once; without a note the one that is there stays."""
    picture = media_files.make_picture()
    path = tmp_path / "a.png"
    add(engine, path, picture, "Our cat.")
    assert engine.add_document(path, scope=ANN, note="Our cat.").stored == 0
    assert engine.add_document(path, scope=ANN).stored == 0
    (passage,) = add(engine, path, picture, "Our dog.")
    assert passage.text.startswith("Our dog.\n")
    with pytest.raises(InputError, match="800"):
        engine.add_document(path, scope=ANN, note="x" * 801)


@pytest.mark.parametrize("way", ["purged", "undone", "everything"])
def test_a_purged_picture_leaves_no_byte(home: Path, tmp_path: Path, way: str) -> None:
    """Its bytes are in the home and in its backup, as long as a memory is made of them."""
    picture = media_files.make_picture("JPEG", comment=b"quuxword001")
    path = tmp_path / "a.jpg"
    path.write_bytes(picture)
    words = ["quuxword001", "quuxword002"]
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        report = engine.add_document(path, scope=ANN, note="This is quuxword002.")
        admin.backup(engine, home / "mine.backup")
        held = {word for found in holders(home, words).values() for word in found}
        assert held == {*words}
        assert len(list_files(home)) == 2  # the file, and its small copy
        if way == "undone":
            engine.imports.undo(report.id, ANN)
        elif way == "everything":
            assert engine.purge_all(scope=ANN).proven
        else:
            assert engine.documents.purge("a.jpg", ANN).proven
        assert list_files(home) == []
    assert holders(home, words) == {}


def test_a_file_of_two_documents_goes_with_the_last(home: Path, tmp_path: Path) -> None:
    """The same picture in two scopes is one file; another owner has one of its own."""
    path = tmp_path / "a.png"
    path.write_bytes(media_files.make_picture())
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        for scope in (ANN, (*ANN, "project", "boat"), ("user", "bob")):
            engine.add_document(path, scope=scope)
        assert len(list_files(home)) == 4
        engine.documents.purge("a.png", (*ANN, "project", "boat"))
        assert len(list_files(home)) == 4
        engine.documents.purge("a.png", ANN)
        assert len(list_files(home)) == 2


def test_the_files_of_an_encrypted_home_are_sealed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files from before are sealed with the home, and no byte of a later one is readable."""
    pytest.importorskip("cryptography")
    monkeypatch.setenv("ENGRAMS_PASSPHRASE", "correct horse")
    words = ["quuxword001", "quuxword002"]
    path = tmp_path / "a.jpg"
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        path.write_bytes(media_files.make_picture("JPEG", comment=b"quuxword001"))
        engine.add_document(path, scope=ANN)
    settings = load({"home": home, "encryption.key": "passphrase"}).settings
    admin.encrypt(settings, passphrase="correct horse")
    assert holders(home, words) == {}
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        path.write_bytes(media_files.make_picture("JPEG", comment=b"quuxword002"))
        engine.add_document(path, scope=ANN)
        assert holders(home, words) == {}
        assert len(list_files(home)) == 4
        engine.documents.purge("a.jpg", ANN)
        assert list_files(home) == []


def test_a_backup_brings_the_files_along(home: Path, tmp_path: Path) -> None:
    """A home that was restored has the bytes again."""
    path = tmp_path / "a.png"
    path.write_bytes(media_files.make_picture())
    with engrams.open(home=str(home), jobs__workers=0) as engine:
        engine.add_document(path, scope=ANN)
        admin.backup(engine, tmp_path / "mine.backup")
    fresh = tmp_path / "fresh"
    home_backup.restore(tmp_path / "mine.backup", HomePaths.below(fresh))
    names = [[file.name for file in list_files(folder)] for folder in (home, fresh)]
    assert sorted(names[0]) == sorted(names[1])
    assert path.read_bytes() in [file.read_bytes() for file in list_files(fresh)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (media_files.make_picture("JPEG", (400, 300))[:900], "cut off"),
        (media_files.make_png(60_000, 60_000), "pixels"),
        (media_files.make_wav(1, told=1 << 30), "cut off"),
        (b"BM" + bytes(100), "not read"),
    ],
)
def test_a_harmful_file_is_refused_with_its_reason(
    engine: MemoryEngine, tmp_path: Path, data: bytes, reason: str
) -> None:
    """Nothing of it is kept."""
    with pytest.raises(InputError, match=reason):
        add(engine, tmp_path / "a", data)
    assert engine.documents.list(ANN) == ()
