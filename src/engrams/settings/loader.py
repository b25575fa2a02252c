"""``load``: settings from presets, ``config.toml``, environment variables and arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engrams.errors import SettingsError
from engrams.frozen_data import dataclass
from engrams.settings.catalogue import describe, names, suggest
from engrams.settings.preset_files import (
    flatten,
    read_foreign_variables,
    read_preset,
    read_toml,
)
from engrams.settings.renamed import list_renamed, renamed_settings, use_new_names
from engrams.settings.root import Settings, find_login, in_test_mode

_PASSPHRASES = (
    "ENGRAMS_PASSPHRASE",
    "ENGRAMS_NEW_PASSPHRASE",
    "ENGRAMS_SYNC_CODE",
    "ENGRAMS_SYNC_PASSWORD",
    "ENGRAMS_MAIL_PASSWORD",
)
"""Variables that are no settings: a passphrase or code belongs to no file."""

_SILENT_MODES = ("incognito", "guest")
"""Values of ``sessions.mode`` that switch incognito on for everything."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and where their values came from."""

    settings: Settings
    origin: Mapping[str, str] = field(default_factory=dict)
    """Dotted name -> layer: a preset, a file, environment or argument. Others have defaults."""
    renamed: tuple[str, ...] = ()
    """Names of an earlier version in the home's file, as "vault.on is now vault.enabled"."""


def load(
    arguments: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> LoadedSettings:
    """Load settings from presets, files, variables and arguments.

    ``arguments``: dotted names to values, strongest. SettingsError names the wrong one.
    """
    environ = os.environ if environ is None else environ
    overrides = use_new_names(
        {name: value for name, value in (arguments or {}).items() if value is not None}
    )
    from_variables = _read_variables(environ)
    home = Path(
        str(overrides.get("home") or from_variables.get("home") or "~/.engrams")
    ).expanduser()
    file = home / "config.toml"
    file_values = flatten(read_toml(file)) if file.is_file() else {}
    from_file = use_new_names(file_values)
    preset = str(
        overrides.get("preset")
        or from_variables.get("preset")
        or from_file.get("preset")
        or "default"
    )
    layers = [
        (f"preset {preset}", read_preset(preset)),
        (str(file), from_file),
        ("environment", {**read_foreign_variables(preset, environ), **from_variables}),
        ("argument", overrides),
    ]
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, layer in layers:
        values.update(layer)
        origin.update(dict.fromkeys(layer, name))
    values["home"] = home
    values["preset"] = preset
    if values.get("sessions.mode") in _SILENT_MODES:
        values |= {"sessions.mode": "incognito", "incognito": True}
    try:
        settings = Settings.model_validate(_nest(values), context={"login": find_login(environ)})
    except ValidationError as problem:
        raise _explain(problem, origin) from None
    return LoadedSettings(in_test_mode(settings), origin, list_renamed(file_values))


def _read_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read the ``ENGRAMS_*`` variables, by dotted name. SettingsError: one names no setting."""
    defaults = names()
    values: dict[str, Any] = {}
    for variable, value in environ.items():
        if not variable.startswith("ENGRAMS_") or variable in _PASSPHRASES:
            continue
        name = variable.removeprefix("ENGRAMS_").lower().replace("__", ".")
        name = renamed_settings().get(name, name)
        if name not in defaults:
            raise SettingsError(
                f"The variable {variable} names no setting.", hint=suggest(name, list(defaults))
            )
        values[name] = parse_value(name, value)
    return values


def parse_value(name: str, text: str) -> str | list[Any]:
    """Parse a value as a command or variable gives it: a list is ``a,b`` or ``["a", "b"]``.

    ``name``: of the setting. SettingsError: it is no list.
    """
    if not isinstance(names()[name], tuple):
        return text
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        parts = json.loads(text)
    except ValueError as problem:
        raise SettingsError(
            f"{name}: {text} is no list: {problem}.", hint='Write a,b or ["a", "b"].'
        ) from None
    return list(parts)


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn values by dotted name into nested tables."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return tree


def _explain(problem: ValidationError, origin: Mapping[str, str]) -> SettingsError:
    """Turn the first problem of a validation into an error with a hint."""
    first = problem.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    layers = [
        layer
        for setting, layer in origin.items()
        if setting == name or setting.startswith(f"{name}.")
    ]
    layer_note = f" ({layers[0]})" if layers else ""
    infos = {info.name: info for info in describe()}
    info = infos.get(name)
    match first["type"]:
        case "extra_forbidden":
            sections = dict.fromkeys(setting.rpartition(".")[0] for setting in infos)
            return SettingsError(
                f"There is no setting {name!r}{layer_note}.",
                hint=suggest(name, [*infos, *sections]) or "`engrams config` shows the settings.",
            )
        case "literal_error" if info is not None:
            return SettingsError(
                f"Setting {name!r}{layer_note} is {first['input']!r}; it takes one of: {info.range}.",
                hint=suggest(str(first["input"]), info.range.split(", ")),
            )
        case _:
            allowed = f" It takes: {info.range}." if info is not None and info.range else ""
            return SettingsError(f"Setting {name!r}{layer_note}: {first['msg']}.{allowed}")
