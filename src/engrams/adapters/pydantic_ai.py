"""Tools, capability and conversation store of Pydantic AI."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from engrams.adapters.agent_memory import AgentMemory
from engrams.adapters.item_journal import (
    ITEM,
    LISTED_STATUSES,
    FrameworkItem,
    FrameworkItemJournal,
    check_engine,
    hash_key,
    list_items,
    make_silent_item,
    read_item,
)
from engrams.core import Record, Role, Scope, ScopeInput, Status, Turn, strip_blank
from engrams.engine.agent_actions import ACTIONS, Action
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import Condition, Where

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_ADAPTER = "pydantic-ai"
_EVER_STORED = (*LISTED_STATUSES, Status.FORGOTTEN)
"""Statuses of entries that are still there, shown or not."""
_ENTRY: TypeAdapter[ConversationEntry] = TypeAdapter(ConversationEntry)
_RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


class PydanticAIToolset(FunctionToolset[Any]):
    """The tools ``search_memory`` and ``manage_memory`` of a scope."""

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        permitted: Collection[Action] = ACTIONS,
        id: str = "engrams",
        **fields: Any,
    ) -> None:
        """Make tools for one scope.

        ``permitted``: the actions of ``manage_memory``, which is left out where there are none.
        ``id``: of the toolset, unique in an agent. ``fields``: the others of ``FunctionToolset``,
        such as ``max_retries``.
        """
        memory = AgentMemory(engine, scope, permitted=permitted)
        super().__init__(
            [memory.search_memory, *([memory.manage_memory] if memory.permitted else [])],
            id=id,
            **fields,
        )


class PydanticAIMemory(AbstractCapability[Any]):
    """Memory of a scope, for ``Agent(capabilities=[…])``.

    Each request is given what the prompt needs, in that request only. The prompt is stored when the
    run begins, answers when it ends.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ScopeInput,
        *,
        tokens: int | None = None,
        tools: bool = True,
        store: bool = True,
    ) -> None:
        """Remember for one scope.

        ``tokens``: of the added text at most (None: ``read.context_tokens``). ``tools``: let the
        model search and change memory. ``store``: store the messages; off where a conversation
        store does. InputError: ``tokens`` is no number above 0.
        """
        if tokens is not None and (not isinstance(tokens, int) or tokens < 1):
            raise InputError(
                f"tokens must be a number above 0, not {tokens!r}.",
                hint="Leave it out for read.context_tokens.",
            )
        self._engine = check_engine(engine)
        self._scope = Scope.of(scope)
        self._tokens = tokens
        self._tools = tools
        self._store = store
        self._recalled: dict[str, str] = {}
        self._stored: set[tuple[Role, str]] = set()

    async def for_run(self, ctx: RunContext[Any]) -> PydanticAIMemory:
        """Return a copy with the state of one run."""
        return PydanticAIMemory(
            self._engine, self._scope, tokens=self._tokens, tools=self._tools, store=self._store
        )

    def get_toolset(self) -> PydanticAIToolset | None:
        """Return the tools, if the model may use them."""
        return PydanticAIToolset(self._engine, self._scope) if self._tools else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put what the last prompt needs before it."""
        messages = request_context.messages
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if isinstance(message, ModelRequest) and (prompt := _read_text([message], "user")):
                if recalled := await self._recall(prompt):
                    request = replace(message, parts=[UserPromptPart(recalled), *message.parts])
                    return replace(
                        request_context,
                        messages=[*messages[:index], request, *messages[index + 1 :]],
                    )
                break
        return request_context

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Recall for the prompt, then store it, however the run ends."""
        if ctx.prompt is None:
            return
        prompt = _read_text([ModelRequest([UserPromptPart(ctx.prompt)])], "user")
        if prompt:
            await self._recall(prompt)
            await self._store_new(ctx, [("user", prompt)])

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store the messages of the run that are not stored yet."""
        roles: tuple[Role, ...] = ("user", "assistant")
        speeches = [
            (role, text)
            for message in result.new_messages()
            for role in roles
            if (text := _read_text([message], role))
        ]
        await self._store_new(ctx, speeches)
        return result

    async def _store_new(self, ctx: RunContext[Any], speeches: Sequence[tuple[Role, str]]) -> None:
        turns = [
            Turn(text, role, session=ctx.conversation_id or "")
            for role, text in speeches
            if (role, text) not in self._stored
        ]
        if turns and self._store:
            await asyncio.to_thread(self._engine.observe, turns, scope=self._scope)
        self._stored.update(speeches)

    async def _recall(self, prompt: str) -> str:
        """Recall once for a prompt, so that a run's requests begin alike."""
        if prompt not in self._recalled:
            context = await asyncio.to_thread(
                self._engine.context, prompt, scope=self._scope, tokens=self._tokens
            )
            self._recalled[prompt] = context.text
        return self._recalled[prompt]


