"""The file commands of a model's memory directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.core import Scope, Status
from engrams.errors import EngramsError
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool


@pytest.fixture
def tool(tmp_path: Path) -> MemoryFileCommandTool:
    (tmp_path / "m").mkdir()
    return MemoryFileCommandTool(tmp_path / "m")


def refused(call: Callable[..., str], *arguments: object) -> str:
    with pytest.raises(EngramsError) as caught:
        call(*arguments)
    assert caught.value.hint
    return caught.value.message


def test_files_are_made_viewed_changed_and_moved(tool: MemoryFileCommandTool) -> None:
    """Each command answers in the words that models know, and does what it says."""
    assert (
        tool.create("/memories/a/b.txt", "one\ntwo\r\nthree")
        == "File created successfully at: /memories/a/b.txt"
    )
    assert (
        tool.view("/memories/a/b.txt")
        == "Here's the content of /memories/a/b.txt with line numbers:\n     1\tone\n    "
        " 2\ttwo\r\n     3\tthree"
    )
    assert tool.view("/memories/a/b.txt", [2, 2]).endswith(":\n     2\ttwo\r")
    assert tool.view("/memories/a/b.txt", [2, -1]).endswith("     3\tthree")
    assert "     2\t2\r" in tool.str_replace("/memories/a/b.txt", "two", "2")
    assert (
        tool.insert("/memories/a/b.txt", 0, "zero") == "The file /memories/a/b.txt has been edited."
    )
    assert (tool.root / "a/b.txt").read_bytes() == b"zero\none\n2\r\nthree\n"
    listed = tool.view("/memories")
    assert (
        listed.splitlines()[0]
        == "Here're the files and directories up to 2 levels deep in /memories, excluding hidden"
        " items:"
    )
    assert [line.split("\t")[1] for line in listed.splitlines()[1:]] == [
        "/memories",
        "/memories/a/",
        "/memories/a/b.txt",
    ]
    assert (
        tool.rename("/memories/a/b.txt", "/memories/c/d.txt")
        == "Successfully renamed /memories/a/b.txt to /memories/c/d.txt"
    )
    assert tool.delete("/memories/c") == "Successfully deleted /memories/c"
    assert not (tool.root / "c").exists() and (tool.root.stat().st_mode & 0o777)


def test_wrong_calls_are_told_what_is_wrong(tool: MemoryFileCommandTool) -> None:
    """Missing, existing, ambiguous and impossible things are errors that say so;
    nothing changes.
    """
    tool.create("/memories/x.txt", "a\nb\na\n")
    assert refused(tool.create, "/memories/x.txt", "y") == "File /memories/x.txt already exists"
    assert "does not exist. Please provide a valid path." in refused(tool.view, "/memories/y.txt")
    assert refused(tool.str_replace, "/memories/x.txt", "a", "c").startswith(
        "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 3."
    )
    assert "did not appear verbatim in /memories/x.txt." in refused(
        tool.str_replace, "/memories/x.txt", "zz", "c"
    )
    assert "within the range [0, 3]" in refused(tool.insert, "/memories/x.txt", 9, "c")
    assert refused(tool.delete, "/memories") == "Cannot delete the /memories directory itself"
    assert (
        refused(tool.rename, "/memories/", "/memories/z")
        == "Cannot rename the /memories directory itself"
    )
    tool.create("/memories/z.txt", "")
    assert (
        refused(tool.rename, "/memories/x.txt", "/memories/z.txt")
        == "The destination /memories/z.txt already exists"
    )
    assert (tool.root / "x.txt").read_text() == "a\nb\na\n"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/x",
        "/memories/../../x",
        "/memories/.git/config",
        "/memories/a\\..\\b",
        "/memories/x\0",
        "/memoriesx",
        "",
    ],
)
def test_nothing_outside_is_reached(tool: MemoryFileCommandTool, path: str) -> None:
    """Paths that lead out, or to hidden files, are refused by every command."""
    for call, parameters in (
        (tool.view, ()),
        (tool.create, ("x",)),
        (tool.str_replace, ("a", "b")),
        (tool.insert, (0, "x")),
        (tool.delete, ()),
        (tool.rename, ("/memories/y",)),
    ):
        refused(call, path, *parameters)
    assert list(tool.root.parent.iterdir()) == [tool.root]


def test_a_model_s_call_is_carried_out_as_it_comes(tool: MemoryFileCommandTool) -> None:
    """A call is one object;
    unknown commands, missing, extra and mistyped parameters are errors for the model.
    """
    answer = tool.run({"command": "create", "path": "/memories/a.txt", "file_text": "one\ntwo\n"})
    assert answer == "File created successfully at: /memories/a.txt"
    assert tool.run({"command": "view", "path": "/memories/a.txt", "view_range": None}).endswith(
        "     2\ttwo\n     3\t"
    )
    tool.run(
        {"command": "insert", "path": "/memories/a.txt", "insert_line": 2, "insert_text": "three"}
    )
    tool.run({"command": "str_replace", "path": "/memories/a.txt", "old_str": "one\n"})
    tool.run({"command": "rename", "old_path": "/memories/a.txt", "new_path": "/memories/b/c.txt"})
    assert (tool.root / "b/c.txt").read_text() == "two\nthree\n"
    for bad in (
        {},
        {"command": "_locate", "path": "/memories"},
        {"command": "view"},
        {"command": "view", "path": "/memories", "more": 1},
        {"command": "view", "path": 7},
        {"command": "insert", "path": "/memories/b/c.txt", "insert_line": "1", "insert_text": "x"},
        {"command": "create", "path": "/memories/b/c.txt/d", "file_text": "below a file"},
        {"command": "create", "path": "/memories/" + "x" * 3000, "file_text": ""},
        {"command": "create", "path": "/memories/\ud800", "file_text": ""},
        {"command": "rename", "old_path": "/memories/b/c.txt", "new_path": "/memories/b/c.txt/d"},
    ):
        refused(tool.run, bad)
    assert (
        tool.run({"command": "delete", "path": "/memories/b"}) == "Successfully deleted /memories/b"
    )
    assert list(tool.root.iterdir()) == []


def test_links_are_not_followed_out(tool: MemoryFileCommandTool, tmp_path: Path) -> None:
    """A symbolic link that leads out is neither read, written, listed nor walked."""
    (tmp_path / "secret.txt").write_text("secret")
    (tool.root / "file").symlink_to(tmp_path / "secret.txt")
    (tool.root / "folder").symlink_to(tmp_path, target_is_directory=True)
    refused(tool.view, "/memories/file")
    refused(tool.view, "/memories/folder/secret.txt")
    refused(tool.create, "/memories/folder/new.txt", "x")
    assert "secret" not in tool.view("/memories") and sorted(
        path.name for path in tmp_path.iterdir()
    ) == ["m", "secret.txt"]


def test_documents_and_memories_through_the_vault(desk: Desk) -> None:
    """A model's documents are searched; what it does to memories' files is done to memory."""
    record = desk.add("My dentist is Doctor Brown.", settle=False)
    tool = desk.vault.tool(Scope(ALICE))
    tool.create("/memories/projects/apollo.md", "Apollo ships in June.\n")
    assert any(
        "Apollo ships" in hit.record.text for hit in desk.engine.search("Apollo", scope=ALICE).hits
    )
    path = f"/memories/entries/facts/{desk.file(record).name}"
    assert path in tool.view("/memories/entries") and "/memories/entries/" in tool.view("/memories")
    tool.str_replace(path, "Doctor Brown", "Doctor Green")
    assert desk.get(record).text == "My dentist is Doctor Green."
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    tool.create("/memories/keys.md", f"The key is {key}.\n")
    assert key not in tool.view("/memories/keys.md")
    tool.delete(path)
    assert desk.get(record).status is Status.FORGOTTEN
    tool.delete("/memories/projects")
    assert not any(
        "Apollo ships" in hit.record.text for hit in desk.engine.search("Apollo", scope=ALICE).hits
    )
    assert "Cannot delete" in refused(tool.delete, "/memories/entries")
