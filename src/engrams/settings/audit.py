"""Settings of the audit log."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import Section


class AuditSettings(Section):
    """Who did what on the server; always on, and apart from memory: nothing that reads or writes memory sees it."""

    days: int = Field(14, ge=1, description="Days its files are kept (003).")
    reads: bool = Field(True, description="Also note who searched and read, not only who changed.")
