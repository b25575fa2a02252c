"""A purged document is nowhere: every byte of a home with files, git, backup, copies and index."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.documents import making
from tests.flows.test_purge_everywhere import copies, open_home
from tests.flows.traces import holders, secret

from engrams import admin
from engrams.core import Scope
from engrams.core.document_location import read_location

ANN = Scope(("user", "ann"))


def make_lease(number: int) -> bytes:
    """A lease whose title, heading, text and table have words of their own."""
    return making.make_docx(
        [
            (1, f"Pets {secret(number)}"),
            f"The tenant may keep one {secret(number + 1)}.",
            [["Item", "Amount"], [f"Roof {secret(number + 2)}", "900"]],
        ],
        f"Lease {secret(number + 3)}",
    )


@pytest.mark.parametrize("way", ["changed", "forgotten", "gone", "undone"])
def test_a_purged_document_leaves_no_byte(home: Path, tmp_path: Path, way: str) -> None:
    """Both versions go, with name, title and headings, whatever became of the document before."""
    folder = tmp_path / "papers"
    folder.mkdir()
    path = folder / f"{secret(9)}.docx"
    words = [secret(number) for number in range(10)]
    kept = folder / "kept.md"
    kept.write_text("The hive is of cork.")
    with open_home(home) as engine:
        watched = engine.documents.watch(folder, ANN)
        path.write_bytes(make_lease(0))
        watched.update()
        path.write_bytes(make_lease(4))
        latest = watched.update()
        engine.drain()
        admin.get_vault(engine).commit()
        engine.search(f"who keeps a {secret(1)}?", scope=ANN)
        engine.context(f"who keeps a {secret(5)}?", scope=ANN)
        admin.backup(engine, home / "mine.backup")
        copies(home)
        stored = {word for held in holders(home, words).values() for word in held}
        assert stored == {secret(number) for number in (*range(8), 9)}
        if way == "forgotten":
            engine.documents.forget(path.name, ANN)
        elif way == "gone":
            path.unlink()
            watched.update()
        elif way == "undone":
            engine.imports.undo(latest.id, ANN, git=True)
            assert not {secret(number) for number in range(4, 8)} & {
                word for held in holders(home, words).values() for word in held
            }
        assert engine.documents.purge(path.name, ANN, git=True).proven
        left = [
            location.name
            for record in engine.list(scope=ANN, kinds=("passage",)).records
            if (location := read_location(record))
        ]
        assert left == ["kept.md"]
    assert holders(home, words) == {}
