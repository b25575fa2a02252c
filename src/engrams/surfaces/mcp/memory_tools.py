"""Tool profiles ``engrams``, the everyday tools, and ``full``, all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from engrams.core import Kind, Receipt, Scope, Status, Turn, name_speaker
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.spaces.speakers import sign_turn
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
    parse_spoken_time,
)

_MAX_LIMIT = 500

WritableKind = Literal["note", "fact", "preference", "procedure", "rule"]
AddedKind = Literal["note", "fact", "preference", "procedure", "rule", "decision"]
DECISION_TAG = "decision"
"""Tag and category of a decision, which is stored as a rule: it holds until another replaces it."""
Project = Annotated[
    str, Field(description="Only this project's part of memory; leave empty for all of it.")
]
Conversation = Annotated[
    str, Field(description="Only this conversation's part of memory; leave empty for all of it.")
]
Preview = Annotated[bool, Field(description="Only show the effect; change nothing.")]
Id = Annotated[
    str, Field(description="The memory's id, or at least its first six characters.", min_length=1)
]
AsOf = Annotated[str, Field(description="See memory as it was at this time: 2024-05-31.")]

_EVERYDAY_TOOLS = {
    "memory_add": WRITES,
    "memory_search": READS,
    "memory_context": READS,
    "memory_list": READS,
    "memory_update": CHANGES,
    "memory_delete": ERASES,
}
_TOOLS = {
    **_EVERYDAY_TOOLS,
    "memory_get": READS,
    "memory_history": READS,
    "memory_link": CHANGES,
}
_INSTRUCTIONS = (
    "Long-term memory of one person and of the project at hand. Search it before saying that you"
    " do not know something about them. Add what they tell you that will matter later, one"
    ' statement each, with its kind: rule for a convention ("money is integer cents"),'
    " decision for a choice with its reason and what it replaced, fact for what is so,"
    " procedure for steps, note for the rest. Rules, decisions and facts are shown at the start"
    " of the next session, notes only by a search. scope person is for what holds in every"
    " project (name, tastes, style of answers), scope project for what belongs to this code."
    " Change a memory that is no longer right instead of adding a second. Never store secrets."
)


class ChatMessageInput(TypedDict):
    """Message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str
    name: NotRequired[str]
    at: NotRequired[str]


