"""Context provider of Microsoft's Agent Framework."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent_framework import AgentSession, ContextProvider, Message, SessionContext

from engrams.core import Scope, ScopeInput, Turn, strip_blank

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine


class AgentFrameworkContextProvider(ContextProvider):
    """Memory of a scope, for ``Agent(context_providers=[…])``.

    Before a run it adds what the question needs as a message; after it the question and the answer
    are stored.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        tokens: int | None = None,
        source_id: str = "engrams",
    ) -> None:
        """Remember for one scope.

        ``tokens``: of the added text at most (None: ``read.context_tokens``).
        """
        super().__init__(source_id)
        self._engine = engine
        self._scope = Scope.of(scope)
        self._tokens = tokens

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Recall for the new messages."""
        query = "\n".join(
            text for role, text in _read_messages(context.input_messages) if role == "user"
        )
        recalled = await asyncio.to_thread(
            self._engine.context, query, scope=self._scope, tokens=self._tokens
        )
        if recalled.text:
            context.extend_messages(self, [Message("user", [recalled.text])])

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Store the new messages and the answer."""
        messages = [
            *context.input_messages,
            *(context.response.messages if context.response else ()),
        ]
        turns = [
            Turn(text, "user" if role == "user" else "assistant", session=session.session_id)
            for role, text in _read_messages(messages)
        ]
        if turns:
            await asyncio.to_thread(self._engine.observe, turns, scope=self._scope)


def _read_messages(messages: Sequence[Message]) -> list[tuple[str, str]]:
    read = ((str(message.role), strip_blank(message.text)) for message in messages)
    return [(role, text) for role, text in read if role in ("user", "assistant") and text]
