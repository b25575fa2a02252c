"""Web hooks kept and followed on every store."""

from __future__ import annotations

import pytest
from tests.store.make import Time

from engrams.core import Kind, Record, Scope
from engrams.errors import NotFoundError
from engrams.ports import WEBHOOK, NewRecord, Store, WriteBatch
from engrams.transfer.webhooks.delivery import WebhookDeliverer
from engrams.transfer.webhooks.registry import WebhookRegistry

ANN = Scope(("user", "ann"))
BOB = Scope(("user", "bob"))


def put(store: Store, clock: Time, id: str) -> None:
    record = Record(id, ANN, Kind.NOTE, f"Note {id}.", recorded_at=clock())
    store.commit(WriteBatch("test", "", clock(), puts=(NewRecord(record),)))


def test_web_hooks_are_kept(store: Store, clock: Time) -> None:
    """Added, listed by owner, changed and removed;
    numbers are not used again; changes ask for one job an owner's web hook.
    """
    registry = WebhookRegistry(store, clock)
    deliverer = WebhookDeliverer(store, clock, allow_private=False)
    put(store, clock, "a" * 26)
    mine = registry.add(ANN, "https://example.org/a")
    theirs = registry.add(BOB, "https://example.org/b", events=("ADD",))
    assert registry.list(ANN) == (mine,) and registry.find_all() == (mine, theirs)
    deliverer.look()
    assert store.queue() == ()
    put(store, clock, "b" * 26)
    deliverer.look()
    deliverer.look()
    assert [(job.kind, job.key) for job in store.queue()] == [(WEBHOOK, mine.key)]
    assert registry.change(ANN, mine.id, name="new").name == "new"
    with pytest.raises(NotFoundError):
        registry.remove(ANN, theirs.id)
    registry.remove(BOB, theirs.id)
    assert registry.add(BOB, "https://example.org/c").id == theirs.id + 1
