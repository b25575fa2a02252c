"""What the adapter for LangChain holds, beside LangChain's own tests (`make conformance`)."""

import asyncio

import engrams
from engrams.adapters import LangChainRetriever, LangChainStore

ANN = ("user", "ann")
BOB = ("user", "bob")

with engrams.open(store__url=":memory:") as memory:
    for town in ("Oslo", "Graz"):
        memory.add(f"I lived in {town} for a year.", scope=ANN)

    # A document has the memory's id, and says when and by whom it was told; another owner gets
    # none.
    (document,) = LangChainRetriever(memory, ANN, k=1).invoke("Did I live in Graz?")
    assert (
        "Graz" in document.page_content
        and memory.get(document.id, scope=ANN).text == document.page_content
    )
    assert document.metadata["by"] == "user" and 0 < document.metadata["score"] <= 1
    assert LangChainRetriever(memory, BOB).invoke("Did I live in Graz?") == []
    assert (
        asyncio.run(LangChainRetriever(memory, ANN, k=1).ainvoke("Did I live in Graz?"))[0].id
        == document.id
    )

    # A stored value is a memory of its owner, in its store only; what is deleted no search finds.
    store = LangChainStore(memory, ANN)
    store.mset([("diet", "Ann is allergic to nuts"), ("size", 38)])
    assert store.mget(["diet", "size"]) == ["Ann is allergic to nuts", 38]
    assert (
        LangChainStore(memory, BOB).mget(["diet"])
        == LangChainStore(memory, ANN, name="other").mget(["diet"])
        == [None]
    )
    assert (
        memory.search("What can Ann not eat, nuts?", scope=ANN).hits[0].record.text
        == "Ann is allergic to nuts"
    )
    store.mdelete(["diet"])
    memory.drain()
    assert all("nuts" not in hit.record.text for hit in memory.search("nuts", scope=ANN).hits)
