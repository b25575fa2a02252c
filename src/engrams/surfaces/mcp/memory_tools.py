"""Tool profile ``engrams``: everyday tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from mcp.server import MCPServer
from pydantic import Field
from typing_extensions import TypedDict

from engrams.core import Kind, Receipt, Status, Turn
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.forget_tools import ForgetTools
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    ERASES,
    READS,
    WRITES,
    ScopedEngine,
    parse_moment,
    with_tool_errors,
)

_MOST = 500

Own = Literal["note", "fact", "preference", "procedure", "rule"]
Project = Annotated[
    str, Field(description="Only this project's part of memory; leave empty for all of it.")
]
Conversation = Annotated[
    str, Field(description="Only this conversation's part of memory; leave empty for all of it.")
]
Preview = Annotated[bool, Field(description="Only tell what it would reach; change nothing.")]
Id = Annotated[
    str, Field(description="The memory's id, or at least its first six characters.", min_length=1)
]
AsOf = Annotated[str, Field(description="See memory as it was at this time: 2024-05-31.")]

_TOOLS = {
    "memory_add": WRITES,
    "memory_search": READS,
    "memory_context": READS,
    "memory_get": READS,
    "memory_update": CHANGES,
    "memory_delete": ERASES,
    "memory_history": READS,
    "memory_list": READS,
    "memory_link": CHANGES,
}


class ChatMessageInput(TypedDict):
    """Message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str
    name: NotRequired[str]
    at: NotRequired[str]


