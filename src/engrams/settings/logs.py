"""Settings of log lines, and of the audit, safety and feedback logs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrams.settings.section import SettingsSection


class LogSettings(SettingsSection):
    """Log lines that `serve`, `work` and `mcp` write to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="Write log lines of this level and above."
    )
    format: Literal["text", "json"] = Field(
        "text", description="Form of a log line: text, or a JSON object."
    )


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
