"""Paths of the parts of a home that a backup holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class HomePaths:
    """Paths of the parts of a home, whether they exist or not; the settings name them."""

    database: Path
    """The memory's database."""
    vault: Path
    """The folder of the Markdown files."""
    state: Path
    """The database that tells the state of the files in the vault."""

    @property
    def seal_key(self) -> Path:
        """The key of the database's seals."""
        return self.database.with_name("seal.key")

    @property
    def attachments(self) -> Path:
        """The folder of the files that documents were made of."""
        return self.state.with_name("attachments")

    @classmethod
    def below(cls, folder: Path) -> HomePaths:
        """Return the paths of a home with everything in one folder."""
        return cls(folder / "memory.db", folder / "vault", folder / "vault.db")
