"""Settings of skills."""

from __future__ import annotations

from pydantic import Field

from engrams.settings.section import Section


class SkillSettings(Section):
    """Knowledge in files of others' making, which is found beside memories and never stored."""

    folder: str = Field("", description="The folder of skills, each in NAME/SKILL.md. Empty: there are none.")
