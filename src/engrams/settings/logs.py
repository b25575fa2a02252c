"""Settings of the audit, safety and feedback logs."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import SettingsSection


class AuditSettings(SettingsSection):
    """The audit log of the server.

    Always on, and read by no part of memory.
    """

    days: int = Field(14, ge=1, description="Days to keep its files.")
    reads: bool = Field(True, description="Also record searches and reads, not only changes.")


class CrisisLogSettings(SettingsSection):
    """The log of crises; always on, and apart from memory."""

    days: int = Field(90, ge=1, le=36_500, description="Days to keep its records.")


class FeedbackSettings(SettingsSection):
    """Feedback on sessions.

    Always on, and apart from memory, which never changes for it.
    """

    days: int = Field(180, ge=1, le=36_500, description="Days to keep its records.")
