"""Provide a temporary engine for tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

_OBJECTS = ("clock", "embedder", "chat")


@contextmanager
def temp_engine(**settings: Any) -> Iterator[MemoryEngine]:
    """Open an engine in a fresh home folder, deleted at the end.

    The caller's own settings are ignored.

    ``settings`` by name, two underscores before a section's setting:
    ``temp_engine(read__limit=3)``. ``clock``, ``embedder`` and ``chat`` take objects. Without
    ``embedder`` it is the engine's own default. SettingsError: a name is unknown.
    """
    from engrams.composition import open as open_engine
    from engrams.settings import load

    objects = {name: settings.pop(name) for name in _OBJECTS if name in settings}
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    with tempfile.TemporaryDirectory(prefix="engrams-") as folder:
        home = {"home": str(Path(folder) / "home")}
        with open_engine(load(home | dotted, environ={}).settings, **objects) as engine:
            yield engine
