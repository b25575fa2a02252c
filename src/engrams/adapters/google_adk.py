"""Memory service of Google's Agent Development Kit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from engrams.adapters.item_journal import hash_key
from engrams.core import UNSEARCHED, Hit, Kind, Scope, ScopeInput, Turn, strip_blank

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.sessions import Session

    from engrams.engine import MemoryEngine


class GoogleADKMemoryService(BaseMemoryService):
    """Memory of an application's users, for ``Runner(memory_service=…)``.

    Each user is an owner with a part for each application. Texts of events become turns; an event
    is stored once.
    """

    def __init__(
        self, engine: MemoryEngine, scope: ScopeInput | None = None, *, limit: int = 10
    ) -> None:
        """Remember for all users.

        ``scope``: under which users are parts, instead of owners. ``limit``: memories that a search
        returns at most.
        """
        self._engine = engine
        self._limit = limit
        self._root = None if scope is None else Scope.of(scope)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that are not stored yet."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store texts of events in one durable write."""
        session = session_id or ""
        meta = dict(custom_metadata or {})
        read = [(event, _join_parts(event.content)) for event in events]
        turns = [
            Turn(
                text,
                "user" if event.author == "user" else "assistant",
                speaker="" if event.author == "user" else event.author,
                session=session,
                external_id=hash_key("google-adk", app_name, session, event.id) if event.id else "",
                meta=meta,
            )
            for event, text in read
            if text
        ]
        if turns:
            await asyncio.to_thread(
                self._engine.observe, turns, scope=self._user_scope(app_name, user_id)
            )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store statements."""
        for memory in memories:
            if text := _join_parts(memory.content):
                meta = {**memory.custom_metadata, **(custom_metadata or {})}
                turn = Turn(
                    text, speaker=memory.author or "", external_id=memory.id or "", meta=meta
                )
                await asyncio.to_thread(
                    self._engine.add, turn, scope=self._user_scope(app_name, user_id)
                )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Find memories of a user, best first."""
        result = await asyncio.to_thread(
            self._engine.search, query, scope=self._user_scope(app_name, user_id), limit=self._limit
        )
        return SearchMemoryResponse(memories=[_to_entry(hit) for hit in result.hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Erase one memory, with what was learned from it alone.

        Its event is not stored again. NotFoundError: there is none.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, memory_id, self._user_scope(app_name, user_id))

    def _delete(self, id: str, scope: Scope) -> None:
        record = self._engine.get(id, scope=scope)
        self._engine.purge(id, scope=scope)
        if record.external_id:
            mark = Turn(
                "[deleted]", role="tool", external_id=record.external_id, meta={UNSEARCHED: True}
            )
            self._engine.write_turns([mark], scope, Kind.TURN)

    def _user_scope(self, app: str, user: str) -> Scope:
        owner = Scope(("user", user)) if self._root is None else self._root.within("user", user)
        return owner.within("app", app)


def _join_parts(content: Any) -> str:
    parts = content.parts if content and content.parts else ()
    return strip_blank("\n".join(part.text for part in parts if part.text and not part.thought))


def _to_entry(hit: Hit) -> MemoryEntry:
    record = hit.record
    return MemoryEntry(
        id=record.id,
        content=types.Content(
            role=record.role if record.role == "user" else "model",
            parts=[types.Part(text=record.search_text)],
        ),
        author=record.speaker or record.role,
        timestamp=(record.valid_from or record.recorded_at).isoformat(),
        custom_metadata={**record.meta, "score": hit.score},
    )
