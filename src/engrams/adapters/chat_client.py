"""MemoryClient: a chat with memory for asyncio programs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams.core import GLOBAL, Hit, Json, Kind, Receipt, Record, Scope, to_conversation_name
from engrams.errors import SettingsError

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_LEARNED_KINDS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.PROCEDURE,
    Kind.CORRECTION,
    Kind.NEGATIVE,
    Kind.RULE,
)


class MemoryClient:
    """Chat with memory over one engine.

    Each conversation has its own memory, and all see that of ``global``.

    ::

        async with MemoryClient.open("http://localhost:11434/v1", model="llama3") as client:
            messages = [{"role": "user", "content": "Where do I live?"}]
            reply = await client.chat(messages, conversation_id="work")
    """

    def __init__(self, engine: MemoryEngine, *, user: str = "", top_k: int | None = None) -> None:
        """Use an engine of the caller.

        ``user``: the owner (empty: the settings' owner). ``top_k``: memories put into a prompt
        (None: ``serve.top_k``; 0: none).
        """
        self.engine = engine
        self._owner = Scope(("user", user or engine.settings.owner))
        self._top_k = engine.settings.serve.top_k if top_k is None else top_k
        self._started = False

    @classmethod
    def open(
        cls,
        openai_base_url: str,
        *,
        model: str = "",
        api_key: str = "",
        path: Path | str | None = None,
        user: str = "",
        **settings: Any,
    ) -> MemoryClient:
        """Open a client on its own engine with the preset ``proxy``.

        ``path``: the home folder. ``settings`` by name, with ``__`` for a section. SettingsError:
        no address is given.
        """
        from engrams.composition import open as open_engine

        if not openai_base_url.strip():
            raise SettingsError(
                "MemoryClient needs the address of a model server.",
                hint="Give openai_base_url, such as http://localhost:11434/v1.",
            )
        chat = {
            "chat__provider": "openai",
            "chat__url": openai_base_url,
            "chat__model": model,
            "chat__api_key": api_key,
        }
        home = {} if path is None else {"home": str(path)}
        return cls(open_engine(**{"preset": "proxy", **chat, **home, **settings}), user=user)

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        conversation_id: str = "default",
        top_k: int | None = None,
    ) -> dict[str, Json]:
        """Answer with memory; return a chat completion with ``memory_hits``.

        The messages are remembered.

        SettingsError: no chat model. ModelError, BudgetError: the model failed; then only the
        user's messages are remembered.
        """
        return await asyncio.to_thread(
            self._answer,
            list(messages),
            self._scope(conversation_id),
            self._top_k if top_k is None else top_k,
        )

    async def search(
        self, query: str, conversation_id: str = "default", top_k: int | None = None
    ) -> list[dict[str, Json]]:
        """Find memories of the conversation and the global one, best first."""
        limit = self._top_k if top_k is None else top_k
        result = await asyncio.to_thread(
            self.engine.search, query, scope=self._scope(conversation_id), limit=limit
        )
        return [_hit_to_dict(hit) for hit in result.hits]

    async def add(self, text: str, conversation_id: str = "default") -> Receipt:
        """Remember a statement and return its receipt."""
        return await asyncio.to_thread(self.engine.add, text, scope=self._scope(conversation_id))

    async def list_all(
        self, conversation_id: str = "default", *, include_summary: bool = False
    ) -> list[dict[str, Json]]:
        """List a conversation's memories, oldest first, without global ones."""
        return await asyncio.to_thread(
            self._list_records, self._scope(conversation_id), include_summary
        )

    async def start(self, *, watch: bool = False) -> None:
        """Resume work of an earlier process, and make the files' repository if ``vault.git``.

        ``watch``: follow edits of the files if ``vault.enabled``; also in a client that was
        started without it.
        """
        vault = self.engine.vault
        if not self._started:
            self._started = True
            self.engine.work.wake()
            if vault is not None:
                await asyncio.to_thread(vault.begin_history)
        if watch and vault is not None:
            await asyncio.to_thread(vault.watch)

    async def stop(self) -> None:
        """Finish running work and close the engine.

        Waiting work is left to the next process. A second call does nothing.
        """
        self._started = False
        await asyncio.to_thread(self.engine.close)

    async def __aenter__(self) -> MemoryClient:
        await self.start()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.stop()

    def _scope(self, conversation: str) -> Scope:
        return self._owner.within("conversation", to_conversation_name(conversation or "default"))

    def _answer(
        self, messages: list[Mapping[str, Any]], scope: Scope, top_k: int
    ) -> dict[str, Json]:
        answer = self.engine.chat(messages, scope=scope, limit=max(top_k, 0))
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": answer.text},
            "finish_reason": "stop",
        }
        hits = [_hit_to_dict(hit) for hit in answer.hits]
        return {
            "object": "chat.completion",
            "model": answer.model,
            "choices": [choice],
            "memory_hits": hits,
        }

    def _list_records(self, scope: Scope, summary: bool) -> list[dict[str, Json]]:
        kinds = (Kind.TURN, Kind.NOTE, *_LEARNED_KINDS, *((Kind.SUMMARY,) if summary else ()))
        records: list[Record] = []
        after = ""
        while True:
            page = self.engine.list(
                scope=scope, kinds=kinds, order="oldest", after=after, limit=500
            )
            records += [record for record in page.records if record.scope == scope.destination]
            if not page.next:
                return [_record_to_dict(record) for record in records]
            after = page.next


def _record_to_dict(record: Record) -> dict[str, Json]:
    fields = {
        "id": record.id,
        "content": record.text,
        "role": record.role_shown,
        "kind": record.kind.value,
    }
    return {
        **fields,
        "created_at": record.recorded_at.isoformat(),
        "conversation_id": _conversation_name(record.scope),
    }


def _hit_to_dict(hit: Hit) -> dict[str, Json]:
    return {**_record_to_dict(hit.record), "score": round(hit.score, 4)}


def _conversation_name(scope: Scope) -> str:
    return GLOBAL if scope.is_owner else scope.labels[-1]
