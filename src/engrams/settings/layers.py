"""Reading the layers of settings, and saying where each value came from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from engrams.errors import SettingsError
from engrams.settings.apart import apart
from engrams.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and, for each dotted name, where its value came from."""

    settings: Settings
    origin: Mapping[str, str] = field(default_factory=dict)


def load(arguments: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Read every layer. ``arguments``: dotted names to values, strongest. SettingsError names the wrong one."""
    env = os.environ if environ is None else environ
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    from_env = _environment(env)
    home = Path(str(given.get("home") or from_env.get("home") or "~/.engrams")).expanduser()
    file = home / "config.toml"
    from_file = _flat(_toml(file.read_text("utf-8"), str(file))) if file.is_file() else {}
    preset = str(given.get("preset") or from_env.get("preset") or from_file.get("preset") or "default")
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    layers = [(f"preset {preset}", _preset(preset)), (str(file), from_file), ("environment", from_env), ("argument", given)]
    for source, layer in layers:
        values.update(layer)
        origin.update(dict.fromkeys(layer, source))
    values["home"] = home
    values["preset"] = preset
    try:
        settings = Settings.model_validate(_nest(values))
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"Setting {name!r} ({origin.get(name, 'unknown place')}): {first['msg']}.") from None
    return Loaded(apart(settings), origin)


def describe() -> list[tuple[str, Any, str, bool]]:
    """Every setting: dotted name, default, description, whether it is a secret."""
    return list(_describe(Settings, ""))


def presets() -> tuple[str, ...]:
    """The names of the presets that ship."""
    folder = resources.files("engrams") / "presets"
    return tuple(sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")))


def _describe(section: type[BaseModel], prefix: str) -> Any:
    for name, info in section.model_fields.items():
        default = info.default
        if isinstance(default, BaseModel):
            yield from _describe(type(default), f"{prefix}{name}.")
        else:
            extra = info.json_schema_extra
            yield prefix + name, default, info.description or "", isinstance(extra, dict) and bool(extra.get("secret"))


def _preset(name: str) -> dict[str, Any]:
    if name not in presets():
        raise SettingsError(f"There is no preset {name!r}.", hint=f"The presets are: {', '.join(presets())}.")
    return _flat(_toml((resources.files("engrams") / "presets" / f"{name}.toml").read_text("utf-8"), name))


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{where} is not valid TOML: {problem}.", hint="Mend the file or move it aside.") from None


def _environment(env: Mapping[str, str]) -> dict[str, Any]:
    names = {name: default for name, default, *_ in describe()}
    found: dict[str, Any] = {}
    for key, value in env.items():
        if key.startswith("ENGRAMS_"):
            name = key.removeprefix("ENGRAMS_").lower().replace("__", ".")
            if name not in names:
                raise SettingsError(f"The variable {key} names no setting.")
            found[name] = [part for part in value.split(",") if part] if isinstance(names[name], tuple) else value
    return found


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return tree
