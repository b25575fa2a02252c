"""Files of pictures and sounds in the quota of their owner: counted, refused whole, free again."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from tests.store import postgres
from tests.surfaces.http.running import running
from tests.transfer.documents import media_files

import engrams
from engrams import MemoryEngine
from engrams.core import Scope
from engrams.errors import BudgetError, StoreError
from engrams.program.registry import create_app

ANN = ("user", "ann")
SOUND = media_files.make_wav(2)
QUOTA = len(SOUND) + 2_000
SERVED = (pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING))

OpenEngine = Callable[[], MemoryEngine]


@pytest.fixture(params=["file", pytest.param("postgres", marks=SERVED)])
def open_full(request: pytest.FixtureRequest, home: Path) -> OpenEngine:
    """Opens one memory as often as there are processes, with room for one sound."""
    url = postgres.empty_database() if request.param == "postgres" else ""
    return lambda: engrams.open(
        home=home, store__url=url, jobs__workers=0, quota__bytes=QUOTA, vault__enabled=False
    )


def make_sound(number: int) -> bytes:
    """A sound of the same size, with contents of its own."""
    return SOUND[:-1] + bytes([number])


def add_sound(engine: MemoryEngine, path: Path, number: int) -> None:
    path.write_bytes(make_sound(number))
    engine.add_document(path, scope=ANN)


def used_bytes(engine: MemoryEngine) -> int:
    return engine.store.storage(Scope(ANN)).bytes


def test_a_file_beyond_the_quota_is_refused_whole(open_full: OpenEngine, tmp_path: Path) -> None:
    """Neither its words nor its bytes are stored, and a purge makes room for it."""
    with open_full() as engine:
        add_sound(engine, tmp_path / "first.wav", 1)
        before = used_bytes(engine)
        assert len(SOUND) < before <= QUOTA
        with pytest.raises(BudgetError, match=r"quota|full") as refused:
            add_sound(engine, tmp_path / "second.wav", 2)
        assert "quota.bytes" in refused.value.hint
        assert [document.name for document in engine.documents.list(ANN)] == ["first.wav"]
        assert used_bytes(engine) == before
        engine.add("Bees dance.", scope=ANN)
        with pytest.raises(BudgetError):
            engine.add("Bees dance. " * 200, scope=ANN)
        add_sound(engine, tmp_path / "first.wav", 1)
        assert engine.documents.purge("first.wav", ANN).proven
        assert used_bytes(engine) < 100
        add_sound(engine, tmp_path / "second.wav", 2)
        assert engine.documents.read_file("second.wav", ANN).data == make_sound(2)


def test_a_file_whose_words_are_refused_is_not_counted(
    open_full: OpenEngine, tmp_path: Path
) -> None:
    """What is reserved for a file is free again, where its passages cannot be stored."""
    with open_full() as engine:
        engine.add("x" * 1_200, scope=ANN)
        before = used_bytes(engine)
        path = tmp_path / "first.wav"
        path.write_bytes(SOUND)
        with pytest.raises(BudgetError, match="full"):
            engine.add_document(path, scope=ANN, note="y" * 790)
        assert used_bytes(engine) == before
        assert engine.documents.list(ANN) == ()


def test_of_files_at_once_only_what_fits_is_stored(open_full: OpenEngine, tmp_path: Path) -> None:
    """Six processes add a sound each where one fits: one is stored, and five are refused."""
    engines = [open_full() for _ in range(6)]
    refused: list[str] = []

    def add(number: int) -> None:
        try:
            add_sound(engines[number], tmp_path / f"{number}.wav", number)
        except BudgetError as error:
            refused.append(error.message)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(len(engines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert len(engines[0].documents.list(ANN)) == 1
    assert len(SOUND) < used_bytes(engines[0]) <= QUOTA
    for engine in engines:
        engine.close()


def test_another_owner_has_a_quota_of_its_own(open_full: OpenEngine, tmp_path: Path) -> None:
    """The same file of two owners counts for each."""
    with open_full() as engine:
        add_sound(engine, tmp_path / "first.wav", 1)
        engine.add_document(tmp_path / "first.wav", scope=("user", "bob"))
        assert engine.store.storage(Scope(("user", "bob"))).bytes > len(SOUND)


def test_files_count_that_the_database_does_not_know(home: Path, tmp_path: Path) -> None:
    """The next file is compared with those that are really there, also after a lost database."""
    with engrams.open(home=home, jobs__workers=0, quota__bytes=QUOTA) as engine:
        add_sound(engine, tmp_path / "first.wav", 1)
    for file in home.glob("memory.db*"):
        file.unlink()
    with engrams.open(home=home, jobs__workers=0, quota__bytes=QUOTA) as engine:
        with pytest.raises(BudgetError):
            add_sound(engine, tmp_path / "second.wav", 2)
        shutil.rmtree(home / "attachments")
        add_sound(engine, tmp_path / "second.wav", 2)


def test_rest_refuses_a_file_beyond_the_quota(open_full: OpenEngine) -> None:
    """A client gets 507, as for a text, with what to do."""
    with open_full() as engine, running(create_app(engine, engine.settings)) as url:
        client = httpx2.Client(base_url=url, headers={"x-engrams-user": "ann"}, timeout=30)
        for number, status in ((1, 200), (2, 507)):
            files = {"file": (f"{number}.wav", make_sound(number))}
            answer = client.post("/v1/documents", files=files)
            assert answer.status_code == status, answer.text
        assert "quota.bytes" in answer.json()["hint"]


def test_a_changed_file_is_not_shown(home: Path, tmp_path: Path) -> None:
    """The contents are those that were added, or none: another program's are refused."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        add_sound(engine, tmp_path / "first.wav", 1)
        (file,) = [path for path in (home / "attachments").rglob("*") if path.is_file()]
        data = file.read_bytes()
        file.write_bytes(data.replace(make_sound(1), make_sound(7)))
        assert file.read_bytes() != data
        with pytest.raises(StoreError, match="another program"):
            engine.documents.read_file("first.wav", ANN)
