"""Memory block of LlamaIndex."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from engrams.core import Scope, ScopeInput, Turn, strip_blank

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_ROLES = {"user": "user", "assistant": "assistant", "chatbot": "assistant"}


class LlamaIndexMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of a scope, for ``Memory.from_defaults(memory_blocks=[…])``.

    Messages that leave the short-term memory are stored; memories that the last question needs are
    inserted.
    """

    _engine: Any = PrivateAttr()
    _scope: Scope = PrivateAttr()
    _tokens: int | None = PrivateAttr()
    _last_recall: tuple[str, int] = PrivateAttr(default=("", 0))
    """Query of the last recall and the tokens of its text."""

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        tokens: int | None = None,
        name: str = "memory",
        **fields: Any,
    ) -> None:
        """Remember for one scope.

        ``tokens``: of the inserted text at most (None: ``read.context_tokens``). ``fields``: those
        of ``BaseMemoryBlock``.
        """
        super().__init__(name=name, **fields)
        self._engine = engine
        self._scope = Scope.of(scope)
        self._tokens = tokens

    async def _aget(self, messages: Sequence[ChatMessage] | None = None, **_block: Any) -> str:
        query = next(
            (
                text
                for role, text in map(_read_message, reversed(messages or ()))
                if role == "user" and text
            ),
            "",
        )
        return await asyncio.to_thread(self._recall, query, self._tokens)

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        await asyncio.to_thread(self._store, messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Recall for the last question again, with fewer tokens."""
        query, used_tokens = self._last_recall
        tokens = used_tokens - tokens_to_truncate
        return (
            await asyncio.to_thread(self._recall, query, tokens) or None
            if content and tokens > 0
            else None
        )

    def _recall(self, query: str, tokens: int | None) -> str:
        recalled = self._engine.context(query, scope=self._scope, tokens=tokens)
        self._last_recall = query, recalled.tokens
        return str(recalled.text)

    def _store(self, messages: Sequence[ChatMessage]) -> None:
        turns = []
        for message in messages:
            role, text = _read_message(message)
            if role and text:
                session = str(message.additional_kwargs.get("session_id") or "")
                turns.append(Turn(text, "user" if role == "user" else "assistant", session=session))
        if turns:
            self._engine.observe(turns, scope=self._scope)


def _read_message(message: ChatMessage) -> tuple[str, str]:
    """Return the role (empty: neither person nor assistant) and text."""
    role = getattr(message.role, "value", message.role)
    return _ROLES.get(str(role), ""), strip_blank(message.content or "")
