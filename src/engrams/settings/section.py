"""What every section of the settings is."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

Share: TypeAlias = float
"""A number from 0 to 1."""


class Section(BaseModel):
    """Settings that belong together: frozen, and nothing unknown in them."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
