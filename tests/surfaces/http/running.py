"""A real server on a free port, in a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from engrams.settings import ServeSettings
from engrams.surfaces.http.server import address, create_server, listen


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The server's address while it runs; leaving waits for its end."""
    listener = listen(ServeSettings(port=0))
    runner = create_server(app)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]}, daemon=True)
    url = address(listener)
    thread.start()
    while not runner.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield url
    finally:
        runner.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
