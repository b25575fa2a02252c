"""Memory tool of Anthropic's API, over the files of a vault."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from engrams.core import Scope, ScopeInput, Status
from engrams.errors import EngramsError

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_ROOT = "/memories"


class MemoryFileCommands:
    """File commands of Anthropic's memory tool over one scope's files."""

    def __init__(self, engine: MemoryEngine, scope: ScopeInput) -> None:
        """Open the files. SettingsError: ``vault.enabled`` is off."""
        from engrams.admin import get_vault

        self._engine = engine
        self._scope = Scope.of(scope)
        self.files = get_vault(engine).tool(self._scope)

    def run(self, command: Any) -> str:
        """Run a file command of a model: view, create, replace, insert, delete.

        ToolError: it cannot be done; the model reads why.
        """
        parameters: Mapping[str, Any] = (
            command.to_dict() if hasattr(command, "to_dict") else command
        )
        try:
            return self.files.run(parameters)
        except EngramsError as problem:
            raise ToolError(f"{problem.message} {problem.hint}".strip()) from None

    def clear(self) -> str:
        """Erase every document and every memory of the scope, for good."""
        for path in list(self.files.root.iterdir()):
            self.files.run({"command": "delete", "path": f"{_ROOT}/{path.name}"})
        statuses = tuple(status for status in Status if status is not Status.PURGED)
        size = len(self._scope.labels)
        page = self._engine.list(scope=self._scope, statuses=statuses)
        while ids := [
            record.id for record in page.records if record.scope.labels[:size] == self._scope.labels
        ]:
            self._engine.purge(ids, scope=self._scope, git=self._engine.settings.vault.git)
            page = self._engine.list(scope=self._scope, statuses=statuses)
        return "All memory is erased."


class AnthropicMemoryTool(BetaAbstractMemoryTool):
    """Memory tool for ``client.beta.messages.tool_runner(tools=[…])``.

    Files that the model makes are documents, found by every search; below ``/memories/entries`` are
    the memories themselves, and changing their files changes them. What the model deletes can be
    restored (``engrams restore``).
    """

    def __init__(
        self, engine: MemoryEngine, scope: ScopeInput, *, cache_control: Any = None
    ) -> None:
        """Make the tool for one scope. SettingsError: ``vault.enabled`` is off."""
        super().__init__(cache_control=cache_control)
        self._commands = MemoryFileCommands(engine, scope)

    def view(self, command: Any) -> str:
        """Run any file command; every command's method is this one."""
        return self._commands.run(command)

    create = str_replace = insert = delete = rename = view

    def clear_all_memory(self) -> str:
        """Erase every document and every memory of the scope, for good."""
        return self._commands.clear()


class AsyncAnthropicMemoryTool(BetaAsyncAbstractMemoryTool):
    """Memory tool for ``AsyncAnthropic``; as ``AnthropicMemoryTool``."""

    def __init__(
        self, engine: MemoryEngine, scope: ScopeInput, *, cache_control: Any = None
    ) -> None:
        """Make the tool for one scope. SettingsError: ``vault.enabled`` is off."""
        super().__init__(cache_control=cache_control)
        self._commands = MemoryFileCommands(engine, scope)

    async def view(self, command: Any) -> str:
        """Run any file command; every command's method is this one."""
        return await asyncio.to_thread(self._commands.run, command)

    create = str_replace = insert = delete = rename = view

    async def clear_all_memory(self) -> str:
        """Erase every document and every memory of the scope, for good."""
        return await asyncio.to_thread(self._commands.clear)
