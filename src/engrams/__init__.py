"""engrams: durable, layered, explainable memory for LLM agents.

Public names are loaded when first used, so that ``import engrams`` loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engrams.composition import open  # noqa: A004
    from engrams.core import Record, Scope, Turn
    from engrams.engine import MemoryEngine
    from engrams.engine.async_engine import AsyncMemoryEngine
    from engrams.errors import EngramsError
    from engrams.ports import AsOf, Condition, Where
    from engrams.settings import Settings

__version__ = "0.1.0"

_MODULES = {
    "AsyncMemoryEngine": "engine.async_engine",
    "open": "composition",
    "MemoryEngine": "engine",
    "EngramsError": "errors",
    "AsOf": "ports.record_queries",
    "Condition": "ports.record_queries",
    "Where": "ports.record_queries",
    "Settings": "settings",
    "Record": "core",
    "Scope": "core",
    "Turn": "core",
}

__all__ = [
    "AsOf",
    "AsyncMemoryEngine",
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


if not TYPE_CHECKING:  # else a type checker takes every name for one of this module's

    def __getattr__(name: str) -> Any:
        """Load a public name when first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'engrams' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"engrams.{_MODULES[name]}"), name)
