"""Counts of a synchronisation between files and memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from engrams.core import Scope


@dataclass(slots=True)
class VaultSyncReport:
    """Effects of a synchronisation on memories, and the files that it left alone."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    forgotten: int = 0
    restored: int = 0
    conflicts: int = 0
    """Memories that were changed by hand and otherwise at once."""
    written: int = 0
    """Files that were written."""
    gone: int = 0
    """Missing files whose memories were left alone, because too many are missing at once."""
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong with a file, by its path."""
    renamed: list[tuple[Scope, str]] = field(default_factory=list)
    """Owner and id of the memories whose files were moved."""

    def __add__(self, later: VaultSyncReport) -> VaultSyncReport:
        """Add the counts; take problems and missing files from the later report."""
        names = ("added", "changed", "moved", "forgotten", "restored", "conflicts", "written")
        counts = {name: getattr(self, name) + getattr(later, name) for name in names}
        return VaultSyncReport(
            **counts,
            gone=later.gone,
            problems=later.problems,
            renamed=[*self.renamed, *later.renamed],
        )

    @property
    def total(self) -> int:
        """Number of memories that changed."""
        return self.added + self.changed + self.moved + self.forgotten + self.restored