class MemoryTools:
    """Serve one owner's memory; no argument changes the owner."""

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound
        self._engine = bound.engine

    def install(self, server: MCPServer[Any]) -> None:
        for name, hints in _TOOLS.items():
            server.add_tool(
                with_tool_errors(getattr(self, name)), annotations=hints, structured_output=True
            )

    def memory_add(
        self,
        text: Annotated[
            str,
            Field(
                description="What to remember, in one or a few sentences that stand on their own."
            ),
        ] = "",
        messages: Annotated[
            list[ChatMessageInput] | None,
            Field(description="Instead of text: a conversation, to be learned from."),
        ] = None,
        kind: Annotated[Own, Field(description="What the text is.")] = "note",
        tags: Annotated[list[str] | None, Field(description="Labels to find it by.")] = None,
        session: Annotated[str, Field(description="The conversation it was said in.")] = "",
        key: Annotated[
            str, Field(description="Your own id for it: the same key is stored once.")
        ] = "",
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.MemoryAddOutput:
        """Remember a text or the messages of a conversation, once."""
        scope = self._bound.call_scope(project, conversation)
        if bool(text.strip()) == bool(messages):
            raise InputError(
                "Give text or messages, one of them.",
                hint="text is for one statement, messages for a conversation.",
            )
        if messages:
            receipts = self._engine.observe(
                [_to_turn(each, place, session, key) for place, each in enumerate(messages)],
                scope=scope,
            )
        else:
            turn = Turn(text, session=session, external_id=key)
            receipts = (self._engine.add(turn, scope=scope, kind=Kind(kind)),)
        for receipt in receipts:
            self._add_tags(receipt, tags or [])
        return outputs.MemoryAddOutput([outputs.to_write(receipt) for receipt in receipts])

    def memory_search(
        self,
        query: Annotated[str, Field(description="What to look for, in your own words.")] = "",
        related_to: Annotated[
            str,
            Field(
                description="Instead of a query: a memory's id, to see what links lead to from it."
            ),
        ] = "",
        limit: Annotated[int, Field(ge=1, le=_MOST)] = 10,
        kinds: Annotated[list[Kind] | None, Field(description="Only these kinds.")] = None,
        as_of: AsOf = "",
        history: Annotated[
            bool, Field(description="Also what was superseded or archived.")
        ] = False,
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.SearchOutput:
        """Find memories that answer a question, best first.

        Use it before you say that you do not know something.
        """
        scope = self._bound.call_scope(project, conversation)
        if bool(query.strip()) == bool(related_to.strip()):
            raise InputError("Give query or related_to, one of them.")
        if related_to.strip():
            found_by_link = self._engine.links.related(
                self._bound.get(related_to).id, scope=scope, limit=limit
            )
            return outputs.SearchOutput(
                [outputs.related_to_match(each) for each in found_by_link], not found_by_link
            )
        when = parse_moment(as_of, "as_of")
        found = self._engine.search(
            query, scope=scope, limit=limit, as_of=when, kinds=tuple(kinds or ()), history=history
        )
        return outputs.SearchOutput(
            [outputs.to_match(hit) for hit in found.hits], found.abstain, list(found.notes)
        )

    def memory_context(
        self,
        query: Annotated[
            str, Field(description="The question at hand; empty gives the profile alone.")
        ] = "",
        tokens: Annotated[
            int, Field(ge=0, le=100_000, description="The most the text may cost.")
        ] = 2000,
        as_of: AsOf = "",
        session: Annotated[
            str,
            Field(
                description="The conversation that this is a turn of: nothing is shown to it twice."
            ),
        ] = "",
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.ContextOutput:
        """Return memory as prompt text: a profile, then relevant memories."""
        scope = self._bound.call_scope(project, conversation)
        if session and not as_of:
            made = self._engine.deliver(query, scope=scope, session=session, tokens=tokens)
        else:
            made = self._engine.context(
                query, scope=scope, tokens=tokens, as_of=parse_moment(as_of, "as_of")
            )
        return outputs.ContextOutput(
            text=made.text,
            tokens=made.tokens,
            ids=[hit.record.id for hit in made.hits],
            abstain=made.abstain,
            notes=list(made.notes),
        )

    def memory_get(self, id: Id) -> outputs.MemoryOutput:
        """Get one memory by its id, also a superseded or forgotten one."""
        return outputs.to_memory(self._bound.get(id))

    def memory_update(
        self,
        id: Id,
        text: Annotated[str | None, Field(description="The new text.")] = None,
        kind: Annotated[Own | None, Field(description="The new kind.")] = None,
        tags: Annotated[list[str] | None, Field(description="The new labels, all of them.")] = None,
        importance: Annotated[float | None, Field(ge=0, le=1)] = None,
        valid_to: Annotated[
            str | None, Field(description="Until when it was true; empty: it still is.")
        ] = None,
        version: Annotated[
            int | None, Field(description="Refuse unless the memory still has this version.")
        ] = None,
        reason: Annotated[str, Field(description="Why, for its history.")] = "",
    ) -> outputs.ChangedMemoryOutput:
        """Correct a memory; its history keeps the old values.

        A new text also reaches what was said: sources tells which messages it replaces or shortens.
        """
        record = self._bound.get(id)
        report = (
            self._engine.preview([record.id], "edit", self._bound.root)
            if text is not None and text != record.text
            else None
        )
        given = {"text": text, "kind": kind, "tags": tags, "importance": importance}
        fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if valid_to is not None:
            fields["valid_to"] = parse_moment(valid_to, "valid_to")
        edited = self._engine.edit(
            record.id, scope=self._bound.root, fields=fields, expect=version, reason=reason
        )
        return outputs.to_changed(edited, report)

    def memory_delete(
        self,
        id: Id,
        reason: Annotated[str, Field(description="Why, for its history.")] = "",
        restore: Annotated[bool, Field(description="Undo an earlier delete instead.")] = False,
        preview: Preview = False,
    ) -> outputs.ChangedMemoryOutput:
        """Forget a memory, and the messages that said only it.

        No search finds them; restore brings them back. sources tells which messages were forgotten
        or shortened.
        """
        record = self._bound.get(id)
        scope = self._bound.root
        if restore:
            return outputs.to_changed(self._engine.restore(record.id, scope=scope), None)
        report = self._engine.preview([record.id], "forget", scope)
        return outputs.to_changed(
            record if preview else self._engine.forget(record.id, scope=scope, reason=reason),
            report,
        )

    def memory_history(self, id: Id) -> outputs.MemoryHistoryOutput:
        """List every change of one memory, oldest first."""
        record = self._bound.get(id)
        return outputs.MemoryHistoryOutput(
            [
                outputs.to_change(entry)
                for entry in self._engine.history(record.id, scope=self._bound.root)
            ]
        )

    def memory_list(
        self,
        kind: Annotated[Kind | None, Field(description="Only this kind.")] = None,
        tag: Annotated[str, Field(description="Only with this label.")] = "",
        text: Annotated[str, Field(description="Only where the text contains this.")] = "",
        status: Annotated[
            Status,
            Field(description="active, or what is no longer: superseded, archived, forgotten."),
        ] = Status.ACTIVE,
        limit: Annotated[int, Field(ge=1, le=_MOST)] = 20,
        cursor: Annotated[str, Field(description="From the page before.")] = "",
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.MemoryPageOutput:
        """List memories by their fields, newest first, page by page."""
        scope = self._bound.call_scope(project, conversation)
        where = Where("and", (Condition("tags", "contains", tag),)) if tag else None
        kinds = (kind,) if kind else ()
        most = min(limit, self._engine.settings.limits.results)
        page = self._engine.list(
            scope=scope,
            kinds=kinds,
            statuses=(status,),
            text=text,
            where=where,
            after=cursor,
            limit=most,
        )
        return outputs.MemoryPageOutput(
            [outputs.to_memory(record) for record in page.records], page.next
        )

    def memory_link(
        self,
        id: Id,
        other: Annotated[
            str, Field(description="The id of the memory it belongs with.", min_length=1)
        ],
        weight: Annotated[float, Field(ge=0, le=1, description="How strongly.")] = 0.5,
        remove: Annotated[bool, Field(description="Undo such a link instead.")] = False,
    ) -> outputs.MemoryLinkOutput:
        """Link two memories, so that finding one leads to the other.

        It can be undone with remove.
        """
        first = self._bound.get(id)
        second = self._bound.get(other)
        if remove:
            gone = self._engine.links.unlink(first.id, second.id, scope=self._bound.root)
            return outputs.MemoryLinkOutput(first.id, second.id, 0.0, gone)
        edge = self._engine.links.link(first.id, second.id, scope=self._bound.root, weight=weight)
        return outputs.MemoryLinkOutput(edge.source, edge.target, edge.weight, True)

    def _add_tags(self, receipt: Receipt, tags: list[str]) -> None:
        if not tags or not receipt.id or receipt.outcome == "refused":
            return
        record = self._engine.get(receipt.id, scope=self._bound.root)
        every = list(dict.fromkeys((*record.tags, *tags)))
        if every != list(record.tags):
            self._engine.edit(
                record.id, scope=self._bound.root, fields={"tags": every}, reason="labelled"
            )


def _to_turn(message: ChatMessageInput, place: int, session: str, key: str) -> Turn:
    at = parse_moment(message.get("at", ""), "at")
    return Turn(
        text=message["content"],
        role=message["role"],
        speaker=message.get("name", ""),
        at=at,
        session=session,
        external_id=f"{key}:{place}" if key else "",
    )


PROFILE = McpProfile(
    instructions=(
        "Long-term memory of one person. Search it before saying that you do not know something"
        " about them. Add what they tell you that will matter later: facts, preferences, decisions,"
        " corrections."
    ),
    families=(MemoryTools, ForgetTools),
)
