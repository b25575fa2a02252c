"""Catalogue of the settings: name, default, range and meaning of each.

The reference page, the command ``config`` and errors about settings are made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from engrams.frozen_data import dataclass
from engrams.settings.preset_files import presets, read_preset
from engrams.settings.root import Settings


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting."""

    name: str
    """Dotted name."""
    default: Any
    text: str
    """Its meaning."""
    secret: bool
    """True: it is never shown."""
    range: str
    """Its choices or bounds, for people."""
    presets: Mapping[str, Any]
    """Preset -> value that the preset gives it."""


def describe() -> tuple[SettingInfo, ...]:
    """Describe every setting, in the order of the settings object."""
    preset_values = {name: read_preset(name) for name in presets()}
    return tuple(
        SettingInfo(
            name=name,
            default=info.default,
            text=info.description or "",
            secret=_is_secret(info),
            range=_describe_range(info),
            presets={
                preset: values[name] for preset, values in preset_values.items() if name in values
            },
        )
        for name, info in _iter_fields(Settings, "")
    )


@cache
def names() -> Mapping[str, Any]:
    """Return the dotted name of every setting -> its default."""
    return MappingProxyType({name: info.default for name, info in _iter_fields(Settings, "")})


@cache
def secret_names() -> frozenset[str]:
    """Return the dotted names of the settings that are never shown."""
    return frozenset(name for name, info in _iter_fields(Settings, "") if _is_secret(info))


def suggest(name: str, candidates: Sequence[str]) -> str:
    """Build a "did you mean" for an unknown name; empty where no candidate is close."""
    matches = get_close_matches(name, candidates, 3)
    return f"Did you mean {' or '.join(matches)}?" if matches else ""


def _iter_fields(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    """Yield each setting below a section, with its dotted name."""
    for name, info in section.model_fields.items():
        if isinstance(info.default, BaseModel):
            yield from _iter_fields(type(info.default), f"{prefix}{name}.")
        else:
            yield prefix + name, info


def _is_secret(info: FieldInfo) -> bool:
    return isinstance(info.json_schema_extra, dict) and bool(info.json_schema_extra.get("secret"))


def _describe_range(info: FieldInfo) -> str:
    """Describe the choices or the bounds of a setting."""
    annotations = [info.annotation, *get_args(info.annotation)]
    for annotation in annotations:
        if get_origin(annotation) is Literal:
            extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
            return ", ".join((*get_args(annotation), *str(extra.get("also", "")).split()))
    if bool in annotations:
        return "true, false"
    bounds = {
        name: getattr(constraint, name)
        for constraint in info.metadata
        for name in ("ge", "gt", "le", "lt")
        if getattr(constraint, name, None) is not None
    }
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(f"{sign} {bounds[name]:g}" for name, sign in signs.items() if name in bounds)
