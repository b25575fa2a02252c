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
    one, two = pair
    first = one.add("Shopping:\nbread\nbutter\nmilk")
    one.vault.exchange()
    second = two.add("Two likes tea.")
    assert two.vault.exchange().pushed
    one.vault.exchange()
    assert texts(one) == texts(two) and set(texts(one)) == {first.id, second.id}
    one.engine.edit(first.id, scope=ALICE, text="Shopping:\ndark bread\nbutter\nmilk")
    two.engine.edit(
        first.id,
        scope=ALICE,
        text="Shopping:\nbread\nbutter\nmilk\nrice",
        fields={"importance": 0.9},
    )
    one.vault.exchange()
    assert two.vault.exchange().conflicts == ()
    one.vault.exchange()
    assert texts(one) == texts(two)
    assert (
        one.get(first).text == "Shopping:\ndark bread\nbutter\nmilk\nrice"
        and one.get(first).importance == 0.9
    )
    git = subprocess.run(
        ["git", "fsck", "--strict"], cwd=one.root, capture_output=True, text=True, check=True
    )
    assert "error" not in git.stdout + git.stderr
    assert [hit.record.id for hit in one.engine.search("tea", scope=ALICE).hits[:1]] == [second.id]


def test_a_tombstone_wins_and_nothing_is_lost(pair: tuple[Desk, Desk]) -> None:
    """Forgotten in one place and changed in the other:
    forgotten in both. Two edits of one line: one holds, one is kept aside.
    """
    one, two = pair
    gone = one.add("My dentist is Doctor Brown.")
    both = one.add("My car is red.")
    one.vault.exchange()
    two.vault.exchange()
    one.engine.forget(gone.id, scope=ALICE)
    two.engine.edit(gone.id, scope=ALICE, text="My dentist is Doctor White.")
    one.engine.edit(both.id, scope=ALICE, text="My car is blue.")
    two.engine.edit(both.id, scope=ALICE, text="My car is green.")
    two.vault.exchange()
    one.vault.exchange()
    two.vault.exchange()
    assert {desk.get(gone).status for desk in pair} == {Status.FORGOTTEN}
    assert texts(one) == texts(two) and one.get(both).text == "My car is green."
    assert any(
        "My car is blue." in path.read_text() for path in (one.root / "conflicts").rglob("*.md")
    )


def test_a_purged_memory_does_not_come_back(pair: tuple[Desk, Desk]) -> None:
    """What one place purged stays erased there, whatever another pushes, and is told."""
    one, two = pair
    record = one.add("My dentist is Doctor Brown.")
    one.vault.exchange()
    two.vault.exchange()
    one.engine.purge(record.id, scope=ALICE)
    two.engine.edit(record.id, scope=ALICE, text="My dentist is Doctor White.")
    two.vault.exchange()
    one.vault.exchange()
    assert one.get(record).status is Status.PURGED
    assert not any("dentist" in path.read_text() for path in one.files())
    for desk in (two, one, two, one):
        desk.vault.exchange()
    assert one.get(record).status is Status.PURGED and one.files() == []
    assert two.get(record).status is Status.FORGOTTEN


def test_an_unreachable_remote_is_an_error_with_a_hint(
    pair: tuple[Desk, Desk], tmp_path: Path
) -> None:
    """Without its remote the vault goes on; exchanging says what is wrong."""
    one, _ = pair
    record = one.add("I like tea.")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    with pytest.raises(StoreError) as caught:
        one.vault.exchange()
    assert caught.value.hint
    one.edit(record, "tea", "coffee")
    one.sync()
    assert one.get(record).text == "I like coffee."


def alike(one: Desk, two: Desk) -> None:
    """One memory has one file, and both places have the same files, but for counts of changes."""
    for desk in (one, two, one, two):
        desk.vault.exchange()
        desk.engine.drain(10)
    held = []
    for desk in (one, two):
        files = {
            path.relative_to(desk.root).as_posix(): re.sub(
                r"\nversion: \d+", "", path.read_text("utf-8")
            )
            for path in desk.files()
        }
        named = [
            line for text in files.values() for line in text.splitlines() if line.startswith("id: ")
        ]
        assert len(named) == len(set(named)) and desk.problems() == {}
        held.append(files)
    assert held[0] == held[1] and texts(one) == texts(two)


