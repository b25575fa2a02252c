"""Settings that had another name in an earlier version: ``renamed.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@cache
def renamed_settings() -> Mapping[str, str]:
    """Return the earlier name of each renamed setting -> its name now."""
    text = resources.files("engrams.settings").joinpath("renamed.toml").read_text("utf-8")
    return tomllib.loads(text)


def use_new_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Name the values of one layer as the settings are named now.

    A value under the new name stands before one under the earlier name.
    """
    table = renamed_settings()
    renamed = {table[name]: value for name, value in values.items() if name in table}
    return renamed | {name: value for name, value in values.items() if name not in table}


def list_renamed(values: Mapping[str, Any]) -> tuple[str, ...]:
    """List the values with an earlier name, as "vault.on is now vault.enabled"."""
    table = renamed_settings()
    return tuple(f"{name} is now {table[name]}" for name in values if name in table)
