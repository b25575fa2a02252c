"""engrams: durable, layered, explainable memory for LLM agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engrams.build import open  # noqa: A004
    from engrams.engine import MemoryEngine
    from engrams.errors import EngramsError
    from engrams.ports import AsOf, Condition, Where
    from engrams.settings import Settings
    from engrams.types import Record, Scope, Turn

__version__ = "0.1.0"

_PLACES = {
    "open": "build",
    "MemoryEngine": "engine",
    "EngramsError": "errors",
    "AsOf": "ports.recordstore",
    "Condition": "ports.recordstore",
    "Where": "ports.recordstore",
    "Settings": "settings",
    "Record": "types",
    "Scope": "types",
    "Turn": "types",
}

__all__ = [
    "AsOf",
    "Condition",
    "EngramsError",
    "MemoryEngine",
    "Record",
    "Scope",
    "Settings",
    "Turn",
    "Where",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    """Load a public name when first used."""
    if name not in _PLACES:
        raise AttributeError(f"module 'engrams' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"engrams.{_PLACES[name]}"), name)