class PydanticAIConversationStore(ConversationStore):
    """Conversations in memory, each message stored once.

    The words of people and of the model become turns of memory, in the session of that name; calls
    of tools, results and the records are stored for the conversation alone. A message that was
    forgotten or purged is left out of the history, and the rest of it loads. Deleting a conversation erases
    the messages that no other one reaches.
    """

    def __init__(self, engine: MemoryEngine, scope: ScopeInput) -> None:
        """Keep the conversations of one scope of memory."""
        self._engine = check_engine(engine)
        self._memory_scope = Scope.of(scope)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return a conversation's record, or None."""
        memory = await asyncio.to_thread(self._find_record, conversation_id)
        return None if memory is None else _load_record(memory)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return records, those last saved first."""
        memories = await asyncio.to_thread(
            lambda: list(list_items(self._engine, self._memory_scope, _mark("record")))
        )
        records = [
            record
            for record in map(_load_record, memories)
            if scope is None or record.scope == scope
        ]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store new entries, then the record.

        ConversationConflict: it changed meanwhile; entries that nothing reaches may stay.
        """
        await asyncio.to_thread(self._write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Erase a conversation. ConversationConflict: it changed meanwhile."""
        await asyncio.to_thread(self._delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry. KeyError: there is none."""
        memory = await asyncio.to_thread(self._find, "entry", entry_id)
        if memory is None:
            raise KeyError(entry_id)
        return _ENTRY.validate_python(memory.meta[ITEM]["data"])

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Return the last entries up to ``head_id``, without forgotten ones.

        KeyError: there never was such an entry.
        """
        return await asyncio.to_thread(self._read_history, head_id, limit)

    def _read_history(self, head: str | None, limit: int | None) -> list[ConversationEntry]:
        """Follow a history back through pages of entries, newest first."""
        pages = list_items(
            self._engine, self._memory_scope, _mark("entry"), "newest", statuses=_EVER_STORED
        )
        memories: dict[str, Record] = {}
        parents: dict[str, str | None] = {}
        entries: list[ConversationEntry] = []
        entry_id = head
        is_complete = True
        while entry_id is not None and (limit is None or len(entries) < limit):
            if entry_id not in memories and self._find("entry", entry_id, _EVER_STORED) is None:
                parents = parents or self._read_parents()
                entry_id = parents[entry_id]
                is_complete = False
                continue
            while entry_id not in memories:
                memory = next(pages)
                memories[memory.meta[ITEM]["data"]["id"]] = memory
            memory = memories.pop(entry_id)
            entry = _ENTRY.validate_python(read_item(memory)["data"])
            if memory.status in LISTED_STATUSES:
                entries.append(entry)
            entry_id = entry.parent_id
            is_complete = is_complete and memory.status in LISTED_STATUSES
        return entries[::-1] if is_complete else _drop_lone_returns(entries[::-1])

    def _read_parents(self) -> dict[str, str | None]:
        """Map every entry that was ever stored to the one before it."""
        chains = list_items(self._engine, self._memory_scope, _mark("chain"))
        return {
            entry_id: parent_id
            for chain in chains
            for entry_id, parent_id in chain.meta[ITEM]["data"].items()
        }

    def _find(
        self, item_type: str, key: str, statuses: Sequence[Status] = LISTED_STATUSES
    ) -> Record | None:
        where = Where(
            "and",
            (
                Condition("external_id", "eq", hash_key(_ADAPTER, item_type, key)),
                Condition("scope", "eq", self._memory_scope.key),
            ),
        )
        return next(
            iter(
                self._engine.list(
                    scope=self._memory_scope, statuses=statuses, where=where, limit=1
                ).records
            ),
            None,
        )

    def _open(self, item_type: str, session: str = "") -> FrameworkItemJournal:
        return FrameworkItemJournal(
            self._engine, self._memory_scope, _ADAPTER, {"holds": item_type}, session
        )

    def _find_record(self, conversation: str) -> Record | None:
        return self._find("record", conversation)

    def _write(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        memory = self._find_record(record.conversation_id)
        if (None if memory is None else _load_record(memory).revision) != expected:
            raise ConversationConflict(record.conversation_id)
        head = record.head_id
        parents = {entry.id: entry.parent_id for entry in entries}
        if (
            head is not None
            and head not in parents
            and self._find("entry", head) is None
            and head not in self._read_parents()
        ):
            raise ConversationConflict(record.conversation_id)
        if parents:  # written before the entries: it leads past those that are forgotten later
            self._open("chain").append([make_silent_item(parents)])
        self._open("entry", record.conversation_id).append(
            [_to_journal_item(entry) for entry in entries]
        )
        data = _RECORD.dump_python(record, mode="json")
        if memory is None:
            self._open("record").append([make_silent_item(data, record.conversation_id)])
            stored = self._find_record(record.conversation_id)
            if stored is None or _load_record(stored).revision != record.revision:
                raise ConversationConflict(record.conversation_id)
            return
        meta = {**memory.meta, ITEM: {**memory.meta[ITEM], "data": data}}
        try:
            self._engine.edit(
                memory.id,
                scope=self._memory_scope,
                fields={"meta": meta},
                expect=memory.version,
                reason="the conversation went on",
            )
        except (ConflictError, NotFoundError):
            raise ConversationConflict(record.conversation_id) from None

    def _delete(self, conversation: str, expected: str) -> None:
        """Purge a conversation, with the entries that no other conversation shares.

        Conversations form a tree: a branch shares the entries before the point where it began.
        ConversationConflict: the conversation is gone, or its revision is not ``expected``.
        """
        memory = self._find_record(conversation)
        if memory is None or _load_record(memory).revision != expected:
            raise ConversationConflict(conversation)
        other_conversations = [
            _load_record(other_memory)
            for other_memory in list_items(self._engine, self._memory_scope, _mark("record"))
            if other_memory.id != memory.id
        ]
        entries = {
            entry_memory.meta[ITEM]["data"]["id"]: entry_memory
            for entry_memory in list_items(
                self._engine, self._memory_scope, _mark("entry"), statuses=_EVER_STORED
            )
        }
        parents = self._read_parents()
        other_tips = [tip for record in other_conversations for tip in _list_tips(record)]
        kept_entry_ids = _collect_histories(other_tips, parents)
        own_entry_ids = _collect_histories(_list_tips(_load_record(memory)), parents)
        lost_entry_ids = own_entry_ids - kept_entry_ids
        chain_ids = [
            chain.id
            for chain in list_items(self._engine, self._memory_scope, _mark("chain"))
            if lost_entry_ids.issuperset(chain.meta[ITEM]["data"])
        ]
        self._engine.purge(
            [
                memory.id,
                *(entries[entry_id].id for entry_id in lost_entry_ids if entry_id in entries),
                *chain_ids,
            ],
            scope=self._memory_scope,
        )


def _mark(item_type: str) -> dict[str, str]:
    return {"adapter": _ADAPTER, "holds": item_type}


def _load_record(memory: Record) -> ConversationRecord:
    return _RECORD.validate_python(memory.meta[ITEM]["data"])


def _list_tips(record: ConversationRecord) -> tuple[str | None, ...]:
    """List the last entries of a conversation and of its branches."""
    return (record.head_id, *record.branches)


def _collect_histories(tips: Iterable[str | None], parents: Mapping[str, str | None]) -> set[str]:
    """Collect the ids of ``tips`` and of all entries before them."""
    reached: set[str] = set()
    for tip in tips:
        entry_id = tip
        while entry_id is not None and entry_id in parents and entry_id not in reached:
            reached.add(entry_id)
            entry_id = parents[entry_id]
    return reached


def _drop_lone_returns(entries: Sequence[ConversationEntry]) -> list[ConversationEntry]:
    """Drop results of tools whose call was forgotten."""
    call_ids = {
        part.tool_call_id
        for entry in entries
        for part in entry.message.parts
        if isinstance(part, ToolCallPart)
    }
    remaining = []
    for entry in entries:
        parts = [
            part
            for part in entry.message.parts
            if not isinstance(part, ToolReturnPart) or part.tool_call_id in call_ids
        ]
        if len(parts) == len(entry.message.parts):
            remaining.append(entry)
        elif parts:
            remaining.append(replace(entry, message=replace(entry.message, parts=parts)))
    return remaining


def _to_journal_item(entry: ConversationEntry) -> FrameworkItem:
    data = _ENTRY.dump_python(entry, mode="json")
    roles: tuple[Role, ...] = ("user", "assistant")
    for role in roles:
        if text := _read_text([entry.message], role):
            return FrameworkItem(data, text, role, key=entry.id)
    return make_silent_item(data, entry.id)


def _read_text(messages: Iterable[ModelMessage], role: Role) -> str:
    """Join what the user (or the assistant) said."""
    texts: list[str] = []
    for message in messages:
        if role == "user" and isinstance(message, ModelRequest):
            prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
            texts += [
                text
                for prompt in prompts
                for text in ([prompt] if isinstance(prompt, str) else prompt)
                if isinstance(text, str)
            ]
        elif role == "assistant" and isinstance(message, ModelResponse):
            texts += [part.content for part in message.parts if isinstance(part, TextPart)]
    return strip_blank("\n".join(texts))
