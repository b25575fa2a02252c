"""Quotas: what an owner keeps and asks, counted by the store for all processes."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.store.make import ALICE, BOB, START, Time, add, change, record

from engrams.api_keys import RequestQuotaCounter
from engrams.core import Scope, Status
from engrams.errors import BudgetError
from engrams.ports import NewRecord, StorageUse, Store, WriteBatch
from engrams.store.sql.row_conversion import encode_json


def put(store: Store, id: str, quota: StorageUse, scope: Scope = ALICE, **fields: object) -> None:
    store.commit(
        WriteBatch(
            "user",
            "said",
            START,
            puts=(NewRecord(record(f"{id} {fields.get('text', '')}", scope, id=id)),),
            quota=quota,
        )
    )


def test_storage_follows_every_change(store: Store) -> None:
    """Memories and bytes of texts are counted through edits and forgetting, and no more after a
    purge.
    """
    assert store.storage(ALICE) == StorageUse(0, 0)
    german = record("Grüße")
    add(store, german)
    assert store.storage(ALICE) == StorageUse(1, 7 + 2)
    change(store, german, text="Hi", meta={"a": 1})
    change(store, german, status=Status.FORGOTTEN)
    assert store.storage(ALICE) == StorageUse(1, 2 + len(encode_json({"a": 1})))
    assert store.storage(BOB) == StorageUse(0, 0)
    store.purge(ALICE, [german.id], START)
    assert store.storage(ALICE) == StorageUse(0, 0)
    assert store.check(False)["ok"]


def test_a_full_memory_takes_nothing_more(store: Store) -> None:
    """What would grow beyond the quota is refused whole, with how full it is;
    others, and what shrinks, go on.
    """
    quota = StorageUse(records=2)
    for id in ("one", "two"):
        put(store, id, quota)
    with pytest.raises(BudgetError, match="2 of 2 memories") as refused:
        put(store, "three", quota)
    assert refused.value.retry_after == math.inf and "quota.records" in refused.value.hint
    assert store.storage(ALICE).records == 2
    put(store, "theirs", quota, scope=BOB)
    store.purge(ALICE, ["one"], START)
    put(store, "three", quota)
    with pytest.raises(BudgetError, match="bytes are used"):
        put(store, "four", StorageUse(bytes=store.storage(ALICE).bytes + 10), text="x" * 100)


def test_requests_are_counted_by_window(store: Store) -> None:
    """Counts of a minute and a day are apart, threads see each total once, and old windows go."""
    numbers: list[int] = []

    def ask() -> None:
        numbers.extend(store.count_requests("minute", START, "a", 1) for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 31))
    assert (
        store.count_requests("day", START, "a", 0)
        == store.count_requests("minute", START, "b", 0)
        == 0
    )
    store.count_requests("minute", START + timedelta(minutes=9), "a", 1)
    assert store.count_requests("minute", START, "a", 0) == 0


@pytest.mark.parametrize("limit", [3, 200])
def test_counters_of_two_processes_share_a_quota(store: Store, clock: Time, limit: int) -> None:
    """Two counters on one store let the quota through, and no request more, in parcels too;
    the next minute begins anew.
    """
    counters = [RequestQuotaCounter(store, clock) for _ in range(2)]

    def is_let_in(number: int) -> bool:
        with suppress(BudgetError):
            counters[number % 2].acquire("key", (limit, 0), "a setting")
            return True
        return False

    clock.now = START.replace(second=50)
    assert sum(map(is_let_in, range(2 * limit))) == limit
    with pytest.raises(BudgetError, match=f"All {limit:,} requests of this minute") as refused:
        counters[0].acquire("key", (limit, 0), "a setting")
    assert refused.value.retry_after == 10
    clock.now += timedelta(seconds=20)
    assert is_let_in(0)
