"""Files that hurt: exports over the memory, links out of an import, settings that are no text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Run


@pytest.mark.parametrize(
    "name", ["memory.db", "memory.db-wal", "config.toml", "vault/x.jsonl", "new.jsonl"]
)
def test_an_export_never_writes_into_the_home(engrams: Run, home: Path, name: str) -> None:
    """An export to a file of the home is refused, and the memory of all stays."""
    assert engrams("add", "I like tea.").code == 0
    refused = engrams("export", str(home / name), "--overwrite")
    assert refused.code != 0
    assert "own folder" in refused.err
    assert "I like tea" in engrams("list").out


def test_an_export_never_writes_into_a_vault_elsewhere(
    engrams: Run, home: Path, tmp_path: Path
) -> None:
    """A vault outside of the home is guarded too, also behind a link."""
    vault = tmp_path / "notes"
    (tmp_path / "link").symlink_to(vault)
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f'[vault]\nenabled = true\npath = "{vault}"\n', "utf-8")
    assert engrams("add", "I like tea.").code == 0
    assert engrams("export", str(tmp_path / "link" / "x.jsonl")).code != 0
    assert not (vault / "x.jsonl").exists()


def test_an_import_follows_no_link_out_of_its_folder(engrams: Run, tmp_path: Path) -> None:
    """A link in a cloned repository to a private file brings nothing; links within it are read."""
    secret = tmp_path / "diary.txt"
    secret.write_text("I love a woman from Rome.\n", "utf-8")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "notes.txt").symlink_to(secret)
    (folder / "real.txt").write_text("The harbour has two cranes.\n", "utf-8")
    (folder / "alias.txt").symlink_to(folder / "real.txt")
    assert engrams("import", str(folder)).code == 0
    listed = engrams("list", "--status", "all").out
    assert "Rome" not in listed
    assert "cranes" in listed


def test_settings_that_are_no_text_are_told(engrams: Run, home: Path) -> None:
    """A settings file with a byte that is no UTF-8 is an error with its place, not a traceback."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_bytes(b"[read]\nlimit = \xff\n")
    for command in (("list",), ("doctor",), ("add", "I like tea.")):
        failed = engrams(*command)
        assert failed.code != 0
        assert "config.toml is not UTF-8: byte 15" in failed.err + failed.out
