"""Tool profile ``actions``: one plain verb per tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from engrams.core import Kind, Scope, Turn
from engrams.engine.memory_labels import MemoryLabels, add_labels
from engrams.errors import InputError
from engrams.ports import Condition, Where
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import (
    CHANGES,
    ERASES,
    READS,
    WRITES,
    ScopedEngine,
)

_MAX_LIMIT = 500
_TOOLS = {
    "remember": WRITES,
    "recall": READS,
    "search": READS,
    "list": READS,
    "forget": ERASES,
    "link": WRITES,
    "tag": CHANGES,
    "related": READS,
    "used": CHANGES,
}

_KINDS = ("note", "fact", "preference", "correction", "procedure", "rule", "negative")
"""Categories that are kinds of their own."""
Relation = Literal["relates_to", "supersedes", "contradicts", "derived_from"]
Id = Annotated[
    str, Field(description="The memory's id, or at least its first six characters.", min_length=1)
]
Query = Annotated[str, Field(description="What to look for, in your own words.")]
Limit = Annotated[int, Field(ge=1, le=_MAX_LIMIT)]
Ids = Annotated[list[str], Field(min_length=1, description="Ids of recalled memories.")]
Labels = Annotated[list[str], Field(min_length=1, description="Tags.")]


@dataclass(frozen=True)
class MemoryListOutput:
    memories: list[outputs.MemoryOutput]


class PlainVerbTools:
    """MCP tools remember, recall, search, list, forget, link, tag, related."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine

    @property
    def _links(self) -> Any:
        return self._engine.links

    def remember(  # noqa: PLR0913 - arguments of a tool
        self,
        content: Annotated[
            str,
            Field(
                description="What to remember, in a sentence that stands on its own.", min_length=1
            ),
        ],
        category: Annotated[
            str,
            Field(
                description=(
                    "What it is: note, fact, preference, correction, procedure, rule or negative;"
                    " entity, or a category of your own, is a fact."
                ),
                min_length=1,
                max_length=100,
            ),
        ] = "note",
        tags: Annotated[list[str] | None, Field(description="Tags to find it by.")] = None,
        scope: Annotated[
            Literal["", "global", "project"],
            Field(
                description="global: it counts everywhere. project: only in a project. Empty: where you are."
            ),
        ] = "",
        project: Annotated[str, Field(description="The project's name, for scope project.")] = "",
        triggers: Annotated[
            list[str] | None,
            Field(description="Phrases that bring up this rule, negative or procedure."),
        ] = None,
        steps: Annotated[list[str] | None, Field(description="Steps of a procedure.")] = None,
        prerequisites: Annotated[
            list[str] | None, Field(description="What must be so before it begins.")
        ] = None,
        warnings: Annotated[list[str] | None, Field(description="Its warnings.")] = None,
    ) -> outputs.WriteReceiptOutput:
        """Remember something. Saying it twice stores it once."""
        labels = MemoryLabels(
            triggers=tuple(triggers or ()),
            steps=tuple(steps or ()),
            prerequisites=tuple(prerequisites or ()),
            warnings=tuple(warnings or ()),
            category="" if category in _KINDS else category,
        )
        self._engine.check_storable(*labels.list_texts(), *(tags or ()))
        receipt = self._engine.add(
            Turn(content, role="assistant"),
            scope=self._find_scope(scope, project),
            kind=Kind(category) if category in _KINDS else Kind.FACT,
            checkout=self._scoped.checkout,
        )
        add_labels(self._engine, receipt, labels)
        if tags and receipt.id:
            self._links.tag(receipt.id, tags, scope=self._scoped.root)
        return outputs.to_write(receipt)

    def _find_scope(self, scope: str, project: str) -> Scope:
        """Find the scope of a memory.

        InputError: a project without a name. RefusedError: it is outside the server's own.
        """
        if scope == "global" and project:
            raise InputError(
                "A global memory belongs to no project.",
                hint="Leave project out, or give scope project.",
            )
        return self._scoped.write_scope("person" if scope == "global" else scope, project)

    def recall(
        self,
        query: Query = "",
        mode: Annotated[
            Literal["recent", "semantic", "cascade"] | None,
            Field(
                description=(
                    "recent: the newest; semantic: what a search finds; cascade: also what links"
                    " lead to."
                )
            ),
        ] = None,
        limit: Limit = 10,
    ) -> outputs.SearchOutput:
        """Recall by question and links; without one the newest memories."""
        recalled = self._links.recall(query, scope=self._scoped.root, mode=mode, limit=limit)
        return outputs.to_related(recalled)

    def search(self, query: Query, limit: Limit = 10) -> outputs.SearchOutput:
        """Find memories that answer a question, best first."""
        result = self._engine.search(
            query, scope=self._scoped.root, limit=limit, checkout=self._scoped.checkout
        )
        return outputs.to_search(result)

    def list(
        self, tag: Annotated[str, Field(description="Only with this tag.")] = "", limit: Limit = 10
    ) -> MemoryListOutput:
        """List memories, newest first."""
        where = Where("and", (Condition("tags", "contains", tag),)) if tag else None
        page = self._engine.list(
            scope=self._scoped.root,
            where=where,
            limit=min(limit, self._engine.settings.limits.results),
        )
        return MemoryListOutput([outputs.to_memory(record) for record in page.records])

    def forget(self, id: Id) -> outputs.ChangedMemoryOutput:
        """Forget a memory and the messages that said only it."""
        record = self._scoped.get(id)
        report = self._engine.preview([record.id], "forget", self._scoped.root)
        return outputs.to_changed(self._engine.forget(record.id, scope=self._scoped.root), report)

    def link(
        self,
        id: Id,
        other: Id,
        weight: Annotated[float, Field(ge=0, le=1, description="How strongly.")] = 0.5,
        relation: Annotated[
            Relation, Field(description="supersedes: the first takes the other's place.")
        ] = "relates_to",
    ) -> outputs.MemoryLinkOutput:
        """Link two memories, so that finding one leads to the other."""
        source = self._scoped.get(id)
        target = self._scoped.get(other)
        edge = self._links.link(
            source.id, target.id, scope=self._scoped.root, type=relation, weight=weight
        )
        return outputs.MemoryLinkOutput(edge.source, edge.target, edge.weight, True)

    def tag(
        self,
        id: Id,
        tags: Labels,
        remove: Annotated[bool, Field(description="Take them off instead.")] = False,
    ) -> outputs.MemoryOutput:
        """Tag a memory, or take tags off it."""
        record = self._scoped.get(id)
        change_tags = self._links.untag if remove else self._links.tag
        return outputs.to_memory(change_tags(record.id, tags, scope=self._scoped.root))

    def related(
        self,
        id: Id,
        depth: Annotated[int, Field(ge=1, le=5, description="Links to follow.")] = 2,
        limit: Limit = 10,
    ) -> outputs.SearchOutput:
        """List memories linked to one, nearest first."""
        start = self._scoped.get(id)
        return outputs.to_related(
            self._links.related(start.id, scope=self._scoped.root, depth=depth, limit=limit)
        )

    def used(
        self,
        ids: Ids,
        helpful: Annotated[bool, Field(description="False: they were beside the point.")] = True,
    ) -> MemoryListOutput:
        """Report recalled memories that you used, and whether they helped."""
        full_ids = [self._scoped.get(id).id for id in ids]
        self._engine.used(full_ids, scope=self._scoped.root, helpful=helpful)
        return MemoryListOutput(
            [outputs.to_memory(self._scoped.get(record_id)) for record_id in full_ids]
        )


PROFILE = McpProfile(
    instructions=(
        "Long-term memory of one person: remember what will matter later, recall before you answer."
    ),
    families=(PlainVerbTools,),
)
