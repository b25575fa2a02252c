"""Settings of the safety log."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import Section


class SafetySettings(Section):
    """Crises that were noticed; always on, and apart from memory."""

    days: int = Field(90, ge=1, le=36_500, description="Days its records are kept (004).")
