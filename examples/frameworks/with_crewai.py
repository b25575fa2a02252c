"""CrewAI's memory over engrams, without a model: pip install '.[crewai]' and run this."""

from crewai.memory import Memory

import engrams
from engrams.adapters import CrewAIStorage

ALICE = ("user", "alice")

with engrams.open(store__url=":memory:") as memory:
    storage = CrewAIStorage(memory, ALICE)
    crew = Memory(storage=storage, embedder=storage.embed, consolidation_threshold=1.0)
    crew.remember(
        "Alice is allergic to nuts.", scope="/kitchen", categories=["health"], importance=0.9
    )
    crew.remember("The bakery opens at six.", scope="/town", categories=["places"], importance=0.5)
    for match in crew.recall("What is Alice allergic to?", depth="shallow", limit=1):
        print(f"{match.record.scope} {match.record.content}")
    crew.close()
