"""Small states of owners, changed by compare and swap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.store.make import ALICE, BOB, START, add, get, record

from engrams.errors import ConflictError
from engrams.ports import NewRecord, OwnerStateRow, Store, WriteBatch


def test_a_state_comes_back(store: Store) -> None:
    """A saved state is read as it was, by its owner and name, and its token grows."""
    assert store.load_state(ALICE, "garden") == OwnerStateRow(ALICE, "garden")
    first = store.save_state(OwnerStateRow(ALICE, "garden", data={"n": [1]}))
    assert (
        first == OwnerStateRow(ALICE, "garden", 1, {"n": [1]}) == store.load_state(ALICE, "garden")
    )
    second = store.save_state(replace(first, data={"n": [2]}), expect=1)
    assert store.load_state(ALICE, "garden") == second and second.token == 2
    assert store.load_state(ALICE, "profile").token == store.load_state(BOB, "garden").token == 0


def test_many_states_come_back_at_once(store: Store) -> None:
    """States are read together as one by one; of another owner's nothing is read."""
    saved = store.save_state(OwnerStateRow(ALICE, "garden", data={"n": [1]}))
    store.save_state(OwnerStateRow(BOB, "profile"))
    assert store.load_states(ALICE, ["garden", "profile"]) == {
        "garden": saved,
        "profile": OwnerStateRow(ALICE, "profile"),
    }
    assert store.load_states(ALICE, []) == {}


def test_the_token_decides(store: Store) -> None:
    """A save that expects another token is a conflict; 0 expects that there is none yet."""
    first = store.save_state(OwnerStateRow(ALICE, "garden"), expect=0)
    for expect in (0, 2):
        with pytest.raises(ConflictError):
            store.save_state(first, expect=expect)
    with pytest.raises(ConflictError):
        store.save_state(OwnerStateRow(BOB, "garden"), expect=1)
    assert store.load_state(ALICE, "garden") == first


def test_a_batch_with_an_outdated_state_does_nothing(store: Store) -> None:
    """States are saved in the batch's transaction;
    where one was changed meanwhile, nothing of the batch is stored.
    """
    tea = record("Alice likes tea")
    milk = record("Alice likes milk")
    unknown = OwnerStateRow(ALICE, "learned")
    add(store, tea, states=(unknown,))
    with pytest.raises(ConflictError):
        store.commit(WriteBatch("user", "late", START, puts=(NewRecord(milk),), states=(unknown,)))
    assert get(store, tea).text == tea.text and store.get(ALICE, [milk.id]) == ()
    assert store.load_state(ALICE, "learned") == OwnerStateRow(ALICE, "learned", 1)
