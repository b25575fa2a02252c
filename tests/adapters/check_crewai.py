"""Records are found, listed by scope, updated, filtered and erased as CrewAI asks for it."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta

from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord

import engrams
from engrams.adapters import CrewAIStorage
from engrams.errors import InputError

ANN = ("user", "ann")
OLD = datetime(2026, 1, 1)

with engrams.open(store__url=":memory:") as memory:
    storage = CrewAIStorage(memory, ANN)
    assert isinstance(storage, StorageBackend)
    towns = ("Oslo", "Bergen", "Lille")
    for n, town in enumerate(towns):
        more = {
            "categories": ["place", town],
            "metadata": {"n": n},
            "created_at": OLD + timedelta(days=n),
        }
        record = MemoryRecord(
            id=town, content=f"The office in {town} has a garden.", scope=f"/offices/{town}", **more
        )
        storage.save([record])
        storage.save([record])
    assert storage.count() == 3 and storage.count("/offices") == 3 and storage.count("/off") == 0
    (ask,) = storage.embed(["Is there a garden in Bergen?"])
    (best, score), *_ = storage.search(ask, scope_prefix="/offices", limit=3)
    assert best.id == "Bergen" and best.categories == ["place", "Bergen"] and 0 < score <= 1
    assert [record.id for record, _ in storage.search(ask, categories=["Lille"])] == ["Lille"]
    assert [
        record.id for record, _ in asyncio.run(storage.asearch(ask, metadata_filter={"n": 0}))
    ] == ["Oslo"]
    assert storage.search(ask, scope_prefix="/offices/Lil") == []
    with suppress(InputError):
        storage.search([0.0, 1.0])
        raise AssertionError("a vector of another embedder was taken")
    assert [record.id for record in storage.list_records(limit=2)] == ["Lille", "Bergen"]
    assert (
        storage.list_scopes() == ["/offices"]
        and storage.list_scopes("/offices")[0] == "/offices/Bergen"
    )
    assert storage.list_categories()["place"] == 3
    info = storage.get_scope_info("/offices")
    assert (info.record_count, info.oldest_record, len(info.child_scopes)) == (3, OLD, 3)
    storage.update(
        best.model_copy(
            update={"content": "The office in Bergen has a roof terrace.", "importance": 0.9}
        )
    )
    changed = storage.get_record("Bergen")
    assert changed and changed.content.endswith("terrace.") and changed.importance == 0.9
    assert storage.get_record("nothing") is None
    assert (
        storage.delete(older_than=OLD + timedelta(hours=1)) == 1
        and storage.get_record("Oslo") is None
    )
    assert asyncio.run(storage.adelete(record_ids=["Bergen"])) == 1
    storage.reset()
    assert storage.count() == 0 and memory.list(scope=ANN).records == ()
