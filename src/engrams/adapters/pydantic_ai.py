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
    KEPT,
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
_ONCE = (*KEPT, Status.FORGOTTEN)
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
        model search and change memory. ``store``: keep what is said; off where a conversation store
        keeps it. InputError: ``tokens`` is no number above 0.
        """
        if tokens is not None and (not isinstance(tokens, int) or tokens < 1):
            raise InputError(
                f"tokens is a number above 0, not {tokens!r}.",
                hint="Leave it out for read.context_tokens.",
            )
        self._engine = check_engine(engine)
        self._scope = Scope.of(scope)
        self._tokens = tokens
        self._tools = tools
        self._store = store
        self._recalled: dict[str, str] = {}
        self._kept: set[tuple[Role, str]] = set()

    async def for_run(self, ctx: RunContext[Any]) -> PydanticAIMemory:
        """Return one with a run's own state."""
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
        for at in range(len(messages) - 1, -1, -1):
            message = messages[at]
            if isinstance(message, ModelRequest) and (asked := _read_text([message], "user")):
                if recalled := await self._recall(asked):
                    told = replace(message, parts=[UserPromptPart(recalled), *message.parts])
                    return replace(
                        request_context, messages=[*messages[:at], told, *messages[at + 1 :]]
                    )
                break
        return request_context

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Recall for the prompt, then store it, however the run ends."""
        if (
            said := ""
            if ctx.prompt is None
            else _read_text([ModelRequest([UserPromptPart(ctx.prompt)])], "user")
        ):
            await self._recall(said)
            await self._keep(ctx, [("user", said)])

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store what else was said in the run."""
        roles: tuple[Role, ...] = ("user", "assistant")
        said = [
            (role, text)
            for message in result.new_messages()
            for role in roles
            if (text := _read_text([message], role))
        ]
        await self._keep(ctx, said)
        return result

    async def _keep(self, ctx: RunContext[Any], said: Sequence[tuple[Role, str]]) -> None:
        turns = [
            Turn(text, role, session=ctx.conversation_id or "")
            for role, text in said
            if (role, text) not in self._kept
        ]
        if turns and self._store:
            await asyncio.to_thread(self._engine.observe, turns, scope=self._scope)
        self._kept.update(said)

    async def _recall(self, asked: str) -> str:
        """Recall once for a prompt, so that a run's requests begin alike."""
        if asked not in self._recalled:
            made = await asyncio.to_thread(
                self._engine.context, asked, scope=self._scope, tokens=self._tokens
            )
            self._recalled[asked] = made.text
        return self._recalled[asked]