class MemoryTools:
    """Serve one owner's memory; no argument changes the owner."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine

    def memory_add(  # noqa: PLR0913 - arguments of a tool
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
        kind: Annotated[
            AddedKind,
            Field(
                description=(
                    "rule: holds for every session. decision: what was chosen, why, and what it"
                    " replaced. fact, preference, procedure: what their names say. note: anything"
                    " else; only a search finds it."
                )
            ),
        ] = "note",
        scope: Annotated[
            Literal["", "person", "project"],
            Field(
                description=(
                    "person: about the user, in every project (name, tastes, style of answers)."
                    " project: about the code at hand. Empty: where the server is."
                )
            ),
        ] = "",
        tags: Annotated[list[str] | None, Field(description="Labels to find it by.")] = None,
        session: Annotated[str, Field(description="The conversation it was said in.")] = "",
        key: Annotated[str, Field(description="Your id for it; a key is stored once.")] = "",
        project: Project = "",
        conversation: Conversation = "",
        space: Annotated[
            str,
            Field(description="Name of a shared memory."),
        ] = "",
    ) -> outputs.MemoryAddOutput:
        """Remember a text or the messages of a conversation, once."""
        target = self._scoped.write_scope(scope, project, conversation)
        person = target.owner
        member = person.labels[-1]
        if space:
            entered = self._engine.spaces.get(space, scope=person, writes=True)
            target = entered.scope
            member = entered.own_name
        if bool(text.strip()) == bool(messages):
            raise InputError(
                "Give either text or messages.",
                hint="text is for one statement, messages for a conversation.",
            )
        if messages:
            names = [sent.get("name", "") for sent in messages if sent["role"] == "user"]
            turns = [
                _to_turn(message, index, session, key) for index, message in enumerate(messages)
            ]
            turns = [
                replace(turn, speaker=name_speaker(turn.speaker, names, member)) for turn in turns
            ]
            if space:
                turns = [sign_turn(turn, member) for turn in turns]
            receipts = self._engine.observe(turns, scope=target, checkout=self._scoped.checkout)
        else:
            # The agent's words: they tell of the user, and never speak in the user's name.
            turn = Turn(text, role="assistant", session=session, external_id=key)
            stored_kind = Kind.RULE if kind == "decision" else Kind(kind)
            checkout = self._scoped.checkout
            receipts = (self._engine.add(turn, scope=target, kind=stored_kind, checkout=checkout),)
        labels = [*(tags or []), *([DECISION_TAG] if kind == "decision" and text.strip() else [])]
        for receipt in receipts:
            self._add_tags(receipt, labels, target)
            if kind == "decision" and receipt.id and receipt.outcome == "stored":
                self._engine.edit(
                    receipt.id,
                    scope=target,
                    fields={"category": DECISION_TAG},
                    reason="labelled",
                )
        return outputs.MemoryAddOutput([outputs.to_write(receipt) for receipt in receipts])

    def memory_search(  # noqa: PLR0913 - arguments of a tool
        self,
        query: Annotated[str, Field(description="What to look for, in your own words.")] = "",
        related_to: Annotated[
            str,
            Field(
                description="Instead of a query: a memory's id, to see what links lead to from it."
            ),
        ] = "",
        limit: Annotated[int, Field(ge=1, le=_MAX_LIMIT)] = 10,
        kinds: Annotated[list[Kind] | None, Field(description="Only these kinds.")] = None,
        as_of: AsOf = "",
        history: Annotated[
            bool, Field(description="Include superseded and archived memories.")
        ] = False,
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.SearchOutput:
        """Find memories that answer a question, best first.

        Use it before you say that you do not know something.
        """
        scope = self._scoped.resolve_scope(project, conversation)
        if bool(query.strip()) == bool(related_to.strip()):
            raise InputError("Give either query or related_to.")
        if related_to.strip():
            start = self._scoped.get(related_to)
            return outputs.to_related(
                self._engine.links.related(start.id, scope=scope, limit=limit)
            )
        result = self._engine.search(
            query,
            scope=scope,
            limit=limit,
            as_of=parse_moment(as_of, "as_of"),
            kinds=tuple(kinds or ()),
            history=history,
            checkout=self._scoped.checkout,
        )
        return outputs.to_search(result)

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
        scope = self._scoped.resolve_scope(project, conversation)
        if session and not as_of:
            context = self._engine.deliver(
                query,
                scope=scope,
                session=session,
                tokens=tokens,
                checkout=self._scoped.checkout,
            )
        else:
            context = self._engine.context(
                query,
                scope=scope,
                tokens=tokens,
                as_of=parse_moment(as_of, "as_of"),
                checkout=self._scoped.checkout,
            )
        return outputs.ContextOutput(
            text=context.text,
            tokens=context.tokens,
            ids=tuple(hit.record.id for hit in context.hits),
            abstain=context.abstain,
            notes=tuple(context.notes),
            closest=tuple(hit.record.id for hit in context.closest),
        )

    def memory_get(self, id: Id) -> outputs.MemoryOutput:
        """Get one memory by its id, also a superseded or forgotten one."""
        return outputs.to_memory(self._scoped.find(id))

    def memory_update(  # noqa: PLR0913 - arguments of a tool
        self,
        id: Id,
        text: Annotated[str | None, Field(description="The new text.")] = None,
        kind: Annotated[WritableKind | None, Field(description="The new kind.")] = None,
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
        record = self._scoped.get(id)
        report = None
        if text is not None and text != record.text:
            report = self._engine.preview([record.id], "edit", self._scoped.root)
        values = {"text": text, "kind": kind, "tags": tags, "importance": importance}
        fields: dict[str, Any] = {
            name: value for name, value in values.items() if value is not None
        }
        if valid_to is not None:
            fields["valid_to"] = parse_moment(valid_to, "valid_to")
        edited = self._engine.edit(
            record.id, scope=self._scoped.root, fields=fields, expect=version, reason=reason
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
        record = self._scoped.get(id)
        scope = self._scoped.root
        if restore:
            return outputs.to_changed(self._engine.restore(record.id, scope=scope), None)
        report = self._engine.preview([record.id], "forget", scope)
        if not preview:
            record = self._engine.forget(record.id, scope=scope, reason=reason)
        return outputs.to_changed(record, report)

    def memory_history(self, id: Id) -> outputs.MemoryHistoryOutput:
        """List every change of one memory, oldest first."""
        record = self._scoped.get(id)
        return outputs.MemoryHistoryOutput(
            [
                outputs.to_change(entry)
                for entry in self._engine.history(record.id, scope=self._scoped.root)
            ]
        )

    def memory_list(  # noqa: PLR0913 - arguments of a tool
        self,
        kind: Annotated[Kind | None, Field(description="Only this kind.")] = None,
        tag: Annotated[str, Field(description="Only with this label.")] = "",
        text: Annotated[str, Field(description="Only where the text contains this.")] = "",
        status: Annotated[
            Status,
            Field(description="active, or what is no longer: superseded, archived, forgotten."),
        ] = Status.ACTIVE,
        limit: Annotated[int, Field(ge=1, le=_MAX_LIMIT)] = 20,
        cursor: Annotated[str, Field(description="From the page before.")] = "",
        project: Project = "",
        conversation: Conversation = "",
    ) -> outputs.MemoryPageOutput:
        """List memories by their fields, newest first, page by page."""
        scope = self._scoped.resolve_scope(project, conversation)
        where = Where("and", (Condition("tags", "contains", tag),)) if tag else None
        kinds = (kind,) if kind else ()
        page = self._engine.list(
            scope=scope,
            kinds=kinds,
            statuses=(status,),
            text=text,
            where=where,
            after=cursor,
            limit=min(limit, self._engine.settings.limits.results),
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
        first = self._scoped.get(id)
        second = self._scoped.get(other)
        if remove:
            was_linked = self._engine.links.unlink(first.id, second.id, scope=self._scoped.root)
            return outputs.MemoryLinkOutput(first.id, second.id, 0.0, was_linked)
        edge = self._engine.links.link(first.id, second.id, scope=self._scoped.root, weight=weight)
        return outputs.MemoryLinkOutput(edge.source, edge.target, edge.weight, True)

    def _add_tags(self, receipt: Receipt, tags: list[str], scope: Scope) -> None:
        if not tags or not receipt.id or receipt.outcome == "refused":
            return
        record = self._engine.get(receipt.id, scope=scope)
        all_tags = list(dict.fromkeys((*record.tags, *tags)))
        if all_tags != list(record.tags):
            self._engine.edit(record.id, scope=scope, fields={"tags": all_tags}, reason="labelled")


class EverydayTools(MemoryTools):
    """The few tools that most conversations need: each one's description costs every prompt."""

    tools = _EVERYDAY_TOOLS


def _to_turn(message: ChatMessageInput, index: int, session: str, key: str) -> Turn:
    return Turn(
        text=message["content"],
        role=message["role"],
        speaker=message.get("name", ""),
        at=parse_spoken_time(message.get("at", ""), "at"),
        session=session,
        external_id=f"{key}:{index}" if key else "",
    )


PROFILE = McpProfile(instructions=_INSTRUCTIONS, families=(EverydayTools,))
FULL_PROFILE = McpProfile(instructions=_INSTRUCTIONS, families=(MemoryTools, ForgetTools))
