"""Put our memory tool in the place of the one that keeps a folder, as its tests construct and look
at it.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as original
from anyio import Path as AsyncPath

import engrams
from engrams.adapters import AnthropicMemoryTool, AsyncAnthropicMemoryTool
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool


def open_memory(base_path: str) -> engrams.MemoryEngine:
    return engrams.open(
        home=base_path,
        jobs__workers=0,
        vault__enabled=True,
        vault__git=False,
        limits__text_bytes=10_000_000,
    )


def mirror(documents: Path) -> str:
    """Copy the documents to where the tests look: a folder ``memories`` in a folder."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(documents, folder / "memories", symlinks=True)
    return str(folder)


class CheckedFiles(MemoryFileCommandTool):
    """Files whose paths are resolved by a function that a test may replace."""

    __slots__ = ("check",)

    def _locate(self, path: str) -> Path:
        return Path(str(self.check(path)))


def check_by(files: MemoryFileCommandTool, check: Any) -> CheckedFiles:
    made = CheckedFiles(files.root, files.mounts, files.changed, files.clean)
    object.__setattr__(made, "check", check)
    return made


class LocalTool(AnthropicMemoryTool):
    def __init__(self, base_path: str) -> None:
        self.engine = open_memory(base_path)
        super().__init__(self.engine, ("user", "ann"))
        self.files = self._commands.files
        self._commands.files = check_by(self.files, lambda path: self._validate_path(path))

    @property
    def memory_root(self) -> Path:
        return self.files.root.resolve()

    @property
    def base_path(self) -> str:
        return mirror(self.files.root)

    def _validate_path(self, path: str) -> Path:
        return self.files._locate(path)


class AsyncLocalTool(AsyncAnthropicMemoryTool):
    def __init__(self, base_path: str) -> None:
        self.engine = open_memory(base_path)
        super().__init__(self.engine, ("user", "ann"))
        self.files = self._commands.files
        self._commands.files = check_by(
            self.files, lambda path: asyncio.run(self._validate_path(path))
        )

    @property
    def memory_root(self) -> AsyncPath:
        return AsyncPath(self.files.root.resolve())

    @property
    def base_path(self) -> str:
        return mirror(self.files.root)

    async def _validate_path(self, path: str) -> AsyncPath:
        return AsyncPath(self.files._locate(path))

    async def _ensure_memory_root(self) -> None:
        """Do nothing: the folder is there."""


original.BetaLocalFilesystemMemoryTool = LocalTool  # type: ignore[misc,assignment]
original.BetaAsyncLocalFilesystemMemoryTool = AsyncLocalTool  # type: ignore[misc,assignment]
