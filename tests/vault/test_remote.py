"""Two places that share a remote come to the same memories."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.vault.conftest import ALICE, Desk

from engrams.errors import StoreError
from engrams.types import Status

pytest.importorskip("dulwich")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs the git program")


@pytest.fixture
def pair(desks: Callable[..., Desk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Desk, Desk]:
    """Two desks and the repository between them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(bare)], check=True)
    settings = {"vault__git": True, "vault__git_seconds": 0, "vault__remote": str(bare), "write__extract": "off"}
    return desks("one", **settings), desks("two", **settings)


def texts(desk: Desk) -> dict[str, tuple[str, str]]:
    return {record.id: (record.text, record.status) for record in desk.everything()}


def test_two_places_come_to_the_same(pair: tuple[Desk, Desk]) -> None:
    """What one place remembers, changes and forgets reaches the other, and back; edits of one memory are merged."""
    one, two = pair
    first = one.add("Shopping:\nbread\nbutter\nmilk")
    one.vault.exchange()
    second = two.add("Two likes tea.")
    assert two.vault.exchange().pushed
    one.vault.exchange()
    assert texts(one) == texts(two) and set(texts(one)) == {first.id, second.id}
    one.engine.edit(first.id, scope=ALICE, text="Shopping:\ndark bread\nbutter\nmilk")
    two.engine.edit(first.id, scope=ALICE, text="Shopping:\nbread\nbutter\nmilk\nrice", fields={"importance": 0.9})
    one.vault.exchange()
    assert two.vault.exchange().conflicts == ()
    one.vault.exchange()
    assert texts(one) == texts(two)
    assert one.get(first).text == "Shopping:\ndark bread\nbutter\nmilk\nrice" and one.get(first).importance == 0.9
    git = subprocess.run(["git", "fsck", "--strict"], cwd=one.root, capture_output=True, text=True, check=True)
    assert "error" not in git.stdout + git.stderr
    assert [hit.record.id for hit in one.engine.search("tea", scope=ALICE).hits[:1]] == [second.id]


def test_a_tombstone_wins_and_nothing_is_lost(pair: tuple[Desk, Desk]) -> None:
    """Forgotten in one place and changed in the other: forgotten in both. Two edits of one line: one holds, one is kept aside."""
    one, two = pair
    gone, both = one.add("My dentist is Doctor Brown."), one.add("My car is red.")
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
    assert any("My car is blue." in path.read_text() for path in (one.root / "conflicts").rglob("*.md"))


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


def test_an_unreachable_remote_is_an_error_with_a_hint(pair: tuple[Desk, Desk], tmp_path: Path) -> None:
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
