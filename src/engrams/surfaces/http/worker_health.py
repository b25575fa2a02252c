"""Health of a process that only works on jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engrams.engine import MemoryEngine
from engrams.settings import Settings
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.listening import format_address, listen
from engrams.surfaces.http.uvicorn_factory import create_server


@contextmanager
def answer_health(engine: MemoryEngine, settings: Settings) -> Iterator[str]:
    """Answer /health, /ready and /metrics while this block runs; yield the address.

    SettingsError: it cannot be listened on.
    """
    with listen(settings.serve) as listener:
        server = create_server(create_app(engine, settings, ()), settings.serve)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="engrams-health", daemon=True
        )
        thread.start()
        try:
            yield format_address(listener)
        finally:
            server.should_exit = True
            thread.join()
