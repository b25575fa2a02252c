"""The files are enough:
without the database, or beside an older one, the same memories come back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk, converged

from engrams.admin import reindex
from engrams.core import Edge, EdgeType, Scope, Status, Turn
from engrams.errors import StoreError
from engrams.vault.dependencies import MARK


def lived(desk: Desk) -> None:
    """Statements, what replaced them, an edit by hand, a forgotten one, deeper scopes, links."""
    desk.add("I live in Paris.")
    desk.add("I moved to Berlin.")
    desk.add("My dentist is Doctor Brown.")
    tea = desk.add("I like tea.")
    desk.engine.edit(tea.id, scope=ALICE, text="I like green tea.", reason="more exactly")
    gone_record = desk.add("My car is red.")
    desk.engine.forget(gone_record.id, scope=ALICE, reason="sold")
    deep = desk.add("The project ships in June.", scope=(*ALICE, "project", "apollo"))
    desk.edit(deep, "June", "July")
    desk.sync()
    desk.engine.drain()  # the edited note is learned from anew
    from engrams.ports import WriteBatch

    owner = Scope(ALICE)
    edges = (
        Edge(
            owner=owner,
            source=tea.id,
            target=deep.id,
            type=EdgeType.RELATES_TO,
            weight=0.25,
            count=3,
        ),
        Edge(owner, deep.id, tea.id, EdgeType.CONTRADICTS),
    )
    desk.engine.store.commit(WriteBatch("test", "linked", desk.engine.now(), edges=edges))
    desk.sync()


def told(desk: Desk) -> tuple[list[object], set[tuple[str, str, str, float, int]]]:
    records = desk.everything()
    edges = desk.engine.store.edges(Scope(ALICE), [record.id for record in records])
    return sorted(records, key=str), {
        (str(edge.type), edge.source, edge.target, edge.weight, edge.count) for edge in edges
    }


def without(home: Path, *names: str) -> None:
    for name in names:
        for path in home.glob(f"{name}*"):
            path.unlink()


@pytest.mark.covers("S2.19", "S2.21")
def test_a_conversation_comes_back_in_its_order(desk: Desk) -> None:
    """Turns of one moment keep their order, which tells a search what was said before what:
    it answers as before.
    """
    session = [
        Turn(f"Line {number} of the talk about thing {number * 7 % 30}.", session="s")
        for number in range(30)
    ]
    desk.engine.observe(session, scope=ALICE)
    desk.engine.drain()
    for city in ("Paris", "Oslo", "Rome", "Bern"):
        desk.add(f"I moved to {city}.")
    desk.sync()
    before = desk.everything()
    hit_ids = [
        hit.record.id for hit in desk.engine.search("thing 21 in the talk", scope=ALICE).hits
    ]
    desk.engine.close()
    without(desk.home, "memory.db")
    desk.again()
    assert desk.everything() == before
    assert [
        hit.record.id for hit in desk.engine.search("thing 21 in the talk", scope=ALICE).hits
    ] == hit_ids


@pytest.mark.covers("S2.19", "S2.21")
@pytest.mark.parametrize("lost", [("memory.db",), ("memory.db", "vault.db"), ("vault.db",)])
def test_a_deleted_database_comes_back_equal(desk: Desk, lost: tuple[str, ...]) -> None:
    """Records with their times, versions and status, and the edges with weight and count, are those
    of before.
    """
    lived(desk)
    before = told(desk)
    assert {record.status for record in desk.everything()} >= {
        Status.ACTIVE,
        Status.SUPERSEDED,
        Status.FORGOTTEN,
    }
    files = {path: path.read_bytes() for path in desk.files()}
    desk.engine.close()
    without(desk.home, *lost)
    desk.again()
    desk.engine.drain()
    assert told(desk) == before
    assert {path: path.read_bytes() for path in desk.files()} == files
    converged(desk)


def test_a_file_that_a_kill_left_brings_nothing_back(desk: Desk) -> None:
    """Killed before a forgotten memory's file went, and without the files' own state:
    it stays forgotten, and the file goes.
    """
    desk.add("I live in Paris.", settle=False)
    desk.sync()
    (record,) = desk.everything()
    shutil.copytree(desk.home / "vault", desk.home / "before")
    desk.engine.forget(record.id, scope=ALICE)
    desk.engine.close()
    without(desk.home, "vault.db")
    shutil.rmtree(desk.home / "vault")
    (desk.home / "before").rename(desk.home / "vault")
    desk.again()
    desk.engine.drain()
    assert desk.engine.get(record.id, scope=ALICE).status is Status.FORGOTTEN
    converged(desk)


def test_reindex_builds_the_same_beside_the_old_one(desk: Desk) -> None:
    """`engrams reindex` keeps the old database, and makes an equal one from the files."""
    lived(desk)
    before = told(desk)
    settings = desk.engine.settings
    desk.engine.close()
    counts = reindex(settings)
    assert counts == {"memories": len(before[0]), "files": len(before[0]), "problems": 0}
    assert (desk.home / "memory.db.old").exists()
    desk.again()
    assert told(desk) == before


def test_an_older_database_put_back_takes_the_newer_files_in(desk: Desk) -> None:
    """A copy of the database from yesterday beside the files of today learns what is in the files
    alone.
    """
    desk.add("I live in Paris.", settle=False)
    desk.engine.close()
    shutil.copy(desk.home / "memory.db", desk.home / "yesterday")
    desk.again()
    desk.add("My dentist is Doctor Brown.", settle=False)
    desk.engine.close()
    without(desk.home, "memory.db")
    (desk.home / "yesterday").rename(desk.home / "memory.db")
    desk.again()
    assert [record.text for record in desk.everything()] == [
        "I live in Paris.",
        "My dentist is Doctor Brown.",
    ]
    converged(desk)


@pytest.mark.covers("S3.54")
def test_files_read_well_and_say_their_format(desk: Desk) -> None:
    """A person reads a memory's file without any program;
    the vault names the format it has, and a newer one is left alone.
    """
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    lines = desk.file(record).read_text("utf-8").splitlines()
    assert (
        lines[0] == "---"
        and f'id: "{record.id}"' in lines
        and lines[-1] == "My dentist is Doctor Brown."
    )
    mark = desk.root / MARK
    assert mark.read_text().strip().endswith("format 1")
    mark.write_text(mark.read_text().replace("format 1", "format 9"))
    desk.edit(record, "Brown", "Green")
    with pytest.raises(StoreError) as caught:
        desk.sync()
    assert "format 9" in caught.value.message and "newest" in caught.value.hint
    assert desk.get(record).text == "My dentist is Doctor Brown."
