"""Two places that share a remote come to the same memories."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.core import Kind, Status
from engrams.errors import StoreError

pytest.importorskip("dulwich")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs the git program")


@pytest.fixture
def pair(
    desks: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Desk, Desk]:
    """Two desks and the repository between them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(bare)], check=True)
    settings = {
        "vault__git": True,
        "vault__git_seconds": 0,
        "vault__remote": str(bare),
        "write__extract": "off",
    }
    return desks("one", **settings), desks("two", **settings)


def texts(desk: Desk) -> dict[str, tuple[str, str]]:
    return {record.id: (record.text, record.status) for record in desk.everything()}


def test_two_places_come_to_the_same(pair: tuple[Desk, Desk]) -> None:
    """What one place remembers, changes and forgets reaches the other, and back;
    edits of one memory are merged.
    """
    desk_a, desk_b = pair
    first = desk_a.add("Shopping:\nbread\nbutter\nmilk")
    desk_a.vault.exchange()
    second = desk_b.add("Two likes tea.")
    assert desk_b.vault.exchange().pushed
    desk_a.vault.exchange()
    assert texts(desk_a) == texts(desk_b) and set(texts(desk_a)) == {first.id, second.id}
    desk_a.engine.edit(first.id, scope=ALICE, text="Shopping:\ndark bread\nbutter\nmilk")
    desk_b.engine.edit(
        first.id,
        scope=ALICE,
        text="Shopping:\nbread\nbutter\nmilk\nrice",
        fields={"importance": 0.9},
    )
    desk_a.vault.exchange()
    assert desk_b.vault.exchange().conflicts == ()
    desk_a.vault.exchange()
    assert texts(desk_a) == texts(desk_b)
    assert (
        desk_a.get(first).text == "Shopping:\ndark bread\nbutter\nmilk\nrice"
        and desk_a.get(first).importance == 0.9
    )
    git = subprocess.run(
        ["git", "fsck", "--strict"], cwd=desk_a.root, capture_output=True, text=True, check=True
    )
    assert "error" not in git.stdout + git.stderr
    assert [hit.record.id for hit in desk_a.engine.search("tea", scope=ALICE).hits[:1]] == [
        second.id
    ]


def test_a_tombstone_wins_and_nothing_is_lost(pair: tuple[Desk, Desk]) -> None:
    """Forgotten in one place and changed in the other:
    forgotten in both. Two edits of one line: one holds, one is kept aside.
    """
    desk_a, desk_b = pair
    gone_record = desk_a.add("My dentist is Doctor Brown.")
    shared_record = desk_a.add("My car is red.")
    desk_a.vault.exchange()
    desk_b.vault.exchange()
    desk_a.engine.forget(gone_record.id, scope=ALICE)
    desk_b.engine.edit(gone_record.id, scope=ALICE, text="My dentist is Doctor White.")
    desk_a.engine.edit(shared_record.id, scope=ALICE, text="My car is blue.")
    desk_b.engine.edit(shared_record.id, scope=ALICE, text="My car is green.")
    desk_b.vault.exchange()
    desk_a.vault.exchange()
    desk_b.vault.exchange()
    assert {desk.get(gone_record).status for desk in pair} == {Status.FORGOTTEN}
    assert texts(desk_a) == texts(desk_b) and desk_a.get(shared_record).text == "My car is green."
    assert any(
        "My car is blue." in path.read_text() for path in (desk_a.root / "conflicts").rglob("*.md")
    )


def test_a_purged_memory_does_not_come_back(pair: tuple[Desk, Desk]) -> None:
    """What one place purged stays erased there, whatever another pushes, and is told."""
    desk_a, desk_b = pair
    record = desk_a.add("My dentist is Doctor Brown.")
    desk_a.vault.exchange()
    desk_b.vault.exchange()
    desk_a.engine.purge(record.id, scope=ALICE)
    desk_b.engine.edit(record.id, scope=ALICE, text="My dentist is Doctor White.")
    desk_b.vault.exchange()
    desk_a.vault.exchange()
    assert desk_a.get(record).status is Status.PURGED
    assert not any("dentist" in path.read_text() for path in desk_a.files())
    for desk in (desk_b, desk_a, desk_b, desk_a):
        desk.vault.exchange()
    assert desk_a.get(record).status is Status.PURGED and desk_a.files() == []
    assert desk_b.get(record).status is Status.FORGOTTEN


def test_an_unreachable_remote_is_an_error_with_a_hint(
    pair: tuple[Desk, Desk], tmp_path: Path
) -> None:
    """Without its remote the vault goes on; exchanging says what is wrong."""
    desk_a, _ = pair
    record = desk_a.add("I like tea.")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    with pytest.raises(StoreError) as caught:
        desk_a.vault.exchange()
    assert caught.value.hint
    desk_a.edit(record, "tea", "coffee")
    desk_a.sync()
    assert desk_a.get(record).text == "I like coffee."


def alike(desk_a: Desk, desk_b: Desk) -> None:
    """One memory has one file, and both places have the same files, but for counts of changes."""
    for desk in (desk_a, desk_b, desk_a, desk_b):
        desk.vault.exchange()
        desk.engine.drain(10)
    contents = []
    for desk in (desk_a, desk_b):
        files = {
            path.relative_to(desk.root).as_posix(): re.sub(
                r"\nversion: \d+", "", path.read_text("utf-8")
            )
            for path in desk.files()
        }
        matching_files = [
            line for text in files.values() for line in text.splitlines() if line.startswith("id: ")
        ]
        assert len(matching_files) == len(set(matching_files)) and desk.problems() == {}
        contents.append(files)
    assert contents[0] == contents[1] and texts(desk_a) == texts(desk_b)


