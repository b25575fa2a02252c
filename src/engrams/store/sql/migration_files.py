"""Numbered steps of a schema, from SQL files."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class SchemaMigration:
    """Step of the schema."""

    number: int
    """The database's ``user_version`` after the step."""
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.blake2b(self.script.encode(), digest_size=16).hexdigest()


@cache
def load_migrations(package: str) -> tuple[SchemaMigration, ...]:
    """Load all migrations of a store in order."""
    folder = resources.files(package) / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return tuple(
        SchemaMigration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8"))
        for file in files
    )
