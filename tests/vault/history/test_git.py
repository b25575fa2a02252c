"""The history of the files: commits, who wrote what, and taking one back."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams import Turn
from engrams.core import Status
from engrams.errors import InputError, NotFoundError, StoreError

pytest.importorskip("dulwich")

needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="needs the git program to compare with"
)


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No identity and no settings of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in [name for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def desk(desks: Callable[..., Desk]) -> Desk:
    return desks(vault__git=True, vault__git_seconds=0, write__extract="off")


def git(desk: Desk, *arguments: str) -> str:
    result = subprocess.run(
        ["git", *arguments], cwd=desk.root, capture_output=True, text=True, check=True
    )
    return result.stdout


def remember(desk: Desk, text: str, **fields: object) -> str:
    record = desk.add(text, settle=False, **fields)
    desk.engine.drain(10)
    return record.id


@pytest.mark.covers("S2.22", "S2.23")
@needs_git
def test_a_repository_is_made_and_every_change_committed(desk: Desk) -> None:
    """The first change makes repository, ignore file and commit;
    each later one a commit; git finds nothing wrong.
    """
    id = remember(desk, "I live in Berlin.")
    assert ".engrams/" in (desk.root / ".gitignore").read_text()
    assert git(desk, "status", "--porcelain") == ""
    desk.engine.edit(id, scope=ALICE, text="I live in Paris.", reason="she moved")
    desk.sync()
    desk.engine.drain(10)
    log = desk.vault.git.log()
    assert len(log) == 2 and f"{id}: she moved" in log[0].message and "edit 1" in log[0].message
    assert git(desk, "status", "--porcelain") == "" and "dangling" not in git(
        desk, "fsck", "--strict"
    )
    assert git(desk, "config", "user.name").strip() == "engrams"
    desk.engine.drain(10)
    assert desk.vault.commit() == [] and len(desk.vault.git.log()) == 2


@pytest.mark.covers("S2.23")
def test_what_is_there_is_not_touched(desks: Callable[..., Desk]) -> None:
    """An existing repository, README, ignore file and identity stay as they are;
    nothing but the vault's files is added.
    """
    from dulwich.repo import Repo

    desk = desks(vault__git=True, vault__git_seconds=0, write__extract="off")
    desk.root.mkdir(parents=True)
    (desk.root / "README.md").write_text("Mine.\n")
    (desk.root / ".gitignore").write_text("*.pdf\n")
    repo = Repo.init(str(desk.root))
    config = repo.get_config()
    config.set((b"user",), b"name", b"Alice")
    config.set((b"user",), b"email", b"alice@example.com")
    config.write_to_path()
    before = Path(desk.root / ".git/config").read_bytes()
    remember(desk, "I live in Berlin.")
    (entry,) = desk.vault.git.log()
    assert Path(desk.root / ".git/config").read_bytes() == before
    assert (desk.root / "README.md").read_text() == "Mine.\n" and (
        desk.root / ".gitignore"
    ).read_text() == "*.pdf\n"
    assert "README.md" not in entry.paths
    commit = repo[repo.head()]
    assert commit.committer == b"Alice <alice@example.com>"
    repo.close()


def test_message_and_author_tell_who_and_why(desk: Desk) -> None:
    """The agent of the scope is the author, a hand is the user;
    the session stands in the message.
    """
    scope = (*ALICE, "agent", "coder")
    desk.engine.observe([Turn("The build uses uv.", session="s-17")], scope=scope)
    desk.sync()
    desk.engine.drain(10)
    (first,) = desk.vault.git.log()
    assert (
        first.author == "coder"
        and "Session: s-17" in first.message
        and "user/alice/agent/coder" in first.message
    )
    path = desk.files()[0]
    path.write_text(path.read_text().replace("uv", "pip"))
    desk.sync()
    desk.engine.drain(10)
    second = desk.vault.git.log()[0]
    assert second.author == "by hand" and "edited by hand" in second.message


@pytest.mark.covers("S2.24", "S2.23")
def test_a_broken_git_is_a_visible_job_and_no_error(desk: Desk) -> None:
    """With a repository that cannot be used, remembering and files go on;
    one failed job says what is wrong, then passes.
    """
    desk.settings["jobs__max_attempts"] = 1
    desk.again()
    id = remember(desk, "I live in Berlin.")
    head = desk.root / ".git/HEAD"
    good = head.read_text()
    head.write_bytes(b"\xff nonsense")
    shutil.move(desk.root / ".git/objects", desk.root / ".git/away")
    desk.engine.edit(id, scope=ALICE, text="I live in Paris.")
    desk.sync()
    desk.engine.drain(10)
    assert "Paris" in desk.file(id).read_text()
    (dead,) = [job for job in desk.engine.status()["dead"] if job["kind"] == "git"]
    assert "git" in dead["error"]
    for text in ("I live in Rome.", "I live in Oslo."):
        desk.engine.edit(id, scope=ALICE, text=text)
        # Nothing asked for a commit in the last second.
        desk.vault._asked = -1.0
        desk.sync()
        desk.engine.drain(10)
    assert [job["kind"] for job in desk.engine.status()["dead"]] == ["git"]
    head.write_text(good)
    shutil.move(desk.root / ".git/away", desk.root / ".git/objects")
    desk.engine.retry()
    desk.engine.drain(10)
    assert len(desk.vault.git.log()) == 2 and desk.engine.status()["dead"] == []


@needs_git
def test_log_diff_and_blame(desk: Desk) -> None:
    """The log of one memory, what a commit did, what is not committed yet, and who wrote each line."""
    id = remember(desk, "First line.\nSecond line.")
    other_id = remember(desk, "Another thing.")
    desk.engine.edit(id, scope=ALICE, text="First line.\nChanged line.")
    desk.sync()
    desk.engine.drain(10)
    path = desk.vault.file(desk.get(id).scope.owner, id)
    log = desk.vault.git.log()
    assert len(log) == 3 and [entry.id for entry in desk.vault.git.log(path=path)] == [
        log[0].id,
        log[2].id,
    ]
    assert "+Changed line." in desk.vault.git.diff(
        log[0].id[:8]
    ) and "-Second line." in desk.vault.git.diff(log[0].id)
    assert "Another thing." in desk.vault.git.diff(log[2].id, log[0].id)
    lines = {line.text: line.commit for line in desk.vault.git.blame(path)}
    assert (lines["First line."], lines["Changed line."]) == (log[2].id, log[0].id)
    assert desk.vault.git.diff() == ""
    desk.edit(other_id, "Another", "Some other")
    assert "+Some other thing." in desk.vault.git.diff()
    for wrong, error in (
        ("zzzz", InputError),
        ("abc", InputError),
        ("0000000", NotFoundError),
        ("../HEAD", InputError),
    ):
        with pytest.raises(error):
            desk.vault.git.diff(wrong)
    with pytest.raises(NotFoundError):
        desk.vault.git.blame("entries/nothing.md")


def test_a_commit_can_be_taken_back(desk: Desk) -> None:
    """Reverting brings memory and file back to what they said, keeps later changes, and can itself
    be reverted.
    """
    id = remember(desk, "Line one.\nLine two.\nLine three.")
    desk.edit(id, "Line one.", "Line 1.")
    desk.sync()
    desk.engine.drain(10)
    change = desk.vault.git.log()[0].id
    desk.engine.edit(id, scope=ALICE, text="Line 1.\nLine two.\nLine 3.")
    desk.sync()
    desk.engine.drain(10)
    result = desk.vault.revert(change)
    assert (result.changed, result.kept) == ([id], {})
    assert (
        desk.get(id).text == "Line one.\nLine two.\nLine 3."
        and desk.get(id).text in desk.file(id).read_text()
    )
    assert desk.engine.history(id, scope=ALICE)[-1].action == "revert"
    undo = desk.vault.git.log()[0].id
    assert desk.vault.revert(undo).changed == [id]
    assert desk.get(id).text == "Line 1.\nLine two.\nLine 3."
    assert [hit.record.id for hit in desk.engine.search("Line 1", scope=ALICE).hits] == [id]


def test_taking_back_adding_forgetting_and_purging(desk: Desk) -> None:
    """A memory's first commit reverted puts it away;
    a forgotten one comes back; a purged one does not, and that is told.
    """
    id = remember(desk, "I live in Berlin.")
    other_id = remember(desk, "I like tea.")
    desk.engine.forget(other_id, scope=ALICE)
    desk.sync()
    desk.engine.drain(10)
    log = desk.vault.git.log()
    assert (
        desk.vault.revert(log[0].id).changed == [other_id]
        and desk.get(other_id).status is Status.ACTIVE
    )
    assert desk.vault.revert(log[2].id).changed == [id] and desk.get(id).status is Status.FORGOTTEN
    desk.engine.edit(other_id, scope=ALICE, text="I like black tea.")
    desk.sync()
    desk.engine.drain(10)
    edit = desk.vault.git.log()[0].id
    desk.engine.edit(other_id, scope=ALICE, text="I like coffee.")
    desk.sync()
    assert desk.vault.revert(edit).kept == {other_id: "it has changed since"}
    assert desk.get(other_id).text == "I like coffee."
    desk.engine.purge(other_id, scope=ALICE)
    assert desk.vault.revert(edit).kept == {other_id: "it was purged"}


def test_no_history_yet_is_said(desks: Callable[..., Desk]) -> None:
    """Asking for the history of a vault without one is an error that says so."""
    desk = desks(vault__git=False)
    desk.add("I like tea.", settle=False)
    with pytest.raises(NotFoundError):
        desk.vault.git.log()
    (desk.root / ".git").mkdir()
    with pytest.raises(StoreError):
        desk.vault.git.log()


def test_a_repository_that_was_made_by_half_is_made_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the making of the repository is cut short, the next commit makes it whole."""
    import dulwich.repo

    class KilledError(BaseException):
        """The process is gone."""

    def die(*_: object, **__: object) -> None:
        raise KilledError

    desk.add("I live in Berlin.", settle=False)
    desk.vault.write()
    for name in ("mkdir", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(dulwich.repo.os, name, die)
            with pytest.raises(KilledError):
                desk.vault.commit()
    with monkeypatch.context() as patch:
        patch.setattr(dulwich.repo.Repo, "_init_files", die)
        with pytest.raises(KilledError):
            desk.vault.commit()
    assert not (desk.root / ".git").exists()
    assert desk.vault.commit() and len(desk.vault.git.log()) == 1
