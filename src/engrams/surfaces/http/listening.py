"""Listening socket of a server, and the note in its home by which commands find it."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from engrams.errors import SettingsError
from engrams.settings import ServeSettings, Settings
from engrams.surfaces.http.origin_guard import is_loopback

_BACKLOG = 2048
"""Connections that may wait to be accepted."""


def listen(settings: ServeSettings) -> socket.socket:
    """Open the listening socket. SettingsError: the port is taken or forbidden."""
    host = settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's delay (40 ms between a stream's head and its first event) only for
    # sockets that say TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"Cannot listen on {settings.host} port {settings.port}: {error.strerror or error}.",
            hint="Stop the program that listens there, or choose another port: `engrams serve --port 8101`.",
        ) from None
    return listener


def format_address(listener: socket.socket) -> str:
    """Format the address, as ``http://127.0.0.1:8100``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def noted_address(settings: Settings, url: str) -> Iterator[None]:
    """Note in the home which address serves it, and with which models.

    Only a loopback address is noted, and nothing while incognito. Where the note cannot be written,
    the server serves all the same, but commands do not find it.
    """
    note = settings.home.expanduser() / "serve.json"
    if settings.incognito or not is_loopback(urlsplit(url).hostname or ""):
        yield
        return
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = note.with_suffix(f".{os.getpid()}")
    models = [
        settings.embed.provider,
        settings.embed.model,
        settings.serve.upstream.rpartition("@")[2],
    ]
    fields = {"url": url, "pid": os.getpid(), "models": models}
    try:
        unfinished.write_text(json.dumps(fields), "utf-8")
        unfinished.replace(note)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        sys.stderr.write(
            f"{note} was not written, so that commands do not ask this server: {error.strerror}\n"
        )
    try:
        yield
    finally:
        # A server that was started since has its own note there.
        with suppress(OSError, ValueError):
            if json.loads(note.read_bytes()).get("pid") == os.getpid():
                note.unlink()
