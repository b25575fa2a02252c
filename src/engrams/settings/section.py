"""Base class of the sections of the settings."""

from __future__ import annotations

from types import NoneType
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, model_validator

Share: TypeAlias = float
"""A number from 0 to 1."""
_NUMBERS = {int, float}


class SettingsSection(BaseModel):
    """A frozen group of settings that refuses unknown names.

    An empty text means None where a setting may be None: neither TOML nor a variable can say it.
    True and false are no numbers, although Python counts them as 1 and 0.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _prepare_values(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: cls._prepare_value(name, value) for name, value in values.items()}

    @classmethod
    def _prepare_value(cls, name: str, value: Any) -> Any:
        """Return None for an empty text that is no value itself, and a text for a truth value
        where a number is due, which no number is read from.
        """
        if value != "" and not isinstance(value, bool):
            return value
        field = cls.model_fields.get(name)
        types = (field.annotation, *get_args(field.annotation)) if field is not None else ()
        if value == "":
            return None if NoneType in types and str not in types else value
        return str(value) if _NUMBERS & set(types) and bool not in types else value
