"""engrams watch FOLDER: memory follows the files, in processes that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.documents import making
from tests.surfaces.cli.conftest import Run

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.testing import temp_engine
from engrams.transfer.imports.importer import ImportTarget

ANN = Scope(("user", "ann"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A checkout with documents, a picture, an ignored folder and a link out of it."""
    folder = tmp_path / "repo"
    (folder / "docs").mkdir(parents=True)
    (folder / "build").mkdir()
    (folder / ".git").mkdir()
    (folder / "docs" / "bees.md").write_text("# Bees\n\nThe hive is of cork.\n")
    (folder / "docs" / "lease.pdf").write_bytes(making.make_pdf([["One cat is allowed here."]]))
    (folder / "docs" / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(90))
    (folder / "build" / "out.md").write_text("Made by a machine.")
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (folder / ".gitignore").write_text("build/\n")
    (tmp_path / "outside.md").write_text("Somebody else's words.")
    (folder / "docs" / "link.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(folder / "docs" / "pipe.md")
    return folder


def texts(engrams: Run) -> dict[str, list[str]]:
    """Passages of each document, by its name, in the order in which they were stored."""
    stored: dict[str, list[str]] = {}
    command = ("list", "--kind", "passage", "--order", "oldest", "-n", "1000", "--json")
    for passage in engrams(*command).json["records"]:
        stored.setdefault(passage["meta"]["document"]["name"], []).append(passage["text"])
    return stored


def test_memory_follows_a_folder(engrams: Run, docs: Path) -> None:
    """New, changed, moved and removed files: memory has each once, as it is now."""
    first = engrams("watch", str(docs), "--once", "--json").json
    assert (first["stored"], first["files"], first["bad"]) == (2, 2, [])
    assert len(engrams("documents", "--json").json) == 2
    assert texts(engrams) == {
        "docs/bees.md": ["The hive is of cork."],
        "docs/lease.pdf": ["One cat is allowed here."],
    }
    again = engrams("watch", str(docs), "--once", "--json").json
    assert (again["stored"], again["existing"], again["id"]) == (0, 0, "")
    (docs / "docs" / "bees.md").write_text("# Bees\n\nThe hive is of straw.\n")
    (docs / "docs" / "lease.pdf").rename(docs / "lease.pdf")
    (docs / "docs" / "new.txt").write_text("The boat is white.")
    second = engrams("watch", str(docs), "--once", "--json").json
    assert (second["stored"], second["removed"]) == (3, 1)
    now = {
        "docs/bees.md": ["The hive is of straw."],
        "lease.pdf": ["One cat is allowed here."],
        "docs/new.txt": ["The boat is white."],
    }
    assert texts(engrams) == now
    undone = engrams("import", "--undo", second["id"], "--json").json
    assert (undone["removed"], len(undone["returned"])) == (3, 2)
    assert texts(engrams) == {
        "docs/bees.md": ["The hive is of cork."],
        "docs/lease.pdf": ["One cat is allowed here."],
    }
    engrams("watch", str(docs), "--once")
    assert texts(engrams) == now


def test_the_same_contents_in_two_files_outlive_one_of_them(engrams: Run, docs: Path) -> None:
    """Contents that a changed or removed file had stay, where another file has them."""
    copy = docs / "a-copy.md"
    copy.write_bytes((docs / "docs" / "bees.md").read_bytes())
    engrams("watch", str(docs), "--once", "--only", "*.md")
    assert list(texts(engrams)) == ["a-copy.md"]
    copy.write_text("The goats are brown.")
    engrams("watch", str(docs), "--once", "--only", "*.md")
    assert texts(engrams) == {
        "a-copy.md": ["The goats are brown."],
        "docs/bees.md": ["The hive is of cork."],
    }
    swapped = (docs / "docs" / "bees.md").read_bytes()
    (docs / "docs" / "bees.md").write_bytes(copy.read_bytes())
    copy.write_bytes(swapped)
    engrams("watch", str(docs), "--once", "--only", "*.md")
    assert texts(engrams) == {
        "a-copy.md": ["The hive is of cork."],
        "docs/bees.md": ["The goats are brown."],
    }


def test_what_somebody_forgot_stays_forgotten(engrams: Run, docs: Path) -> None:
    """A forgotten document is not read again, even when its file changes; restoring it is."""
    engrams("watch", str(docs), "--once")
    engrams("documents", "docs/bees.md", "--forget")
    (docs / "docs" / "bees.md").write_text("The hive is of straw.")
    assert engrams("watch", str(docs), "--once", "--json").json["stored"] == 0
    assert list(texts(engrams)) == ["docs/lease.pdf"]
    engrams("documents", "docs/bees.md", "--restore")
    engrams("watch", str(docs), "--once")
    assert texts(engrams)["docs/bees.md"] == ["The hive is of straw."]


def test_a_folder_that_is_away_takes_nothing_along(engrams: Run, docs: Path) -> None:
    """A missing or empty folder is refused; only `--accept-empty` lets its documents go."""
    engrams("watch", str(docs / "docs"), "--once")
    for path in (docs / "docs").iterdir():
        path.unlink()
    refused = engrams("watch", str(docs / "docs"), "--once")
    assert (refused.code, "--accept-empty" in refused.err) == (1, True)
    assert len(texts(engrams)) == 2
    (docs / "docs").rmdir()
    assert "no folder" in engrams("watch", str(docs / "docs"), "--once").err
    (docs / "docs").mkdir()
    gone = engrams("watch", str(docs / "docs"), "--once", "--accept-empty", "--json").json
    assert (gone["removed"], texts(engrams)) == (2, {})
    engrams("import", "--undo", gone["id"])
    assert len(texts(engrams)) == 2


def test_a_file_that_cannot_be_read_waits_until_it_changes(docs: Path) -> None:
    """One run names the file; the next is quiet until its contents change."""
    (docs / "scan.pdf").write_bytes(making.make_pdf([[""]]))
    with temp_engine() as engine:
        watched = engine.documents.watch(docs, ANN)
        assert [message for _, message in watched.update().bad] == [
            "scan.pdf: It is a scan: its pages are pictures without text."
        ]
        assert watched.update().bad == []
        (docs / "scan.pdf").write_bytes(making.make_pdf([["Now it has a line of text."]]))
        assert watched.update().stored == 1


def test_too_many_files_are_refused(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with more files than the limit is not begun."""
    monkeypatch.setattr("engrams.transfer.documents.watched_folders.MOST_FILES", 2)
    with temp_engine() as engine:
        with pytest.raises(InputError, match="more than 2 files"):
            engine.documents.watch(docs, ANN).update()
        assert engine.documents.watch(docs, ANN, ["docs/*.md"]).update().stored == 1


class _EndedError(Exception):
    """Stands for the end of the process."""


def _end_after(engine: MemoryEngine, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the import before its next write, once it made so many."""
    left = iter(range(steps))

    def guard(write: Callable[..., object]) -> Callable[..., object]:
        def write_or_end(*arguments: object, **named: object) -> object:
            if next(left, None) is None:
                raise _EndedError
            return write(*arguments, **named)

        return write_or_end

    registry = engine.imports
    target: ImportTarget = registry._target
    monkeypatch.setattr(target.store, "commit", guard(target.store.commit))
    monkeypatch.setattr(target.store, "save_state", guard(target.store.save_state))


@pytest.mark.slow
def test_a_run_may_end_between_any_two_writes(docs: Path, tmp_path: Path) -> None:
    """However far a run came, the next one leaves each document once, as its file is."""
    steps = 0
    ended = True
    while ended:
        (docs / "docs" / "bees.md").write_text("# Bees\n\nThe hive is of cork.\n\n# Wax\n\nYellow.")
        (docs / "gone.md").write_text("The goats are brown.")
        with temp_engine() as engine, pytest.MonkeyPatch.context() as patch:
            engine.documents.watch(docs, ANN).update()
            (docs / "docs" / "bees.md").write_text("# Bees\n\nThe hive is of straw.")
            (docs / "gone.md").rename(docs / "moved.md")
            _end_after(engine, steps, patch)
            try:
                engine.documents.watch(docs, ANN).update()
                ended = False
            except _EndedError:
                pass
            patch.undo()
            engine.documents.watch(docs, ANN).update()
            passages = sorted(
                record.text for record in engine.list(scope=ANN, kinds=("passage",)).records
            )
            assert passages == [
                "One cat is allowed here.",
                "The goats are brown.",
                "The hive is of straw.",
            ], steps
            runs = [run for run in engine.imports.list(ANN) if run.state == "running"]
            assert runs == [], steps
            undo = engine.imports.list(ANN)[0]
            engine.imports.undo(undo.id, ANN)
            passages = sorted(
                record.text for record in engine.list(scope=ANN, kinds=("passage",)).records
            )
            assert passages == [
                "One cat is allowed here.",
                "The goats are brown.",
                "The hive is of cork.",
                "Yellow.",
            ], steps
        (docs / "moved.md").unlink()
        steps += 1
    assert steps > 4


@pytest.mark.slow
def test_a_killed_process_leaves_no_double(home: Path, engrams: Run, docs: Path) -> None:
    """The command follows changes while it runs; killed anywhere, the next run stores nothing twice."""
    command = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "watch",
        str(docs),
        "--home",
        str(home),
        "--user",
        "ann",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert "updated" in process.stdout.readline()
    (docs / "docs" / "bees.md").write_text("The hive is of straw.")
    assert "undo it" in process.stdout.readline()
    assert "1 passages of 1 documents" in process.stdout.readline()
    for number in range(12):
        (docs / "docs" / f"n{number}.md").write_text(f"# N\n\nNote {number} is kept.\n" * 20)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    engrams("watch", str(docs), "--once")
    stored = texts(engrams)
    assert (len(stored), stored["docs/bees.md"]) == (14, ["The hive is of straw."])
    assert all(
        len(passages) == 20 for name, passages in stored.items() if name.startswith("docs/n")
    )
    assert engrams("watch", str(docs), "--once", "--json").json["files"] == 0
