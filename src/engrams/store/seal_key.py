"""The key of a home's seals, in a file of its own: ``seal.key`` beside the database."""

from __future__ import annotations

from pathlib import Path

from engrams.encryption.seal_keys import KEY_NAME, read_key
from engrams.settings import StoreSettings
from engrams.store.sql.row_seals import RowSeals


def find_key_file(settings: StoreSettings, database: Path | None) -> Path | None:
    """Find the file of the key: that of the setting, or the one beside the database."""
    if settings.seal_key:
        return Path(settings.seal_key).expanduser()
    return None if database is None else database.with_name(KEY_NAME)


def load_seals(settings: StoreSettings, database: Path | None = None) -> RowSeals:
    """Load the seals of a store; without a key where it has none."""
    key_file = find_key_file(settings, database)
    key = read_key(key_file) if key_file else b""
    return RowSeals(key, refuses=settings.altered == "refuse")
