"""Files that wait to be imported: a folder of a home and a fleet's tables keep them alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store import postgres
from tests.store.make import ALICE, BOB

from engrams.core.clock import now
from engrams.core.ids import new_id
from engrams.errors import ConflictError, NotFoundError
from engrams.ports import UploadStorage
from engrams.settings import StoreSettings
from engrams.transfer.uploads.folder import UploadFolder

_SERVED = (
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
)


@pytest.fixture(params=["folder", pytest.param("postgres", marks=_SERVED)])
def uploads(request: pytest.FixtureRequest, home: Path) -> Iterator[UploadStorage]:
    if request.param == "folder":
        yield UploadFolder(home / "uploads")
        return
    from engrams.store.postgres.store import PostgresStore

    store = PostgresStore.open(postgres.empty_database(), StoreSettings(), now)
    yield store.tables.uploads
    store.close()


def test_a_file_grows_in_pieces(uploads: UploadStorage) -> None:
    """Only at its end; it is read whole, and erased or dropped with all its pieces."""
    first = new_id(now())
    second = new_id(now())
    for id in (first, second):
        uploads.create(ALICE, id, f'{{"id": "{id}"}}')
    assert (uploads.measure(ALICE, first), uploads.list(ALICE)) == (
        0,
        (f'{{"id": "{second}"}}', f'{{"id": "{first}"}}'),
    )
    pieces = [bytes([number]) * 1000 for number in range(40)]
    for number, piece in enumerate(pieces):
        uploads.append(ALICE, first, number * 1000, piece)
    for wrong in (0, 39_000, 41_000):
        with pytest.raises(ConflictError, match="40000 bytes"):
            uploads.append(ALICE, first, wrong, b"x")
    with uploads.open(ALICE, first) as path:
        assert path.read_bytes() == b"".join(pieces)
    with uploads.open(ALICE, second) as path:
        assert path.read_bytes() == b""
    uploads.write(ALICE, first, "[1]")
    uploads.erase(ALICE, first)
    assert {upload.about: upload.has_file for upload in uploads.iter_all()}["[1]"] is False
    uploads.drop(ALICE, second)
    assert uploads.list(ALICE) == (uploads.read(ALICE, first),) == ("[1]",)


def test_nobody_finds_anothers(uploads: UploadStorage) -> None:
    """Another owner's id, an unknown one and one that is a path are not found, whatever is done
    with them.
    """
    id = new_id(now())
    uploads.create(ALICE, id, "{}")
    for owner, name in ((BOB, id), (ALICE, new_id(now())), (ALICE, "../" + id)):
        assert uploads.list(BOB) == ()
        for act in (uploads.read, uploads.measure, uploads.drop):
            with pytest.raises(NotFoundError):
                act(owner, name)
        with pytest.raises(NotFoundError):
            uploads.write(owner, name, "[]")
        with pytest.raises(NotFoundError):
            uploads.append(owner, name, 0, b"x")
    assert uploads.read(ALICE, id) == "{}"
