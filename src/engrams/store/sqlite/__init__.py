"""SQLite store: durable in one file, or in memory."""

from engrams.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
