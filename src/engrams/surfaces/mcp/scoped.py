"""The engine held to one scope: whatever a model asks for, nothing outside of it is read or changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from engrams.clock import parse_time
from engrams.errors import EngramsError, InputError, NotFoundError, RefusedError
from engrams.types import Record, Scope

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ScopedEngine:
    """``root`` is fixed when the server starts. A call may go deeper, to a project or conversation, and nowhere else."""

    engine: MemoryEngine
    root: Scope

    def call_scope(self, project: str = "", conversation: str = "") -> Scope:
        """The scope of a call. RefusedError: the server is held to another project or conversation."""
        held = dict(zip(self.root.labels[::2], self.root.labels[1::2], strict=False))
        scope = self.root
        for label, name in (("project", project), ("conversation", conversation)):
            if not name:
                continue
            known = held.get(label)
            if known is not None and known != name:
                raise RefusedError(f"This server is held to one {label}.", hint=f"Leave {label} out.")
            if label == "project" and "conversation" in held:
                raise RefusedError("This server is held to one conversation.", hint="Leave project out.")
            if known is None:
                scope = scope.within(label, name)
        return scope

    def get(self, id: str) -> Record:
        """A memory by its id, where a read in ``root`` may see it."""
        try:
            record = self.engine.get(id.strip(), scope=self.root)
        except NotFoundError:
            record = None
        if record is None or not self.is_visible(record):
            raise NotFoundError(f"There is no memory {id!r} here.", hint="A search or a list gives ids.")
        return record

    def is_visible(self, record: Record) -> bool:
        """Above the root, at it or below it."""
        size = len(self.root.labels)
        return self.root.is_owner or record.scope in self.root.chain() or record.scope.labels[:size] == self.root.labels


def parse_moment(text: str, name: str) -> datetime | None:
    """A time that a model wrote; empty is none. InputError where it is no time."""
    if not text.strip():
        return None
    try:
        return parse_time(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(f"{name} is no time: {text!r}.", hint="Write 2024-05-31 or 2024-05-31T14:30:00+02:00.") from None


def with_tool_errors(call: Callable[P, R]) -> Callable[P, R]:
    """The call, its errors turned into what the model reads: the message, then what to do about it."""

    @wraps(call)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except EngramsError as fault:
            raise ToolError(f"{fault.message} {fault.hint}".strip()) from fault

    return wrapped
