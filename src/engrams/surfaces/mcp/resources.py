"""Resources, the prompt, and completion of their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Completion, CompletionArgument

from engrams.core import Record
from engrams.errors import EngramsError, InputError, NotFoundError
from engrams.ports import Condition, Where
from engrams.surfaces.mcp import outputs
from engrams.surfaces.mcp.document_tools import to_document, to_passages
from engrams.surfaces.mcp.scoped_engine import ScopedEngine

_JSON = "application/json"
_MAX_VALUES = 100
"""Completions of one answer, as the protocol limits them."""
_MAX_MEMORIES = 100
"""Memories in one resource."""


class MemoryResources:
    """Memory as resources and as a prompt, with completion of arguments."""

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine

    def install(self, server: MCPServer[Any]) -> None:
        """Add the resources, the prompt and the completion."""
        server.resource(
            "memory://profile", name="profile", title="Profile", mime_type="text/plain"
        )(self.profile)
        server.resource("memory://status", name="status", title="Status", mime_type=_JSON)(
            self.status
        )
        server.resource("memory://documents", name="documents", title="Documents", mime_type=_JSON)(
            self.documents
        )
        server.resource(
            "memory://document/{document}",
            name="document",
            title="Passages of a document",
            mime_type=_JSON,
        )(self.document)
        server.resource(
            "memory://tag/{tag}", name="tag", title="Memories with a tag", mime_type=_JSON
        )(self.tagged)
        server.resource(
            "memory://topic/{topic}", name="topic", title="Memories of a topic", mime_type=_JSON
        )(self.of_topic)
        server.resource(
            "memory://project/{project}",
            name="project",
            title="Profile of a project",
            mime_type="text/plain",
        )(self.of_project)
        server.resource("memory://{id}", name="memory", title="Memory", mime_type=_JSON)(
            self.memory
        )
        server.prompt(
            name="recall",
            title="Recall",
            description="Put memories about a question before it.",
        )(self.recall)
        server.completion()(self.complete)  # type: ignore[no-untyped-call]

    def profile(self) -> str:
        """Return the stable profile of this person."""
        return self._engine.context(
            "", scope=self._scoped.root, checkout=self._scoped.checkout
        ).prefix

    def status(self) -> str:
        """Return counts of memories and of background jobs."""
        return json.dumps(asdict(outputs.to_status(self._scoped)), ensure_ascii=False)

    def memory(self, id: str) -> str:
        """Return one memory by its id."""
        try:
            return json.dumps(asdict(outputs.to_memory(self._scoped.get(id))), ensure_ascii=False)
        except (NotFoundError, InputError) as error:
            raise ResourceNotFoundError(f"{error.message} {error.hint}".strip()) from error

    def documents(self) -> str:
        """Return the documents of this person, newest first."""
        documents = self._engine.documents.list(self._scoped.root)[:_MAX_MEMORIES]
        return json.dumps([asdict(to_document(item)) for item in documents], ensure_ascii=False)

    def document(self, document: str) -> str:
        """Return the passages of a document, by its id or name."""
        try:
            passages = self._engine.documents.read(document, self._scoped.root)
        except (NotFoundError, InputError) as error:
            raise ResourceNotFoundError(f"{error.message} {error.hint}".strip()) from error
        outputs_of_passages = [asdict(item) for item in to_passages(passages)]
        return json.dumps(outputs_of_passages, ensure_ascii=False)

    def tagged(self, tag: str) -> str:
        """Return the newest memories with a tag."""
        where = Where("and", (Condition("tags", "contains", tag),))
        return _to_json(
            self._engine.list(scope=self._scoped.root, where=where, limit=_MAX_MEMORIES).records
        )

    def of_topic(self, topic: str) -> str:
        """Return the memories of a topic, named by its label."""
        members = [
            record
            for group in self._engine.topics.list(self._scoped.root)
            if group.topic.label == topic
            for record in group.members
        ]
        return _to_json(members[-_MAX_MEMORIES:])

    def of_project(self, project: str) -> str:
        """Return the profile of a project of this person."""
        try:
            return self._engine.context(
                "", scope=self._scoped.resolve_scope(project), checkout=self._scoped.checkout
            ).prefix
        except EngramsError as error:
            raise ResourceNotFoundError(f"{error.message} {error.hint}".strip()) from error

    def recall(self, question: str, project: str = "") -> str:
        """Put what is known, of a project too, before a question."""
        try:
            memory = self._engine.context(
                question, scope=self._scoped.resolve_scope(project), checkout=self._scoped.checkout
            ).text
        except EngramsError as error:
            raise ValueError(f"{error.message} {error.hint}".strip()) from error
        return f"{memory}\n\n{question}" if memory else question

    async def complete(
        self, _of: object, argument: CompletionArgument, _context: object
    ) -> Completion:
        """Complete an argument: values that begin with the typed text, then those that contain it."""
        values = await anyio.to_thread.run_sync(
            lambda: list(dict.fromkeys(self._find_values(argument.name, argument.value)))
        )
        typed = argument.value.strip().casefold()
        matches = [value for value in values if typed in value.casefold()]
        matches.sort(key=lambda value: not value.casefold().startswith(typed))
        return Completion(
            values=matches[:_MAX_VALUES],
            total=len(matches),
            has_more=len(matches) > _MAX_VALUES,
        )

    def _find_values(self, argument: str, typed: str) -> Iterable[str]:
        root = self._scoped.root
        match argument:
            case "id":
                page = self._engine.list(scope=root, prefix=typed.strip(), limit=_MAX_VALUES)
                return [record.id for record in page.records]
            case "document":
                return [item.name for item in self._engine.documents.list(root)]
            case "tag":
                return self._engine.links.tags(root)
            case "topic" | "question":
                return [group.topic.label for group in self._engine.topics.list(root)]
            case "project":
                return [
                    name
                    for scope in self._engine.scopes(root.owner)
                    if scope.labels[: len(root.labels)] == root.labels
                    for label, name in zip(scope.labels[::2], scope.labels[1::2], strict=False)
                    if label == "project"
                ]
            case _:
                return ()


def _to_json(records: Iterable[Record]) -> str:
    memories = [asdict(outputs.to_memory(record)) for record in records]
    return json.dumps(memories, ensure_ascii=False)
