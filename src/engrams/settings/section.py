"""Base class of the sections of the settings."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

Share: TypeAlias = float
"""A number from 0 to 1."""


class SettingsSection(BaseModel):
    """A frozen group of settings that refuses unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
