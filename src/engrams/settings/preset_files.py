"""Presets: the files ``presets/*.toml``, each a set of values of settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any

from engrams.errors import SettingsError
from engrams.settings.root import Settings

_VARIABLES = "environment"
"""Section of a preset with variables of the system that the preset imitates."""


def presets() -> tuple[str, ...]:
    """List the names of the presets that ship."""
    folder = resources.files("engrams") / "presets"
    return tuple(
        sorted(
            item.name.removesuffix(".toml")
            for item in folder.iterdir()
            if item.name.endswith(".toml")
        )
    )


def read_preset(name: str) -> dict[str, Any]:
    """Read the values of a preset, by dotted name. SettingsError: there is none of this name."""
    if name not in presets():
        raise SettingsError(
            f"There is no preset {name!r}.", hint=f"The presets are: {', '.join(presets())}."
        )
    sections = _read_file(name)
    sections.pop(_VARIABLES, None)
    return flatten(sections)


def read_foreign_variables(preset: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Read the environment variables of the system that a preset imitates, by dotted name.

    The preset lists them as ``NAME = ["setting", "other=value"]``: the variable's value is for the
    first setting, and the others go with it.
    """
    variables = _read_file(preset).get(_VARIABLES, {}) if preset in presets() else {}
    values: dict[str, Any] = {}
    for variable, (setting, *fixed_settings) in variables.items():
        if variable not in environ:
            continue
        value = environ[variable]
        # Such systems set the address of an endpoint, and engrams that of the server.
        values[setting] = value.partition("/api")[0] if setting.endswith(".url") else value
        values |= dict(fixed_setting.split("=", 1) for fixed_setting in fixed_settings)
    return values


def preset_cosines(settings: Settings) -> dict[str, float]:
    """Return the cosines that have their preset's value, by dotted name.

    A cosine of 0 switches a step off, and is left out.
    """
    cosines = {
        name: value
        for name, value in read_preset(settings.preset).items()
        if name.endswith("_cosine") or name == "read.min_scores.dense"
    }
    return {
        name: float(value)
        for name, value in cosines.items()
        if value and attrgetter(name)(settings) == value
    }


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file. SettingsError, which names it: it is no valid UTF-8 or TOML."""
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as problem:
        raise SettingsError(
            f"{file} is not UTF-8: byte {problem.start} is {file.read_bytes()[problem.start]:#04x}.",
            hint="Save the file as UTF-8, or move it aside.",
        ) from None
    return parse_toml(text, str(file))


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Parse TOML. SettingsError, which names ``file``: it is not valid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{file} is not valid TOML: {problem}.", hint="Correct the file or move it aside."
        ) from None


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested tables into values by dotted name."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _read_file(name: str) -> dict[str, Any]:
    file = resources.files("engrams") / "presets" / f"{name}.toml"
    return parse_toml(file.read_text("utf-8"), name)
