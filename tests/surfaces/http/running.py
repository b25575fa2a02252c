"""A real server on a free port, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from engrams.program.registry import create_mounts
from engrams.settings import ServeSettings
from engrams.surfaces.http.listening import format_address, listen
from engrams.surfaces.http.permissions import SERVER_PERMISSIONS
from engrams.surfaces.http.uvicorn_factory import create_server
from engrams.testing import temp_engine


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The server's address while it runs; leaving waits for its end."""
    listener = listen(ServeSettings(port=0))
    runner = create_server(app)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]}, daemon=True)
    url = format_address(listener)
    thread.start()
    while not runner.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield url
    finally:
        runner.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def list_operations() -> set[tuple[str, str]]:
    """Methods and paths of all operations of a server with all its mounts."""
    with temp_engine() as engine:
        mounts = create_mounts(engine, engine.settings)
    permissions = [*SERVER_PERMISSIONS, *(row for mount in mounts for row in mount.permissions)]
    return {(permission.method, permission.path) for permission in permissions}
