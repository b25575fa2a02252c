"""Server that runs for a home, as it noted itself there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engrams.settings import Settings


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Address and models of a running server."""

    url: str
    models: tuple[str, ...]
    """Provider and model of its embedder, and its upstream."""
    is_alike: bool
    """The settings have the same models."""


def find_server(settings: Settings) -> RunningServer | None:
    """Find the server that runs for a home; None: none."""
    try:
        noted = json.loads((settings.home.expanduser() / "serve.json").read_bytes())
        os.kill(int(noted["pid"]), 0)
        url = str(noted["url"])
        models = tuple(str(name or "") for name in noted["models"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return RunningServer(
        url,
        models,
        models
        == (
            settings.embed.provider,
            settings.embed.model,
            settings.serve.upstream.rpartition("@")[2],
        ),
    )
