"""Run the HTTP server.

`serve` is what `engrams serve` calls; it serves in this process with `serve_home`, or starts
several worker processes that do.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from engrams import composition
from engrams.errors import SettingsError
from engrams.ipc.worker_links import WorkerLinks
from engrams.settings import Settings
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.backlog import BacklogReporter
from engrams.surfaces.http.greeting import format_greeting, report_upstreams
from engrams.surfaces.http.listening import format_address, listen, noted_address
from engrams.surfaces.http.observers.spans import start_export
from engrams.surfaces.http.server_role import ServerRole
from engrams.surfaces.http.server_surfaces import ServedHome, ServerSurfaces
from engrams.surfaces.http.server_workers import WorkerPlan, WorkerSupervisor, unlock
from engrams.surfaces.http.start_checks import check_settings, require_shareable
from engrams.surfaces.http.uvicorn_factory import create_server


def serve(settings: Settings, surfaces: ServerSurfaces, *, as_json: bool = False) -> None:
    """Serve until interrupted; print the address first.

    ``as_json``: as an object. SettingsError: the address cannot or must not be listened on.
    """
    settings = composition.adopt_chat_server(settings)
    check_settings(settings)
    if settings.serve.workers > 1:
        require_shareable(settings)
    if not settings.serve.offline and not (settings.serve.upstream or settings.serve.routes):
        raise SettingsError(
            f"Preset {settings.preset} needs the model server behind it.",
            hint="Name it: `engrams serve --openai-base-url http://localhost:11434/v1`.",
        )
    home = ServedHome(composition.adopt_upstream(settings), settings, surfaces)
    with listen(settings.serve) as listener, ExitStack() as stack:

        def greet(workers: Sequence[int] = ()) -> None:
            stack.enter_context(noted_address(home.settings, format_address(listener)))
            _print_greeting(home.settings, listener, workers, as_json=as_json)

        if settings.serve.workers > 1:
            WorkerSupervisor(home, listener, unlock(home.settings)).run(greet)
        else:
            serve_home(home, listener, greet)


def serve_home(
    home: ServedHome,
    listener: socket.socket,
    report_ready: Callable[[], None],
    worker: WorkerPlan | None = None,
) -> None:
    """Serve a home in this process until a signal comes.

    ``listener``: where clients connect; in a worker, where its parent hands over connections.
    ``report_ready`` is called when the home is open. ``worker``: which of several processes this is.
    """
    settings = home.settings
    start_export()
    with composition.open(settings, helped=True) as engine, ExitStack() as stack:
        links = None
        if worker is not None:
            links = WorkerLinks(worker.folder, worker.number, settings.serve.workers, engine.peers)
        role = ServerRole(leads=worker is None or worker.number == 0, links=links)
        mounts = home.surfaces.create_mounts(engine, settings)
        app = create_app(engine, settings, mounts, role)
        server = create_server(
            app, settings.serve, listener if worker else None, settings.sessions.shutdown_seconds
        )
        _spare_collector()
        report_ready()
        _exit_on_term()
        if role.leads:
            commands = home.surfaces.serve_commands(engine, settings, home.configured)
            stack.enter_context(commands)
            stack.enter_context(BacklogReporter(engine).running())
        stack.enter_context(suppress(KeyboardInterrupt))
        server.run(sockets=[] if worker else [listener])


def _print_greeting(
    settings: Settings, listener: socket.socket, workers: Sequence[int], *, as_json: bool
) -> None:
    """Print where the server listens, and look for its upstreams in the background."""
    if as_json:
        fields = {
            "url": format_address(listener),
            "upstream": settings.serve.upstream.rpartition("@")[2],
            "pid": os.getpid(),
            "workers": list(workers),
        }
        line = json.dumps(fields)
    else:
        line = format_greeting(settings, listener)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    threading.Thread(
        target=report_upstreams, args=(settings.serve,), name="engrams-upstreams", daemon=True
    ).start()


def _spare_collector() -> None:
    """Collect cycles rarely: a request leaves none.

    Looking for them would take a twentieth of it.
    """
    gc.set_threshold(100_000, 50, 50)
    gc.collect()
    gc.freeze()  # modules, settings and what the engine is made of stay until the end


def _exit_on_term() -> None:
    # After its graceful shutdown uvicorn raises the signal again; by default that would skip
    # closing the engine.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
