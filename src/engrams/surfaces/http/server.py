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
from functools import partial

from engrams import composition
from engrams.errors import EngramsError, SettingsError
from engrams.ipc.worker_links import WorkerLinks
from engrams.settings import Settings
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.backlog import BacklogReporter
from engrams.surfaces.http.greeting import format_greeting, report_upstreams
from engrams.surfaces.http.listening import format_address, listen, noted_address
from engrams.surfaces.http.observers.spans import start_export
from engrams.surfaces.http.server_functions import ServedHome, ServerFunctions
from engrams.surfaces.http.server_role import ServerRole
from engrams.surfaces.http.server_workers import WorkerPlan, WorkerSupervisor, unlock
from engrams.surfaces.http.start_checks import check_settings, require_shareable
from engrams.surfaces.http.uvicorn_factory import create_server


def serve(
    load_settings: Callable[[], Settings], surfaces: ServerFunctions, *, as_json: bool = False
) -> None:
    """Serve until interrupted; print the address first.

    ``load_settings`` is called again when a change of the settings is to be taken over: the server
    then opens its home anew, and clients that connect meanwhile wait. ``as_json``: print an object.
    SettingsError: the address cannot or must not be listened on.
    """
    home = _prepare_home(load_settings(), surfaces)
    with listen(home.settings.serve) as listener:
        is_wanted = True
        while is_wanted:
            with ExitStack() as stack:
                greet = partial(_greet, stack, home.settings, listener, as_json)
                if home.settings.serve.workers > 1:
                    WorkerSupervisor(home, listener, unlock(home.settings)).run(greet)
                    return
                # uvicorn closes the socket that it is given.
                is_wanted = serve_home(home, listener.dup(), greet)
            if is_wanted:
                gc.unfreeze()
                home = _prepare_again(load_settings, home)


def _prepare_home(settings: Settings, surfaces: ServerFunctions) -> ServedHome:
    """Check the settings, and let memory and proxy use each other's model."""
    settings = composition.adopt_chat_server(settings)
    check_settings(settings)
    if settings.serve.workers > 1:
        require_shareable(settings)
    if not settings.serve.offline and not (settings.serve.upstream or settings.serve.routes):
        raise SettingsError(
            f"Preset {settings.preset} needs the model server behind it.",
            hint="Name it: `engrams serve --openai-base-url http://localhost:11434/v1`.",
        )
    return ServedHome(composition.adopt_upstream(settings), settings, surfaces)


def _prepare_again(load_settings: Callable[[], Settings], home: ServedHome) -> ServedHome:
    """Prepare the home with the settings as they are now; with the former ones if they are wrong."""
    try:
        return _prepare_home(load_settings(), home.surfaces)
    except EngramsError as error:
        sys.stderr.write(f"The server keeps its former settings. {error.message} {error.hint}\n")
        return home


def _greet(
    stack: ExitStack,
    settings: Settings,
    listener: socket.socket,
    as_json: bool,
    workers: Sequence[int] = (),
) -> None:
    """Note the address in the home until ``stack`` ends, and print it."""
    stack.enter_context(noted_address(settings, format_address(listener)))
    _print_greeting(settings, listener, workers, as_json=as_json)


def serve_home(
    home: ServedHome,
    listener: socket.socket,
    report_ready: Callable[[], None],
    worker: WorkerPlan | None = None,
) -> bool:
    """Serve a home in this process until a signal comes, or until new settings are to be taken over.

    ``listener``: where clients connect; in a worker, where its parent hands over connections.
    ``report_ready`` is called when the home is open. ``worker``: which of several processes this is.
    Returns True if the server is to begin again.
    """
    settings = home.settings
    is_restarting = threading.Event()
    start_export()
    with composition.open(settings, helped=True) as engine, ExitStack() as stack:
        links = None
        if worker is not None:
            links = WorkerLinks(worker.folder, worker.number, settings.serve.workers, engine.peers)
        restart = is_restarting.set if worker is None else None
        role = ServerRole(worker is None or worker.number == 0, links, restart)
        mounts = home.surfaces.create_mounts(engine, settings)
        app = create_app(engine, settings, mounts, role)
        server = create_server(
            app,
            settings.serve,
            listener if worker else None,
            settings.sessions.shutdown_seconds,
            is_restarting,
        )
        _spare_collector()
        # Whoever reads that it is ready may end it at once.
        _exit_on_term()
        report_ready()
        if role.leads:
            commands = home.surfaces.serve_commands(engine, settings, home.configured)
            stack.enter_context(commands)
            stack.enter_context(BacklogReporter(engine).running())
        stack.enter_context(suppress(KeyboardInterrupt))
        server.run(sockets=[] if worker else [listener])
    return is_restarting.is_set()


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
