"""Profile: the tools under the names that one kind of client knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from engrams.surfaces.mcp.scoped_engine import ScopedEngine


class ToolFamily(Protocol):
    """Tools over one engine and scope."""

    def install(self, server: MCPServer[Any]) -> None:
        """Add the tools to a server."""
        ...


@dataclass(frozen=True, slots=True)
class McpProfile:
    """Tools that a server offers, and how it introduces itself to the model."""

    instructions: str
    """Text that clients put into the model's prompt: when to use these tools."""

    families: tuple[Callable[[ScopedEngine], ToolFamily], ...]
    """Classes of the tools."""
