"""A backup is whole, private where asked, and restored it is the same memory."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.admin import backup, recover
from engrams.backup.work_folders import make_work_folder
from engrams.core import HistoryEntry, Record
from engrams.errors import ConflictError, InputError, RefusedError, StoreError


def everything(desk: Desk) -> tuple[list[Record], list[object], list[tuple[HistoryEntry, ...]]]:
    records = desk.everything()
    edges = desk.engine.store.edges(records[0].scope.owner, [record.id for record in records])
    return records, list(edges), [desk.engine.history(record.id, scope=ALICE) for record in records]


def filled(desk: Desk) -> None:
    desk.add("I live in Berlin.")
    changed = desk.add("I like green tea.")
    desk.engine.edit(changed.id, scope=ALICE, text="I like black tea.")
    gone_record = desk.add("My car is red.")
    desk.engine.forget(gone_record.id, scope=ALICE)
    desk.edit(changed, "kind: note\n", "kind: note\nmood: calm\n")
    desk.sync()


@pytest.mark.parametrize("passphrase", ["", "correct horse 🐎"])
def test_restored_into_a_fresh_home_it_is_equal(
    desks: Callable[..., Desk], tmp_path: Path, passphrase: str
) -> None:
    """Records, edges, history and files of a backup taken while running are those of the home it
    was taken from.
    """
    desk = desks("one", vault__git=True)
    filled(desk)
    result = backup(desk.engine, tmp_path / "b.engrams", passphrase)
    before = everything(desk)
    files = {
        path.relative_to(desk.root): path.read_bytes()
        for path in desk.root.rglob("*")
        if path.is_file() and "tmp" not in path.parts
    }
    assert result.sealed is bool(passphrase) and result.path.stat().st_mode & 0o077 == 0
    assert (b"Berlin" in result.path.read_bytes()) is False
    settings = desk.engine.settings.model_copy(update={"home": tmp_path / "two"})
    assert recover(settings, result.path, passphrase) == result.files
    other_desk = desks("two", vault__git=True)
    assert everything(other_desk) == before
    now = {
        path.relative_to(other_desk.root): path.read_bytes()
        for path in other_desk.root.rglob("*")
        if path.is_file()
    }
    assert {path: now.get(path) for path in files if ".git" not in path.parts} == {
        path: data for path, data in files.items() if ".git" not in path.parts
    }
    assert [entry.id for entry in other_desk.vault.git.log()] == [
        entry.id for entry in desk.vault.git.log()
    ]
    assert other_desk.sync().total == 0


def flipped(data: bytes, offset: int) -> bytes:
    """With all bits of one byte changed, so many from the end."""
    return data[:-offset] + bytes([data[-offset] ^ 255]) + data[len(data) - offset + 1 :]


def same(first: bytes, second: bytes) -> bool:
    """Whether both hold the same: a few bits of a packed file may be anything."""
    try:
        return gzip.decompress(first) == gzip.decompress(second)
    except (OSError, EOFError, zlib.error):
        return False


def test_a_wrong_passphrase_and_damage_are_clear_errors(desk: Desk, tmp_path: Path) -> None:
    """No passphrase, a wrong one, a changed byte, a cut file and something else altogether:
    each says what is wrong; nothing is left.
    """
    filled(desk)
    sealed = tmp_path / "sealed"
    plain = tmp_path / "plain"
    backup(desk.engine, sealed, "secret")
    backup(desk.engine, plain)
    settings = desk.engine.settings.model_copy(update={"home": tmp_path / "two"})
    for path, passphrase in ((sealed, ""), (sealed, "wrong")):
        with pytest.raises(RefusedError) as caught:
            recover(settings, path, passphrase)
        assert "passphrase" in caught.value.message
    data = sealed.read_bytes()
    for number, length in enumerate((len(data) - 40, 100, 40, 20)):
        (tmp_path / f"cut{number}").write_bytes(data[:length])
        with pytest.raises(InputError):
            recover(settings, tmp_path / f"cut{number}", "secret")
    data = plain.read_bytes()
    for name, bad in (
        *(
            (f"flip{offset}", changed)
            for offset in (1, 5, 9, 100, len(data) // 2)
            if not same(changed := flipped(data, offset), data)
        ),
        ("half", data[: len(data) // 2]),
        ("text", b"hello"),
        ("none", b""),
    ):
        (tmp_path / name).write_bytes(bad)
        with pytest.raises(InputError):
            recover(settings, tmp_path / name)
    with pytest.raises(InputError):
        recover(settings, tmp_path / "missing")
    assert (
        not (tmp_path / "two" / "memory.db").exists() and not (tmp_path / "two" / "vault").exists()
    )


def test_nothing_is_overwritten(desk: Desk, tmp_path: Path) -> None:
    """A backup does not replace a file, a restore no memory;
    an empty home has nothing to back up.
    """
    filled(desk)
    backup(desk.engine, tmp_path / "b")
    with pytest.raises(ConflictError):
        backup(desk.engine, tmp_path / "b")
    with pytest.raises(ConflictError):
        recover(desk.engine.settings, tmp_path / "b")
    import engrams

    with engrams.open(home=tmp_path / "empty") as memory, pytest.raises(StoreError):
        backup(memory, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_history_that_was_packed_comes_back(desk: Desk, tmp_path: Path) -> None:
    """What `git gc` leaves, folders without files among it, is a repository again after a restore."""
    program = shutil.which("git")
    if program is None:
        pytest.skip("needs the git program")
    pytest.importorskip("dulwich")
    desk.again(vault__git=True, vault__git_seconds=0)
    filled(desk)
    desk.vault.commit()
    subprocess.run([program, "gc", "--quiet", "--prune=now"], cwd=desk.root, check=True)
    before = desk.vault.git.log()
    backup(desk.engine, tmp_path / "b")
    recover(desk.engine.settings.model_copy(update={"home": tmp_path / "two"}), tmp_path / "b")
    two = Desk(tmp_path / "two", vault__git=True, vault__git_seconds=0)
    try:
        assert two.vault.git.log() == before and two.vault.git.diff() == ""
        two.add("Said after the restore.")
        assert len(two.vault.git.log(100)) > len(before)
    finally:
        two.engine.close()


def test_a_backup_into_the_vault_is_refused(desk: Desk) -> None:
    """A backup that would back up itself is an error."""
    filled(desk)
    with pytest.raises(InputError):
        backup(desk.engine, desk.root / "entries" / "b")
    assert not (desk.root / "entries" / "b").exists()


def test_an_archive_cannot_write_outside(desk: Desk, tmp_path: Path) -> None:
    """A crafted archive with paths out of the home is refused whole."""
    import io

    for number, name in enumerate(
        ("../evil", "/tmp/evil-engrams", "vault/../../evil", "vault\\..\\evil")
    ):
        path = tmp_path / f"x{number}"
        with tarfile.open(path, "w:gz") as archive:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
        settings = desk.engine.settings.model_copy(update={"home": tmp_path / "two"})
        with pytest.raises(InputError):
            recover(settings, path)
    assert not (tmp_path / "evil").exists() and not Path("/tmp/evil-engrams").exists()


def test_it_works_without_a_vault(tmp_path: Path) -> None:
    """With the vault off the database alone is backed up and comes back."""
    import engrams

    with engrams.open(home=tmp_path / "one") as memory:
        receipt = memory.add("I like tea.", scope=ALICE)
        backup(memory, tmp_path / "b", "p")
        recover(memory.settings.model_copy(update={"home": tmp_path / "two"}), tmp_path / "b", "p")
    with engrams.open(home=tmp_path / "two") as memory:
        assert memory.get(receipt.id, scope=ALICE).text == "I like tea."


def leave_work_folder(folder: Path) -> Path:
    """A folder as a killed backup leaves it, with a plain copy of memory."""
    left = folder / "engrams-backup-k1ll3d"
    left.mkdir(parents=True)
    (left / "memory.db").write_bytes(b"My car is red.")
    os.utime(left, (0, 0))
    return left


def test_what_a_killed_backup_left_is_removed_by_the_next_one(desk: Desk, tmp_path: Path) -> None:
    """Its plain copy lies beside the target; the folder of a backup that works stays."""
    filled(desk)
    left = leave_work_folder(tmp_path / "backups")
    with make_work_folder("backup", left.parent) as working:
        os.utime(working, (0, 0))
        backup(desk.engine, left.parent / "home.backup")
        assert working.is_dir()
        assert not left.exists()


def test_what_a_killed_backup_left_is_removed_by_a_purge(desk: Desk) -> None:
    """A purge that says "proven" leaves no plain copy in the home."""
    gone = desk.add("My car is red.")
    left = leave_work_folder(desk.engine.settings.home)
    report = desk.engine.purge([gone.id], scope=ALICE)
    assert report.proven
    assert not left.exists()
