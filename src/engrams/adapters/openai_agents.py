"""Session of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engrams.adapters.item_journal import (
    FrameworkItem,
    FrameworkItemJournal,
    join_texts,
    make_silent_item,
    run_to_end,
)
from engrams.core import Role, ScopeInput, strip_blank

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_PEOPLE = ("user", "system", "developer")
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}


class OpenAIAgentsSession:
    """Conversation history in memory, for ``Runner.run(agent, text, session=…)``.

    Messages become turns, from which memory learns; calls of tools and their results are kept for
    the history alone. Items come back as they were given, without secrets and without words that
    were forgotten since.
    """

    def __init__(
        self,
        session_id: str,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        session_settings: Any = None,
    ) -> None:
        """Open a session of a scope.

        ``session_settings``: ``agents.SessionSettings`` or a dict; its ``limit`` is the number of
        items that ``get_items`` returns.
        """
        if isinstance(session_settings, Mapping):
            from agents.memory.session_settings import coerce_session_settings

            session_settings = coerce_session_settings(session_settings)
        self.session_id = session_id
        self.session_settings = session_settings
        self._journal = FrameworkItemJournal(
            engine, scope, "openai-agents", {"session": session_id}, session_id
        )

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the latest ``limit`` items (all if negative), oldest first."""
        max_items = getattr(self.session_settings, "limit", None) if limit is None else limit
        return _drop_lone_reasoning(
            await asyncio.to_thread(
                self._journal.read, None if max_items is None or max_items < 0 else max_items
            )
        )

    async def add_items(self, items: Sequence[Any]) -> None:
        """Store items in one durable write."""
        await run_to_end(self._journal.append, [_to_journal_item(item) for item in items])

    async def pop_item(self) -> Any | None:
        """Erase the newest item and return it; None if there is none."""
        return await run_to_end(self._journal.pop)

    async def clear_session(self) -> None:
        """Erase the conversation, with what was learned from it alone."""
        await run_to_end(self._journal.clear)


def _drop_lone_reasoning(items: Sequence[Any]) -> list[Any]:
    """Drop reasoning whose answer was forgotten: the API refuses it alone."""
    next_items = [*items[1:], {"role": "user"}]
    return [
        item
        for item, next_item in zip(items, next_items, strict=False)
        if item.get("type") != "reasoning" or next_item.get("role") not in _PEOPLE
    ]


def _to_journal_item(item: Mapping[str, Any]) -> FrameworkItem:
    data = json.loads(json.dumps(dict(item)))
    text = strip_blank(join_texts(item.get("content")))
    role = _ROLES.get(str(item.get("role")))
    if role is None or not text:
        return make_silent_item(data)
    return FrameworkItem(data, text, role)
