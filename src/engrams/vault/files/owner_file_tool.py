"""Make the file commands of a model work on an owner's documents and memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engrams.core import Kind, Record, Scope
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.folder_access import make_private
from engrams.vault.files.memory_file_commands import MemoryFileCommandTool
from engrams.vault.files.vault_paths import DOCUMENTS, ENTRIES, scope_folder


def make_file_tool(
    deps: VaultDeps, owner: Scope, pull_changes: Callable[[Sequence[str]], object]
) -> MemoryFileCommandTool:
    """Make the file commands over an owner's documents, with the memories in ``entries``.

    ``pull_changes``: takes the changes of files, by their paths in the vault, into memory.
    """
    root = deps.disk.root
    owner_folder = scope_folder(owner)
    with deps.lock:
        deps.make_folder()
        make_private(root / DOCUMENTS / owner_folder)

    def take_edits(files: Sequence[Path]) -> None:
        paths = [file.resolve().relative_to(root.resolve()).as_posix() for file in files]
        note = {"does": "edit", "actor": "agent", "why": "edited by an agent"}
        deps.state.touch((path, note) for path in paths)
        pull_changes(paths)

    return MemoryFileCommandTool(
        root / DOCUMENTS / owner_folder,
        {ENTRIES: root / ENTRIES / owner_folder},
        on_change=take_edits,
        clean_text=lambda text: _remove_secrets(deps, text),
    )


def _remove_secrets(deps: VaultDeps, text: str) -> str:
    """Remove secrets, by the rules for everything that is stored."""
    if not text.strip():
        return text
    unstored = Record(
        id="-", scope=Scope(("-",)), kind=Kind.NOTE, text=text, recorded_at=deps.clock()
    )
    fields, _ = deps.callbacks.prepare(unstored, {"text": text})
    # The blanks at both ends stay where nothing was removed.
    return text if fields["text"] == text.strip() else str(fields["text"])
