"""Files that name another owner, and what is no plain file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.vault.conftest import Desk

from engrams.core import Scope
from engrams.errors import InputError
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool

BOB = Scope(("user", "bob"))


def test_a_new_file_stays_its_folders_owners(desk: Desk) -> None:
    """A line `scope:` that names another owner is reported, and nothing is written there."""
    path = desk.root / "entries/user/alice/facts/made.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nscope: user/bob\n---\nBob owes Alice a thousand.\n")
    assert "another owner" in desk.sync().problems["entries/user/alice/facts/made.md"]
    assert not desk.engine.list(scope=BOB).records
    assert desk.engine.list(scope=("user", "alice")).records


def test_a_model_s_memory_tool_writes_to_nobody_else(desk: Desk) -> None:
    """What the tool of one owner creates or edits with another's name in its front matter never
    becomes the other's memory.
    """
    kept_record = desk.add("My dentist is Doctor Brown.")
    tool = desk.vault.tool(Scope(("user", "alice")))
    tool.create(
        "/memories/entries/facts/owed.md", "---\nscope: user/bob\n---\nBob owes Alice a thousand.\n"
    )
    path = f"/memories/entries/facts/{desk.file(kept_record).name}"
    tool.str_replace(path, "scope: user/alice", "scope: user/bob")
    desk.vault.sync()
    assert not desk.engine.list(scope=BOB).records
    assert (
        desk.engine.get(kept_record.id, scope=("user", "alice")).text
        == "My dentist is Doctor Brown."
    )


def test_a_pipe_is_reported_and_never_opened(desk: Desk) -> None:
    """Syncing neither waits for it nor for its lock."""
    path = desk.root / "entries/user/alice/facts/x.md"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert "no plain file" in desk.sync().problems["entries/user/alice/facts/x.md"]


@pytest.mark.parametrize(
    "odd", [[None, {}], ["a", "b"], {"a": 1, "b": 2}, 7, [1.5, float("inf")]], ids=repr
)
def test_odd_arguments_of_the_memory_tool_are_told(tmp_path: Path, odd: object) -> None:
    """Neither a range nor a line of an odd type raises anything but an error for the model."""
    tool = MemoryFileCommandTool(tmp_path / "files")
    tool.run({"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\n"})
    with pytest.raises(InputError):
        tool.run({"command": "view", "path": "/memories/a.md", "view_range": odd})
    with pytest.raises(InputError):
        tool.run(
            {
                "command": "insert",
                "path": "/memories/a.md",
                "insert_line": [odd],
                "insert_text": "x",
            }
        )
