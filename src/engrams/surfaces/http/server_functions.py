"""Functions of other surfaces that the server uses, handed over by the program that starts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.mounts import ServerMount


@dataclass(frozen=True, slots=True)
class ServerFunctions:
    """Functions of other surfaces that the server is composed of."""

    create_mounts: Callable[[MemoryEngine, Settings], Sequence[ServerMount]]
    """Creates every mount of the server, in the order of their routes."""

    serve_commands: Callable[
        [MemoryEngine, Settings, Settings | None], AbstractContextManager[None]
    ]
    """Answers commands of other processes while its block runs.

    Takes the settings in use, and those before the server took its upstream as memory's model.
    """

    worker_module: str
    """Module that ``python -m`` runs as one of several server processes."""


@dataclass(frozen=True, slots=True)
class ServedHome:
    """Home that a process serves, and the surfaces by which it does."""

    settings: Settings
    """Settings in use."""

    configured: Settings
    """Settings before the server took its upstream as memory's model."""

    surfaces: ServerFunctions