class PydanticAIConversationStore(ConversationStore):
    """Conversations in memory, each message stored once.

    What people and the model said becomes turns of memory, in the session of that name; calls of
    tools, results and the records are kept for the conversation alone. A message that was forgotten
    or purged is left out of the history, and the rest of it loads. Deleting a conversation erases
    the messages that no other one reaches.
    """

    def __init__(self, engine: MemoryEngine, scope: ScopeInput) -> None:
        """Keep the conversations of one scope of memory."""
        self._engine = check_engine(engine)
        self._place = Scope.of(scope)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return a conversation's record, or None."""
        held = await asyncio.to_thread(self._find_record, conversation_id)
        return None if held is None else _load_record(held)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return records, those last saved first."""
        held = await asyncio.to_thread(
            lambda: list(list_items(self._engine, self._place, _mark("record")))
        )
        found = [
            record for record in map(_load_record, held) if scope is None or record.scope == scope
        ]
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

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
        held = await asyncio.to_thread(self._find, "entry", entry_id)
        if held is None:
            raise KeyError(entry_id)
        return _ENTRY.validate_python(held.meta[ITEM]["data"])

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Return the last entries up to ``head_id``, without forgotten ones.

        KeyError: there never was such an entry.
        """
        return await asyncio.to_thread(self._read_history, head_id, limit)

    def _read_history(self, head: str | None, limit: int | None) -> list[ConversationEntry]:
        """Follow a history back through pages of entries, newest first."""
        pages = list_items(self._engine, self._place, _mark("entry"), "newest", statuses=_ONCE)
        known: dict[str, Record] = {}
        parents: dict[str, str | None] = {}
        found: list[ConversationEntry] = []
        at = head
        whole = True
        while at is not None and (limit is None or len(found) < limit):
            if at not in known and self._find("entry", at, _ONCE) is None:
                parents = parents or self._read_parents()
                at = parents[at]
                whole = False
                continue
            while at not in known:
                held = next(pages)
                known[held.meta[ITEM]["data"]["id"]] = held
            held = known.pop(at)
            entry = _ENTRY.validate_python(read_item(held)["data"])
            if held.status in KEPT:
                found.append(entry)
            at = entry.parent_id
            whole = whole and held.status in KEPT
        return found[::-1] if whole else _drop_lone_returns(found[::-1])

    def _read_parents(self) -> dict[str, str | None]:
        """Map every entry that was ever stored to the one before it."""
        chains = list_items(self._engine, self._place, _mark("chain"))
        return {
            name: before for chain in chains for name, before in chain.meta[ITEM]["data"].items()
        }

    def _find(self, holds: str, key: str, statuses: Sequence[Status] = KEPT) -> Record | None:
        where = Where(
            "and",
            (
                Condition("external_id", "eq", hash_key(_ADAPTER, holds, key)),
                Condition("scope", "eq", self._place.key),
            ),
        )
        return next(
            iter(
                self._engine.list(
                    scope=self._place, statuses=statuses, where=where, limit=1
                ).records
            ),
            None,
        )

    def _open(self, holds: str, session: str = "") -> FrameworkItemJournal:
        return FrameworkItemJournal(self._engine, self._place, _ADAPTER, {"holds": holds}, session)

    def _find_record(self, conversation: str) -> Record | None:
        return self._find("record", conversation)

    def _write(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        held = self._find_record(record.conversation_id)
        if (None if held is None else _load_record(held).revision) != expected:
            raise ConversationConflict(record.conversation_id)
        head = record.head_id
        known = {entry.id: entry.parent_id for entry in entries}
        if (
            head is not None
            and head not in known
            and self._find("entry", head) is None
            and head not in self._read_parents()
        ):
            raise ConversationConflict(record.conversation_id)
        if known:  # the way past an entry outlives it
            self._open("chain").append([make_silent_item(known)])
        self._open("entry", record.conversation_id).append(
            [_to_journal_item(entry) for entry in entries]
        )
        data = _RECORD.dump_python(record, mode="json")
        if held is None:
            self._open("record").append([make_silent_item(data, record.conversation_id)])
            kept = self._find_record(record.conversation_id)
            if kept is None or _load_record(kept).revision != record.revision:
                raise ConversationConflict(record.conversation_id)
            return
        meta = {**held.meta, ITEM: {**held.meta[ITEM], "data": data}}
        try:
            self._engine.edit(
                held.id,
                scope=self._place,
                fields={"meta": meta},
                expect=held.version,
                reason="the conversation went on",
            )
        except (ConflictError, NotFoundError):
            raise ConversationConflict(record.conversation_id) from None

    def _delete(self, conversation: str, expected: str) -> None:
        held = self._find_record(conversation)
        if held is None or _load_record(held).revision != expected:
            raise ConversationConflict(conversation)
        others = [
            _load_record(each)
            for each in list_items(self._engine, self._place, _mark("record"))
            if each.id != held.id
        ]
        entries = {
            each.meta[ITEM]["data"]["id"]: each
            for each in list_items(self._engine, self._place, _mark("entry"), statuses=_ONCE)
        }
        parents = self._read_parents()
        reached = _reach(
            (tip for other in others for tip in (other.head_id, *other.branches)), parents
        )
        mine = _load_record(held)
        lost = _reach((mine.head_id, *mine.branches), parents) - reached
        chains = [
            each.id
            for each in list_items(self._engine, self._place, _mark("chain"))
            if lost.issuperset(each.meta[ITEM]["data"])
        ]
        self._engine.purge(
            [held.id, *(entries[one].id for one in lost if one in entries), *chains],
            scope=self._place,
        )


def _mark(holds: str) -> dict[str, str]:
    return {"adapter": _ADAPTER, "holds": holds}


def _load_record(held: Record) -> ConversationRecord:
    return _RECORD.validate_python(held.meta[ITEM]["data"])


def _reach(tips: Iterable[str | None], parents: Mapping[str, str | None]) -> set[str]:
    """Collect ids of entries on the histories that end in ``tips``."""
    found: set[str] = set()
    for tip in tips:
        at = tip
        while at is not None and at in parents and at not in found:
            found.add(at)
            at = parents[at]
    return found


def _drop_lone_returns(entries: Sequence[ConversationEntry]) -> list[ConversationEntry]:
    """Drop results of tools whose call was forgotten."""
    called = {
        part.tool_call_id
        for entry in entries
        for part in entry.message.parts
        if isinstance(part, ToolCallPart)
    }
    kept = []
    for entry in entries:
        parts = [
            part
            for part in entry.message.parts
            if not isinstance(part, ToolReturnPart) or part.tool_call_id in called
        ]
        if len(parts) == len(entry.message.parts):
            kept.append(entry)
        elif parts:
            kept.append(replace(entry, message=replace(entry.message, parts=parts)))
    return kept


def _to_journal_item(entry: ConversationEntry) -> FrameworkItem:
    data = _ENTRY.dump_python(entry, mode="json")
    roles: tuple[Role, ...] = ("user", "assistant")
    for role in roles:
        if text := _read_text([entry.message], role):
            return FrameworkItem(data, text, role, key=entry.id)
    return make_silent_item(data, entry.id)


def _read_text(messages: Iterable[ModelMessage], role: Role) -> str:
    """Join what the user (or the assistant) said."""
    found: list[str] = []
    for message in messages:
        if role == "user" and isinstance(message, ModelRequest):
            prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
            found += [
                text
                for one in prompts
                for text in ([one] if isinstance(one, str) else one)
                if isinstance(text, str)
            ]
        elif role == "assistant" and isinstance(message, ModelResponse):
            found += [part.content for part in message.parts if isinstance(part, TextPart)]
    return strip_blank("\n".join(found))
