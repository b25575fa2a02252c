"""Base class of the sections of the settings."""

from __future__ import annotations

from types import NoneType
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, model_validator

Share: TypeAlias = float
"""A number from 0 to 1."""


class SettingsSection(BaseModel):
    """A frozen group of settings that refuses unknown names.

    An empty text means None where a setting may be None: neither TOML nor a variable can say it.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _read_empty(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {
            name: None if value == "" and cls._may_be_none(name) else value
            for name, value in values.items()
        }

    @classmethod
    def _may_be_none(cls, name: str) -> bool:
        """True for a setting that takes None, and for which an empty text is no value itself."""
        field = cls.model_fields.get(name)
        types = get_args(field.annotation) if field is not None else ()
        return NoneType in types and str not in types
