"""Engine bound to one scope, and the parts that all tools share: kinds of tools, times, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import TypeAdapter

from engrams.core import Record, Scope, to_conversation_name
from engrams.core.clock import parse_time
from engrams.errors import EngramsError, InputError, NotFoundError, RefusedError

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

P = ParamSpec("P")


READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
ERASES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
"""Kinds of tools, as clients show them: reads, adds, changes what is there, puts it away."""


@dataclass(frozen=True, slots=True)
class ScopedEngine:
    """Engine limited to one root scope, for MCP tools.

    A call may go deeper, to a project or conversation, and nowhere else.
    """

    engine: MemoryEngine
    root: Scope
    """Scope that no call leaves."""
    checkout: Path | None = None
    """Folder of the project's code, with which memories are compared; None: it is unknown."""

    def resolve_scope(self, project: str = "", conversation: str = "") -> Scope:
        """Return the scope that a call names: the root, or the project or conversation below it.

        RefusedError: the server is bound to another project or conversation.
        """
        # Labels are a flat list: name, value, name, value.
        root_labels = dict(zip(self.root.labels[::2], self.root.labels[1::2], strict=False))
        scope = self.root
        for label, name in (
            ("project", project),
            ("conversation", to_conversation_name(conversation)),
        ):
            if not name:
                continue
            bound_name = root_labels.get(label)
            if bound_name is not None and bound_name != name:
                raise RefusedError(
                    f"This server is limited to one {label}.", hint=f"Leave {label} out."
                )
            if label == "project" and "conversation" in root_labels:
                raise RefusedError(
                    "This server is limited to one conversation.", hint="Leave project out."
                )
            if bound_name is None:
                scope = scope.within(label, name)
        return scope

    def write_scope(self, kind: str, project: str = "", conversation: str = "") -> Scope:
        """Return the scope of a new memory: ``person``, ``project``, or the call's own if empty.

        A server that is limited to a project reads its person's memory, and may add to it.
        InputError: no project is known. RefusedError: the server is limited to a conversation.
        """
        labels = dict(zip(self.root.labels[::2], self.root.labels[1::2], strict=False))
        if kind == "person":
            if project or conversation:
                raise InputError(
                    "What is about the person belongs to no project or conversation.",
                    hint="Leave project and conversation out.",
                )
            if "conversation" in labels:
                raise RefusedError(
                    "This server is limited to one conversation.", hint="Leave scope out."
                )
            return self._above_project()
        if kind == "project" and not project and "project" not in labels:
            raise InputError(
                "The project is missing.",
                hint="Give its name as project. This server is limited to no project.",
            )
        return self.resolve_scope(project, conversation)

    def _above_project(self) -> Scope:
        """Return the part of the root above the project that the server is limited to."""
        labels = self.root.labels
        names = labels[::2]
        return Scope(labels[: 2 * names.index("project")]) if "project" in names else self.root

    def get(self, id: str) -> Record:
        """Get a memory by its id if it is visible in ``root``."""
        try:
            record = self.engine.get(id.strip(), scope=self.root)
        except NotFoundError:
            record = None
        if record is None or not self.is_visible(record):
            raise NotFoundError(
                f"There is no memory {id!r} here.", hint="A search or a list gives ids."
            )
        return record

    def find(self, id: str) -> Record:
        """Get a memory as ``get`` does, or one of a space, which the searches include."""
        try:
            return self.get(id)
        except NotFoundError:
            for space in self.engine.spaces.list(scope=self.root):
                with suppress(NotFoundError):
                    return self.engine.get(id.strip(), scope=space.scope)
            raise

    def is_visible(self, record: Record) -> bool:
        """Check that the record is above, at or below the root."""
        size = len(self.root.labels)
        return (
            self.root.is_owner
            or record.scope in self.root.chain()
            or record.scope.labels[:size] == self.root.labels
        )


def parse_moment(text: str, argument: str) -> datetime | None:
    """Parse a time that a model wrote, to UTC; None if empty. InputError: it is none."""
    moment = parse_spoken_time(text, argument)
    return None if moment is None else moment.astimezone(UTC)


def parse_spoken_time(text: str, argument: str) -> datetime | None:
    """Parse when something was said, in its own zone; None if empty. InputError: it is none."""
    if not text.strip():
        return None
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise InputError(
            f"{argument} is not a time: {text!r}.",
            hint="Write 2024-05-31 or 2024-05-31T14:30:00+02:00.",
        ) from None


def as_tool(call: Callable[P, Any]) -> Callable[P, CallToolResult]:
    """Wrap a tool: its answer costs few tokens, and errors reach the model with hints."""

    @wraps(call)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            output = call(*args, **kwargs)
        except EngramsError as error:
            raise ToolError(f"{error.message} {error.hint}".strip()) from error
        return _to_brief_result(output)

    wrapped.__doc__ = " ".join((call.__doc__ or "").split())  # the tool's description, on one line
    return wrapped


def _to_brief_result(output: Any) -> CallToolResult:
    """Convert an answer without the fields that have their default, and without spaces."""
    data = _load_adapter(output.__class__).dump_python(output, mode="json", exclude_defaults=True)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


@cache
def _load_adapter(output_type: type) -> TypeAdapter[Any]:
    return TypeAdapter(output_type)
