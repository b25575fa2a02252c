"""The conformance class holds for a store that subclasses it: here the one in memory."""

from __future__ import annotations

from pathlib import Path

from tests.store.conformance import StoreConformance

from engrams.ports import Clock, Store
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore


class TestStoreInMemory(StoreConformance):
    """SQLite without a file."""

    def open_store(self, _home: Path, clock: Clock) -> Store:
        return SqliteStore.open(":memory:", StoreSettings(), clock)
