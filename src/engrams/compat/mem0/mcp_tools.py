"""Tool profile ``mem0``: tool names and answers of mem0's MCP server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from engrams.core import Kind, Record, Scope, Turn, leave_own_part
from engrams.errors import InputError, RefusedError
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.memory_tools import ChatMessageInput
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    ERASES,
    READS,
    WRITES,
    ScopedEngine,
)

_MAX_LIMIT = 500
_EVENTS = {
    "stored": "ADD",
    "redacted": "ADD",
    "incognito": "ADD",
    "duplicate": "NONE",
    "refused": "NONE",
    "unsaved": "NONE",
}
_TOOLS = {
    "add_memory": WRITES,
    "search_memories": READS,
    "get_memories": READS,
    "get_memory": READS,
    "update_memory": CHANGES,
    "delete_memory": ERASES,
}
_FILTERS = ("user_id", "app_id", "run_id")

User = Annotated[
    str,
    Field(description=("May be left out: the server serves the memory of one person only.")),
]
App = Annotated[str, Field(description="The project's part of memory.")]
Run = Annotated[str, Field(description="The conversation's part of memory.")]
Id = Annotated[str, Field(description="The memory's id.", min_length=1)]
Filters = Annotated[
    dict[str, Any] | None,
    Field(description='Only user_id, app_id and run_id are known: {"AND": [{"run_id": "r1"}]}.'),
]


@dataclass(frozen=True)
class Mem0AddEventOutput:
    id: str
    memory: str
    event: str


@dataclass(frozen=True)
class Mem0AddOutput:
    results: list[Mem0AddEventOutput]


@dataclass(frozen=True)
class Mem0MemoryOutput:
    id: str
    memory: str
    score: float | None
    created_at: str
    user_id: str
    categories: list[str]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Mem0MemoryPageOutput:
    results: list[Mem0MemoryOutput]
    next: str


@dataclass(frozen=True)
class Mem0MessageOutput:
    id: str
    message: str


class Mem0Tools:
    """Serve mem0's tools; another user_id is refused.

    app_id is a project and run_id a conversation of the owner's memory.
    """

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine

    def add_memory(
        self,
        text: Annotated[str, Field(description="What to remember.")] = "",
        messages: Annotated[
            list[ChatMessageInput] | None, Field(description="Instead of text: a conversation.")
        ] = None,
        metadata: Annotated[
            dict[str, Any] | None, Field(description="JSON values kept with it.")
        ] = None,
        user_id: User = "",
        app_id: App = "",
        run_id: Run = "",
    ) -> Mem0AddOutput:
        """Remember a text or a conversation."""
        scope = self._call_scope({"user_id": user_id, "app_id": app_id, "run_id": run_id})
        if bool(text.strip()) == bool(messages):
            raise InputError("Give either text or messages.")
        if messages:
            turns = [
                Turn(
                    message["content"],
                    message["role"],
                    message.get("name", ""),
                    meta=leave_own_part(metadata or {}),
                )
                for message in messages
            ]
            receipts = self._engine.observe(turns, scope=scope)
        else:
            turn = Turn(text, meta=leave_own_part(metadata or {}))
            receipts = (self._engine.add(turn, scope=scope, kind=Kind.NOTE),)
        results = []
        for receipt in receipts:
            stored_text = ""
            if receipt.id and receipt.outcome != "refused":
                stored_text = outputs.display_text(self._engine.get(receipt.id, scope=scope))
            results.append(Mem0AddEventOutput(receipt.id, stored_text, _EVENTS[receipt.outcome]))
            results += [
                Mem0AddEventOutput(memory.id, memory.text, "UPDATE" if memory.replaces else "ADD")
                for memory in receipt.derived
                if memory.id
            ]
        return Mem0AddOutput(results)

    def search_memories(
        self,
        query: Annotated[str, Field(description="What to look for, in your own words.")],
        filters: Filters = None,
        limit: Annotated[int, Field(ge=1, le=_MAX_LIMIT)] = 10,
    ) -> Mem0MemoryPageOutput:
        """Find memories that answer a question, best first."""
        scope = self._call_scope(_flatten_filter(filters or {}))
        result = self._engine.search(query, scope=scope, limit=limit)
        items = [_to_item(hit.record, round(float(hit.score), 4)) for hit in result.hits]
        return Mem0MemoryPageOutput(items, "")

    def get_memories(
        self,
        filters: Filters = None,
        page_size: Annotated[int, Field(ge=1, le=_MAX_LIMIT)] = 50,
        cursor: Annotated[str, Field(description="The `next` of the page before.")] = "",
    ) -> Mem0MemoryPageOutput:
        """List memories, newest first, page by page."""
        scope = self._call_scope(_flatten_filter(filters or {}))
        limit = min(page_size, self._engine.settings.limits.results)
        page = self._engine.list(scope=scope, after=cursor, limit=limit)
        return Mem0MemoryPageOutput([_to_item(record, None) for record in page.records], page.next)

    def get_memory(self, memory_id: Id) -> Mem0MemoryOutput:
        """Get one memory by its id."""
        return _to_item(self._scoped.get(memory_id), None)

    def update_memory(
        self, memory_id: Id, text: Annotated[str, Field(description="The new text.")]
    ) -> Mem0MemoryOutput:
        """Correct a memory; its history keeps the old text."""
        record = self._scoped.get(memory_id)
        return _to_item(self._engine.edit(record.id, scope=self._scoped.root, text=text), None)

    def delete_memory(self, memory_id: Id) -> Mem0MessageOutput:
        """Forget a memory."""
        record = self._scoped.get(memory_id)
        self._engine.forget(record.id, scope=self._scoped.root)
        return Mem0MessageOutput(record.id, "Memory deleted.")

    def _call_scope(self, ids: Mapping[str, Any]) -> Scope:
        """Build the scope that a call's app and run ids name.

        RefusedError: it names another user. InputError: an unknown filter.
        """
        unknown = sorted(set(ids) - set(_FILTERS))
        if unknown:
            raise InputError(
                f"There is no filter {', '.join(unknown)}.",
                hint=f"The filters are: {', '.join(_FILTERS)}.",
            )
        if any(not isinstance(value, str) for value in ids.values()):
            raise InputError("The value of a filter must be text.")
        user = ids.get("user_id", "")
        labels = self._scoped.root.labels
        own_user = labels[0] if len(labels) == 1 else labels[1]
        if user and user != own_user:
            raise RefusedError("This server serves another user.", hint="Leave user_id out.")
        return self._scoped.resolve_scope(ids.get("app_id", ""), ids.get("run_id", ""))


def _flatten_filter(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the equalities of a filter joined by AND."""
    flat: dict[str, Any] = {}
    for name, value in _filter_pairs(filters):
        if name in flat and flat[name] != value:
            raise InputError(f"The filter asks for two values of {name}.")
        flat[name] = value
    return flat


def _filter_pairs(filters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in filters.items():
        if name != "AND":
            yield name, value
        elif isinstance(value, list) and all(
            isinstance(clause, dict) and "AND" not in clause for clause in value
        ):
            yield from (pair for clause in value for pair in clause.items())
        else:
            raise InputError("AND must be a list of objects.")


def _to_item(record: Record, score: float | None) -> Mem0MemoryOutput:
    owner = record.scope.owner.labels[-1]
    return Mem0MemoryOutput(
        id=record.id,
        memory=outputs.display_text(record),
        score=score,
        created_at=record.recorded_at.isoformat(),
        user_id=owner,
        categories=list(record.tags),
        metadata=dict(record.meta),
    )


PROFILE = McpProfile(
    instructions=("Long-term memory of one person. Search it first; add what will matter later."),
    families=(Mem0Tools,),
)
