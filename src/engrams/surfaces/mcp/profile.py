"""Profile: the tools under the names that one kind of client knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MethodType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp.server.mcpserver.tools.base import Tool
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


def list_tools(family: ToolFamily) -> list[Tool]:
    """List the tools of a family, each bound to the family's memory."""
    from engrams.surfaces.mcp.scoped_engine import as_tool

    return [
        _describe_tool(type(family), name).model_copy(
            update={"fn": as_tool(getattr(family, name)), "annotations": hints}
        )
        for name, hints in family.tools.items()
    ]


@cache
def _describe_tool(family: type[ToolFamily], name: str) -> Tool:
    """Read parameters and schemas of a tool.

    They are the same for every memory, and take longer than all else that makes a server.
    """
    from mcp.server.mcpserver.tools.base import Tool

    from engrams.surfaces.mcp.scoped_engine import as_tool

    method = MethodType(getattr(family, name), object())
    return Tool.from_function(as_tool(method), structured_output=True)
