"""State that the steps of one import of files share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from engrams.core import Scope
from engrams.vault.dependencies import VaultDeps
from engrams.vault.files.changes import ChangedVaultFile, FileChangeCause
from engrams.vault.files.sync_report import VaultSyncReport
from engrams.vault.files.vault_paths import find_scope


@dataclass(slots=True)
class FileImportRun:
    """One import of changed files: its dependencies, cause and report."""

    deps: VaultDeps
    cause: FileChangeCause
    report: VaultSyncReport = field(default_factory=VaultSyncReport)
    _scopes: tuple[Scope, ...] = ()

    def add_problem(self, path: str, problem: str) -> None:
        """Report what is wrong with a file."""
        self.report.problems[path] = problem

    def list_scopes(self) -> Collection[Scope]:
        """List the scopes that memories or files have, read once."""
        if not self._scopes:
            file_scopes = (row.scope for row in self.deps.state.all_rows())
            self._scopes = tuple(sorted({*self.deps.store.scopes(None), *file_scopes}))
        return self._scopes

    def has_scope(self, file: ChangedVaultFile) -> bool:
        """Return True where a file or its folder says whose memory it is."""
        return (
            "scope" in file.content.fields
            or find_scope(file.location.scope, self.list_scopes()) is not None
        )

    def find_scope(self, file: ChangedVaultFile) -> Scope:
        """Find a file's scope, which it must have."""
        scope = file.content.fields.get("scope") or find_scope(
            file.location.scope, self.list_scopes()
        )
        assert isinstance(scope, Scope)
        return scope
