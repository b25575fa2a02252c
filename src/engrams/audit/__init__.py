"""Who did what: a log that is always on and that no prompt ever reads. Nothing here knows how memory is read or written."""

from __future__ import annotations

from pathlib import Path

from engrams.audit.log import AuditLog as AuditLog
from engrams.audit.log import Entry as Entry
from engrams.ports import Clock
from engrams.settings import Settings


def open_log(settings: Settings, clock: Clock) -> AuditLog:
    """The log of a home; in this process's memory only where memory is."""
    bare = settings.incognito or (settings.store.url == ":memory:")
    folder: Path | None = None if bare else settings.home.expanduser() / "audit"
    return AuditLog(folder, clock, settings.audit.days)
