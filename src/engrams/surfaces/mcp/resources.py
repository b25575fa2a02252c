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
from engrams.surfaces.mcp.scoped_engine import ScopedEngine

_JSON = "application/json"
_MOST = 100
"""Most completions of one answer, as the protocol has it, and most memories in a resource."""


class MemoryResources:
    """Memory as resources and as a prompt, with completion of arguments."""

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound
        self._engine = bound.engine

    def install(self, server: MCPServer[Any]) -> None:
        """Add the resources, the prompt and the completion."""
        server.resource(
            "memory://profile", name="profile", title="Profile", mime_type="text/plain"
        )(self.profile)
        server.resource("memory://status", name="status", title="Status", mime_type=_JSON)(
            self.status
        )
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
            description="Put what is known about a question before it.",
        )(self.recall)
        server.completion()(self.complete)  # type: ignore[no-untyped-call]

    def profile(self) -> str:
        """Return the stable profile of this person."""
        return self._engine.context("", scope=self._bound.root).prefix

    def status(self) -> str:
        """Return counts of memories and of background jobs."""
        return json.dumps(asdict(outputs.to_status(self._bound)), ensure_ascii=False)

    def memory(self, id: str) -> str:
        """Return one memory by its id."""
        try:
            return json.dumps(asdict(outputs.to_memory(self._bound.get(id))), ensure_ascii=False)
        except (NotFoundError, InputError) as fault:
            raise ResourceNotFoundError(f"{fault.message} {fault.hint}".strip()) from fault

    def tagged(self, tag: str) -> str:
        """Return the newest memories with a tag."""
        where = Where("and", (Condition("tags", "contains", tag),))
        return _to_json(self._engine.list(scope=self._bound.root, where=where, limit=_MOST).records)

    def of_topic(self, topic: str) -> str:
        """Return the memories of a topic, named by its label."""
        groups = [
            each for each in self._engine.topics.list(self._bound.root) if each.topic.label == topic
        ]
        return _to_json([one for group in groups for one in group.members][-_MOST:])

    def of_project(self, project: str) -> str:
        """Return the profile of a project of this person."""
        try:
            return self._engine.context("", scope=self._bound.call_scope(project)).prefix
        except EngramsError as fault:
            raise ResourceNotFoundError(f"{fault.message} {fault.hint}".strip()) from fault

    def recall(self, question: str, project: str = "") -> str:
        """Put what is known, of a project too, before a question."""
        try:
            known = self._engine.context(question, scope=self._bound.call_scope(project)).text
        except EngramsError as fault:
            raise ValueError(f"{fault.message} {fault.hint}".strip()) from fault
        return f"{known}\n\n{question}" if known else question

    async def complete(
        self, _of: object, argument: CompletionArgument, _context: object
    ) -> Completion:
        """Complete an argument: what begins with the value, then what holds it."""
        known = await anyio.to_thread.run_sync(
            lambda: list(dict.fromkeys(self._find_values(argument.name, argument.value)))
        )
        begun = argument.value.strip().casefold()
        fitting = [one for one in known if begun in one.casefold()]
        fitting.sort(key=lambda one: not one.casefold().startswith(begun))
        return Completion(values=fitting[:_MOST], total=len(fitting), has_more=len(fitting) > _MOST)

    def _find_values(self, argument: str, begun: str) -> Iterable[str]:
        root = self._bound.root
        match argument:
            case "id":
                return [
                    one.id
                    for one in self._engine.list(
                        scope=root, prefix=begun.strip(), limit=_MOST
                    ).records
                ]
            case "tag":
                return self._engine.links.tags(root)
            case "topic" | "question":
                return [group.topic.label for group in self._engine.topics.list(root)]
            case "project":
                scopes = [
                    one.labels
                    for one in self._engine.scopes(root.owner)
                    if one.labels[: len(root.labels)] == root.labels
                ]
                pairs = [
                    pair
                    for labels in scopes
                    for pair in zip(labels[::2], labels[1::2], strict=False)
                ]
                return [name for label, name in pairs if label == "project"]
            case _:
                return ()


def _to_json(records: Iterable[Record]) -> str:
    return json.dumps([asdict(outputs.to_memory(one)) for one in records], ensure_ascii=False)