def test_a_file_that_was_removed_wins_over_what_was_learned_elsewhere(
    pair: tuple[Desk, Desk],
) -> None:
    """A note removed by hand in one place and edited in the other:
    put away in both, with what was learned from it, in one file.
    """
    desk_a, desk_b = pair
    for desk in pair:
        desk.again(write__extract="rules")
    note = desk_a.add("I live in Paris.")
    kept_record = desk_a.add("My boss is Anna.")
    for desk in (desk_a, desk_b):
        desk.vault.exchange()
    desk_a.file(note).unlink()
    desk_b.edit(note, "Paris", "Paris, France")
    desk_b.sync()
    desk_b.engine.drain(10)
    alike(desk_a, desk_b)
    assert {desk.get(note).status for desk in pair} == {Status.FORGOTTEN}
    for desk in pair:
        active = {record.text for record in desk.engine.list(scope=ALICE).records}
        assert (
            active == {"My boss is Anna.", "My boss is Anna"}
            and desk.get(kept_record).status is Status.ACTIVE
        )


def test_what_the_losing_words_taught_goes_with_them(pair: tuple[Desk, Desk]) -> None:
    """One line edited in both places:
    the facts that hold in the end are those of the words that hold.
    """
    desk_a, desk_b = pair
    for desk in pair:
        desk.again(write__extract="rules")
    note = desk_a.add("My boss is Anna.")
    for desk in (desk_a, desk_b):
        desk.vault.exchange()
    desk_a.edit(note, "Anna", "Berta")
    desk_b.edit(note, "Anna", "Clara")
    for desk in (desk_a, desk_b):
        desk.sync()
        desk.engine.drain(10)
    alike(desk_a, desk_b)
    text = desk_a.get(note).text
    facts = [record.text for record in desk_b.engine.list(scope=ALICE, kinds=(Kind.FACT,)).records]
    assert len(facts) == 1 and facts[0].split()[-1] == text.split()[-1].rstrip(".")
    assert any("conflicts" in path.parts for path in desk_b.root.rglob("*.md"))


def test_two_new_files_of_one_name_become_two_memories(pair: tuple[Desk, Desk]) -> None:
    """Both hands write a dog.md of their own before they meet:
    both are remembered, each in a file of its own.
    """
    desk_a, desk_b = pair
    desk_a.add("Begun.")
    for desk in pair:
        desk.vault.exchange()
    for desk, text in ((desk_a, "The dog is called Rex."), (desk_b, "The dog is called Lassie.")):
        (desk.root / "entries/user/alice/facts/dog.md").write_text(f"{text}\n", "utf-8")
    alike(desk_a, desk_b)
    assert {text for text, _ in texts(desk_a).values()} == {
        "Begun.",
        "The dog is called Rex.",
        "The dog is called Lassie.",
    }


@pytest.mark.slow
def test_moved_in_one_place_and_edited_in_the_other(pair: tuple[Desk, Desk]) -> None:
    """A file renamed here and edited there has the new name and the new words, once."""
    desk_a, desk_b = pair
    record = desk_a.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    desk_a.file(record).rename(desk_a.file(record).with_name("car.md"))
    desk_b.edit(record, "red", "blue")
    alike(desk_a, desk_b)
    assert desk_a.file(record).name == "car.md" and desk_a.get(record).text == "My car is blue."


@pytest.mark.slow
def test_what_is_broken_by_hand_is_kept_when_the_other_place_writes_the_file(
    pair: tuple[Desk, Desk],
) -> None:
    """A file that cannot be read just now is not overwritten unseen: its words are put aside."""
    desk_a, desk_b = pair
    record = desk_a.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    path = desk_a.file(record)
    path.write_text("---\nid: [\n---\nhalf written words\n", "utf-8")
    desk_b.edit(record, "red", "blue")
    desk_b.vault.exchange()
    desk_a.vault.exchange()
    assert desk_a.get(record).text == "My car is blue."
    assert any(
        "half written words" in path.read_text("utf-8")
        for path in (desk_a.root / "conflicts").rglob("*.md")
    )


def test_with_no_history_in_common_a_tombstone_holds_and_words_are_kept(
    pair: tuple[Desk, Desk],
) -> None:
    """Where a new history was begun, nobody knows what is newer:
    what is put away stays so, and both texts are somewhere.
    """
    desk_a, desk_b = pair
    gone_record = desk_a.add("My dentist is Doctor Brown.")
    shared_record = desk_a.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    desk_a.engine.forget(gone_record.id, scope=ALICE)
    desk_a.engine.edit(shared_record.id, scope=ALICE, text="My car is blue.")
    desk_a.sync()
    shutil.rmtree(desk_a.root / ".git")
    (desk_a.root / "entries/user/alice/facts/new.md").write_text("A new history begins.\n", "utf-8")
    alike(desk_a, desk_b)
    assert {desk.get(gone_record).status for desk in pair} == {Status.FORGOTTEN}
    words = desk_a.get(shared_record).text + "".join(
        path.read_text("utf-8") for path in (desk_a.root / "conflicts").rglob("*.md")
    )
    assert "red" in words and "blue" in words
