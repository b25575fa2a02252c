"""Memory store of Strands Agents."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands.memory.types import AddMessagesContext, MemoryEntry, MemoryStore, SearchOptions

from engrams.adapters.item_journal import hash_key, join_texts
from engrams.core import Hit, Scope, ScopeInput, Turn, strip_blank

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class StrandsMemoryStore(MemoryStore):
    """Memory of a scope, for ``MemoryManager(stores=[…])``.

    Conversations are given to it as they are: engrams extracts what lasts.
    """

    def __init__(  # noqa: PLR0913 - the arguments of Strands' stores
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        name: str = "memory",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = True,
    ) -> None:
        """Remember for one scope.

        The other arguments are those of Strands' stores; ``extraction`` True stores the
        conversation by itself.
        """
        self._engine = engine
        self._scope = Scope.of(scope)
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Find memories, best first; nothing where nothing is near."""
        limit = (options or {}).get("max_search_results") or self.max_search_results
        result = await asyncio.to_thread(self._engine.search, query, scope=self._scope, limit=limit)
        return [_to_entry(hit) for hit in result.helpful]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Store a statement and return its id."""
        receipt = await asyncio.to_thread(
            self._engine.add, Turn(content, meta=dict(metadata or {})), scope=self._scope
        )
        return receipt.id

    async def add_messages(
        self, messages: Sequence[Any], context: AddMessagesContext | None = None
    ) -> None:
        """Store messages of a conversation in one durable write.

        A batch that is sent again is stored once.
        """
        numbers = (context.sequence_numbers if context else None) or [None] * len(messages)
        turns = [
            turn
            for message, number in zip(messages, numbers, strict=True)
            if (turn := self._to_turn(message, number))
        ]
        if turns:
            await asyncio.to_thread(self._engine.observe, turns, scope=self._scope)

    def _to_turn(self, message: Mapping[str, Any], number: int | None) -> Turn | None:
        """Convert a message; None: it has no text.

        Numbers begin anew with each run, so equal words count too.
        """
        text = strip_blank(join_texts(message["content"]))
        role = message["role"]
        if not text:
            return None
        key = "" if number is None else hash_key("strands", self._run, str(number), role, text)
        return Turn(text, "user" if role == "user" else "assistant", external_id=key)


def _to_entry(hit: Hit) -> MemoryEntry:
    record = hit.record
    said_at = (record.valid_from or record.recorded_at).isoformat()
    fields = {
        "id": record.id,
        "score": hit.score,
        "at": said_at,
        "by": record.speaker or record.role,
    }
    return MemoryEntry(content=record.search_text, metadata={**record.meta, **fields})