def test_a_file_that_was_removed_wins_over_what_was_learned_elsewhere(
    pair: tuple[Desk, Desk],
) -> None:
    """A note removed by hand in one place and edited in the other:
    put away in both, with what was learned from it, in one file.
    """
    one, two = pair
    for desk in pair:
        desk.again(write__extract="rules")
    note = one.add("I live in Paris.")
    kept = one.add("My boss is Anna.")
    for desk in (one, two):
        desk.vault.exchange()
    one.file(note).unlink()
    two.edit(note, "Paris", "Paris, France")
    two.sync()
    two.engine.drain(10)
    alike(one, two)
    assert {desk.get(note).status for desk in pair} == {Status.FORGOTTEN}
    for desk in pair:
        active = {record.text for record in desk.engine.list(scope=ALICE).records}
        assert (
            active == {"My boss is Anna.", "The user's boss is Anna"}
            and desk.get(kept).status is Status.ACTIVE
        )


def test_what_the_losing_words_taught_goes_with_them(pair: tuple[Desk, Desk]) -> None:
    """One line edited in both places:
    the facts that hold in the end are those of the words that hold.
    """
    one, two = pair
    for desk in pair:
        desk.again(write__extract="rules")
    note = one.add("My boss is Anna.")
    for desk in (one, two):
        desk.vault.exchange()
    one.edit(note, "Anna", "Berta")
    two.edit(note, "Anna", "Clara")
    for desk in (one, two):
        desk.sync()
        desk.engine.drain(10)
    alike(one, two)
    text = one.get(note).text
    facts = [record.text for record in two.engine.list(scope=ALICE, kinds=(Kind.FACT,)).records]
    assert len(facts) == 1 and facts[0].split()[-1] == text.split()[-1].rstrip(".")
    assert any("conflicts" in path.parts for path in two.root.rglob("*.md"))


def test_two_new_files_of_one_name_become_two_memories(pair: tuple[Desk, Desk]) -> None:
    """Both hands write a dog.md of their own before they meet:
    both are remembered, each in a file of its own.
    """
    one, two = pair
    one.add("Begun.")
    for desk in pair:
        desk.vault.exchange()
    for desk, text in ((one, "The dog is called Rex."), (two, "The dog is called Lassie.")):
        (desk.root / "entries/user/alice/facts/dog.md").write_text(f"{text}\n", "utf-8")
    alike(one, two)
    assert {text for text, _ in texts(one).values()} == {
        "Begun.",
        "The dog is called Rex.",
        "The dog is called Lassie.",
    }


@pytest.mark.slow
def test_moved_in_one_place_and_edited_in_the_other(pair: tuple[Desk, Desk]) -> None:
    """A file renamed here and edited there has the new name and the new words, once."""
    one, two = pair
    record = one.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    one.file(record).rename(one.file(record).with_name("car.md"))
    two.edit(record, "red", "blue")
    alike(one, two)
    assert one.file(record).name == "car.md" and one.get(record).text == "My car is blue."


@pytest.mark.slow
def test_what_is_broken_by_hand_is_kept_when_the_other_place_writes_the_file(
    pair: tuple[Desk, Desk],
) -> None:
    """A file that cannot be read just now is not overwritten unseen: its words are put aside."""
    one, two = pair
    record = one.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    path = one.file(record)
    path.write_text("---\nid: [\n---\nhalf written words\n", "utf-8")
    two.edit(record, "red", "blue")
    two.vault.exchange()
    one.vault.exchange()
    assert one.get(record).text == "My car is blue."
    assert any(
        "half written words" in path.read_text("utf-8")
        for path in (one.root / "conflicts").rglob("*.md")
    )


def test_with_no_history_in_common_a_tombstone_holds_and_words_are_kept(
    pair: tuple[Desk, Desk],
) -> None:
    """Where a new history was begun, nobody knows what is newer:
    what is put away stays so, and both texts are somewhere.
    """
    one, two = pair
    gone = one.add("My dentist is Doctor Brown.")
    both = one.add("My car is red.")
    for desk in pair:
        desk.vault.exchange()
    one.engine.forget(gone.id, scope=ALICE)
    one.engine.edit(both.id, scope=ALICE, text="My car is blue.")
    one.sync()
    shutil.rmtree(one.root / ".git")
    (one.root / "entries/user/alice/facts/new.md").write_text("A new history begins.\n", "utf-8")
    alike(one, two)
    assert {desk.get(gone).status for desk in pair} == {Status.FORGOTTEN}
    words = one.get(both).text + "".join(
        path.read_text("utf-8") for path in (one.root / "conflicts").rglob("*.md")
    )
    assert "red" in words and "blue" in words
