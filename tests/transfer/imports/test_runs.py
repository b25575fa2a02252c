"""Imports: what is refused, what a mixed folder gives, and the undo of one."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engrams import composition
from engrams.engine import MemoryEngine
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.testing import temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann") as found:
        yield found


def texts(engine: MemoryEngine) -> set[str]:
    return {record.text for record in engine.list(scope=ANN, limit=1000).records}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.png", PNG, "PNG picture"),
        ("notes.txt", PNG, "PNG picture"),
        ("ls", b"\x7fELF\x02\x01\x01" + bytes(500), "program"),
        ("a.pdf", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n", "PDF"),
        ("a.gz", b"\x1f\x8b\x08" + bytes(range(200)), "gzip"),
        ("a.xml", b'<?xml version="1.0"?><r>hi</r>', "XML"),
        ("x.txt", b"plain words here\n" * 9_000 + bytes(5_000), "not text from byte"),
        ("greek.txt", "καλημέρα κόσμε, τι κάνεις σήμερα".encode("iso8859-7"), "UTF-8"),
        ("a.json", b'[{"text": "a"},\n {"text": "b", oops]', "Line 2"),
        ("b.json", b'{"text": "never closed', "Line 1"),
        ("note.md", b'{"text": "never closed', "Line 1"),
        ("c.json", b'{"name": "x", "version": 1}', "No text"),
        ("d.jsonl", b'{"text": "one"}\n{"text": \n{"text": "three"}\n', "Line 2"),
        ("e.csv", b'text,who\n"never closed,Ann\n', "Line"),
        ("f.csv", b"colour,size\nred,3\n", "columns are colour, size"),
        ("g.csv", b"text,who\na,b,c\n", "Line 2: This row has 3 columns"),
        ("h.zip", b"PK\x03\x04 not a zip at all", "zip"),
    ],
)
def test_what_is_no_memory_is_refused(
    engine: MemoryEngine, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    """Pictures, programs, documents and broken JSON, JSONL, CSV and zips store nothing, and the
    reason names the line.
    """
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=reason) as caught:
        engine.load(tmp_path / name, scope=ANN)
    assert name in caught.value.message
    assert caught.value.hint
    assert not texts(engine)
    assert not engine.imports.list(ANN)


def test_text_of_every_kind_is_still_taken(engine: MemoryEngine, tmp_path: Path) -> None:
    """Lists with check boxes, wiki links, templates and a stray NUL are text."""
    for text in (
        "[ ] buy oat milk",
        "[[Home]] has a red door",
        "{{name}} is a template",
        "[10:00] Ann: the boat left",
        "one\0 stray byte here",
    ):
        path = tmp_path / "note.md"
        path.write_text(text)
        assert engine.load(path, scope=ANN).stored == 1, text


def test_a_table_is_read_by_its_columns(engine: MemoryEngine, tmp_path: Path) -> None:
    """A CSV gives a memory each row, with speaker and time."""
    (tmp_path / "a.csv").write_text(
        'text;speaker;at\n"I keep; bees";Ann;2024-05-01T10:00:00Z\nI row;Bob;\n'
    )
    assert engine.load(tmp_path / "a.csv", scope=ANN).stored == 2
    found = {record.text: record for record in engine.list(scope=ANN).records}
    assert found["I keep; bees"].speaker == "Ann"
    assert found["I keep; bees"].recorded_at.year == 2024


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_gives_what_is_good(engine: MemoryEngine, tmp_path: Path, packed: bool) -> None:
    """Of a folder or zip the good files are imported;
    the bad ones are named with the reason; hidden ones are passed over.
    """
    folder = tmp_path / "mixed"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("The attic is cold.")
    (folder / "sub" / "b.jsonl").write_text('{"text": "The cellar is dry."}\n')
    (folder / "sub" / "c.json").write_text('[{"text": "x"}, oops')
    (folder / "p.png").write_bytes(PNG)
    (folder / ".hidden").write_text("never read")
    source = folder
    if packed:
        source = tmp_path / "mixed.zip"
        with zipfile.ZipFile(source, "w") as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder))
    report = engine.load(source, scope=ANN)
    assert (report.stored, report.files, report.rejected) == (2, 2, 2)
    assert texts(engine) >= {"The attic is cold.", "The cellar is dry."}
    assert "never read" not in texts(engine)
    assert [message.split(":")[0] for _, message in report.bad] == ["p.png", "sub/c.json"]
    engine.imports.undo(report.id, ANN)
    assert not texts(engine)


def test_an_undo_takes_everything_back(tmp_path: Path) -> None:
    """After a restart one import goes as a whole:
    its messages, what was learned, and what it had replaced is current again.
    """
    file = tmp_path / "chat.jsonl"
    file.write_text(
        "\n".join(
            json.dumps({"text": text, "session": "s"})
            for text in ("I live in Paris.", "My sister Ana is a doctor.")
        )
    )
    with temp_engine(user="ann") as engine:
        engine.add("I live in Berlin.", scope=ANN)
        engine.add("I have a boat.", scope=ANN)
        engine.drain()
        before = texts(engine)
        report = engine.load(file, scope=ANN)
        engine.drain()
        assert "I live in Paris" in texts(engine)
        with composition.open(engine.settings) as other:
            assert [(each.id, each.name, each.state) for each in other.imports.list(ANN)] == [
                (report.id, "chat.jsonl", "done")
            ]
            with pytest.raises(NotFoundError):
                other.imports.undo(report.id, BOB)
            done = other.imports.undo(report.id, ANN)
            assert done.removed >= 4 and done.returned and not done.kept
            assert texts(other) == before
            assert not any(
                "Paris" in hit.record.text
                for hit in other.search("where do I live?", scope=ANN, history=True).hits
            )
            with pytest.raises(ConflictError, match="undone"):
                other.imports.undo(report.id, ANN)
            assert other.load(file, scope=ANN).stored == 2


def test_an_undo_keeps_what_was_edited(engine: MemoryEngine, tmp_path: Path) -> None:
    """Memories edited by hand since stay, and are named."""
    said = ("My sister Ana is a doctor.", "The spare key is under the pot.")
    lines = [json.dumps({"role": "user", "content": text}) for text in said]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    report = engine.load(tmp_path / "a.jsonl", scope=ANN)
    engine.drain()
    fact = next(
        record
        for record in engine.list(scope=ANN).records
        if record.text == "My sister Ana is a doctor"
    )
    engine.edit(fact.id, scope=ANN, text="The user's sister Ana is a surgeon")
    done = engine.imports.undo(report.id, ANN)
    assert done.kept == (fact.id,)
    assert texts(engine) == {"The user's sister Ana is a surgeon"}


def test_an_undo_of_an_export(engine: MemoryEngine, tmp_path: Path) -> None:
    """Records restored from an export go again; those that were here before stay."""
    with temp_engine(user="ann") as other:
        other.add("The boiler is from 1998.", scope=ANN)
        other.drain()
        other.dump(tmp_path / "all.jsonl", scope=ANN)
    engine.add("The roof is new.", scope=ANN)
    report = engine.load(tmp_path / "all.jsonl", scope=ANN)
    assert any("boiler" in text for text in texts(engine))
    engine.imports.undo(report.id, ANN)
    assert not any("boiler" in text for text in texts(engine))
    assert any("roof" in text for text in texts(engine))
