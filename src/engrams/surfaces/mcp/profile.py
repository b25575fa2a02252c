"""Profile: the tools under the names that one kind of client knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    from engrams.surfaces.mcp.scoped_engine import ScopedEngine


class ToolFamily(Protocol):
    """Tools over one engine and scope: methods, whose docstrings the model reads."""

    @property
    def tools(self) -> Mapping[str, ToolAnnotations]:
        """Names of the methods that are tools, with the kind of each."""
        ...


@dataclass(frozen=True, slots=True)
class McpProfile:
    """Tools that a server offers, and how it introduces itself to the model."""

    instructions: str
    """Text that clients put into the model's prompt: when to use these tools."""

    families: tuple[Callable[[ScopedEngine], ToolFamily], ...]
    """Classes of the tools."""


def add_tools(server: MCPServer[Any], family: ToolFamily) -> None:
    """Add the tools of a family to a server."""
    from engrams.surfaces.mcp.scoped_engine import as_tool

    for name, hints in family.tools.items():
        tool = as_tool(getattr(family, name))
        server.add_tool(tool, annotations=hints, structured_output=True)
