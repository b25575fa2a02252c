"""Settings of the feedback on sessions."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import Section


class FeedbackSettings(Section):
    """What people thought of their sessions; always on, and apart from memory, which never changes for it."""

    days: int = Field(180, ge=1, le=36_500, description="Days its records are kept (004).")
