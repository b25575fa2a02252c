"""Run the HTTP server."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib import import_module
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from engrams import admin, composition, model_setup
from engrams.core.clock import now
from engrams.errors import SettingsError
from engrams.ipc.worker_links import WorkerLinks
from engrams.settings import ServeSettings, Settings
from engrams.surfaces.http.app import create_app
from engrams.surfaces.http.backlog import BacklogReporter
from engrams.surfaces.http.origin_guard import is_loopback
from engrams.surfaces.http.request_observers import start_export
from engrams.surfaces.http.server_role import ServerRole
from engrams.surfaces.http.server_workers import (
    WorkerPlan,
    WorkerSupervisor,
    require_shareable,
    unlock,
)

_FIRST_KEY = (
    "Make one: `engrams keys add NAME --user WHOSE --right read --right write --right proxy`."
)
_BACKLOG = 2048
_HEAD_BYTES = 1 << 16
"""Bytes of a request's head, which no parser limits for us."""


def serve(settings: Settings, *, as_json: bool = False) -> None:
    """Serve until interrupted; print the address first.

    ``as_json``: as an object. SettingsError: the address cannot or must not be listened on.
    """
    check_settings(settings)
    if settings.serve.workers > 1:
        require_shareable(settings)
    if not settings.serve.offline and not (settings.serve.upstream or settings.serve.routes):
        raise SettingsError(
            f"Preset {settings.preset} needs the model server that it stands before.",
            hint="Name it: `engrams serve --openai-base-url http://localhost:11434/v1`.",
        )
    given = settings
    settings = composition.adopt_upstream(settings)
    with listen(settings.serve) as listener, ExitStack() as stack:

        def greet(workers: Sequence[int] = ()) -> None:
            stack.enter_context(noted_address(settings, address(listener)))
            text = greeting(settings, listener)
            told = {
                "url": address(listener),
                "upstream": settings.serve.upstream.rpartition("@")[2],
                "pid": os.getpid(),
            }
            sys.stdout.write(
                f"{json.dumps({**told, 'workers': list(workers)}) if as_json else text}\n"
            )
            sys.stdout.flush()
            threading.Thread(
                target=_report_upstreams,
                args=(settings.serve,),
                name="engrams-upstreams",
                daemon=True,
            ).start()

        if settings.serve.workers > 1:
            WorkerSupervisor(settings, given, listener, unlock(settings)).run(greet)
        else:
            serve_home(settings, given, listener, greet)


def serve_home(
    settings: Settings,
    given: Settings,
    listener: socket.socket,
    ready: Callable[[], None],
    worker: WorkerPlan | None = None,
) -> None:
    """Serve a home in this process until a signal comes.

    ``listener``: where clients connect; in a worker, where its parent hands over connections.
    ``given``: the settings before the server took its upstream as memory's model. ``ready`` is
    called when the home is open. ``worker``: which of several processes this is.
    """
    start_export()
    with composition.open(settings, helped=True) as engine, ExitStack() as stack:
        links = (
            WorkerLinks(worker.folder, worker.number, settings.serve.workers, engine.peers)
            if worker
            else None
        )
        role = ServerRole(worker is None or worker.number == 0, links)
        app = create_app(engine, settings, role=role)
        runner = create_server(
            app, settings.serve, listener if worker else None, settings.sessions.shutdown_seconds
        )
        _spare_collector()
        ready()
        _exit_on_term()
        if role.leads:
            # Surfaces load each other by name.
            commands = import_module("engrams.surfaces.cli.served_commands")
            stack.enter_context(commands.serve_commands(engine, settings, given))
            stack.enter_context(BacklogReporter(engine).running())
        stack.enter_context(suppress(KeyboardInterrupt))
        runner.run(sockets=[] if worker else [listener])


class _TimedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Close connections that send no request, or half of one."""

    receive = 30.0
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch = self.loop.call_later(self.receive, self._close_stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        waited = self._is_waiting() and self.timeout_keep_alive_task is None
        super().data_received(data)
        self._head = self._head + len(data) if waited and self._is_waiting() else 0
        if self._head > _HEAD_BYTES:
            self.transport.close()
        # A head has one span of time for all of it; a body has one for each piece.
        if not (waited and self._is_waiting()) or not self._watch.when() > self.loop.time():
            self._watch.cancel()
            self._watch = self.loop.call_later(self.receive, self._close_stalled)

    def on_message_complete(self) -> None:
        """Note the end of a body, also of one already answered."""
        super().on_message_complete()
        if self.cycle is not None:
            self.cycle.more_body = False

    def _is_waiting(self) -> bool:
        return self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body)

    def _close_stalled(self) -> None:
        if (self.timeout_keep_alive_task is None and self._is_waiting()) or (
            self.cycle is not None and self.cycle.more_body
        ):
            self.transport.close()


class _HandedServer(uvicorn.Server):
    """Serve connections that another process accepted."""

    def __init__(self, config: uvicorn.Config, hand: socket.socket) -> None:
        super().__init__(config)
        self._hand = hand
        self._taken = set[asyncio.Task[object]]()
        hand.setblocking(False)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(self._hand, self._take)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().remove_reader(self._hand)
        self._take()
        if self._taken:
            await asyncio.wait(self._taken)
        await super().shutdown(sockets)

    def _take(self) -> None:
        loop = asyncio.get_running_loop()
        with suppress(BlockingIOError):
            while True:
                data, found, _, _ = socket.recv_fds(self._hand, 1, 1)
                if not data:
                    loop.remove_reader(self._hand)
                    return
                connection = socket.socket(fileno=found[0])
                connection.setblocking(False)
                task: asyncio.Task[object] = loop.create_task(
                    loop.connect_accepted_socket(self._make_protocol, connection)
                )
                self._taken.add(task)
                task.add_done_callback(self._taken.discard)

    def _make_protocol(self) -> asyncio.Protocol:
        made = self.config.http_protocol_class
        return made(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )  # type: ignore[call-arg]


def create_server(
    app: FastAPI,
    settings: ServeSettings | None = None,
    hand: socket.socket | None = None,
    grace: float = 10.0,
) -> uvicorn.Server:
    """Create a uvicorn server without its own headers and access log.

    ``hand``: it takes connections from there, and listens nowhere. ``grace``: seconds that requests
    have to end when it stops.
    """
    serve = settings or ServeSettings()
    timed = type("TimedProtocol", (_TimedProtocol,), {"receive": serve.receive_seconds})
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        http=timed,
        timeout_keep_alive=math.ceil(serve.idle_seconds),
        timeout_graceful_shutdown=max(1, math.ceil(grace)),
    )
    return uvicorn.Server(config) if hand is None else _HandedServer(config, hand)


def check_settings(settings: Settings) -> None:
    """Refuse unsafe settings.

    SettingsError: reachable without a key, its own upstream, nobody's memory.
    """
    serve = settings.serve
    _ = settings.owner_labels("any")  # Refuses to start where nobody's memory would be meant.
    host = serve.host.strip("[]").casefold()
    needed = not is_loopback(host) or serve.require_keys == "always"
    keyed = needed and _has_live_key(settings)
    if not is_loopback(host) and not keyed:
        raise SettingsError(
            f"serve.host is {serve.host!r}: everyone who can reach that address could read this"
            " memory.",
            hint=f"{_FIRST_KEY} Or listen on 127.0.0.1.",
        )
    if serve.require_keys == "always" and not keyed:
        raise SettingsError("serve.require_keys is always, and there is no key.", hint=_FIRST_KEY)
    up = urlsplit(serve.upstream)
    if (
        up.hostname
        and is_loopback(up.hostname)
        and serve.port
        and _default_port(up.port, up.scheme) == serve.port
    ):
        raise SettingsError(
            "serve.upstream is this very server.",
            hint="Name the model server behind it, or change serve.port.",
        )


def _has_live_key(settings: Settings) -> bool:
    with closing(admin.open_keys(settings)) as keys:
        return any(key.is_live(now()) for key in keys.list())


def listen(settings: ServeSettings) -> socket.socket:
    """Open the listening socket. SettingsError: the port is taken or forbidden."""
    host = settings.host.strip("[]")
    # asyncio turns off Nagle's delay (40 ms between a stream's head and its first event) only for
    # sockets that say TCP.
    listener = socket.socket(
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as fault:
        listener.close()
        raise SettingsError(
            f"Cannot listen on {settings.host} port {settings.port}: {fault.strerror or fault}.",
            hint="Stop what listens there, or choose another port: `engrams serve --port 8101`.",
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """Format the address, as ``http://127.0.0.1:8100``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def noted_address(settings: Settings, url: str) -> Iterator[None]:
    """Note in the home which address serves it, and with which models.

    Only a loopback address is noted, and nothing while incognito. Without room for it, commands do
    not find the server, which reads.
    """
    note = settings.home.expanduser() / "serve.json"
    if settings.incognito or not is_loopback(urlsplit(url).hostname or ""):
        yield
        return
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = note.with_suffix(f".{os.getpid()}")
    models = [
        settings.embed.provider,
        settings.embed.model,
        settings.serve.upstream.rpartition("@")[2],
    ]
    try:
        fresh.write_text(json.dumps({"url": url, "pid": os.getpid(), "models": models}), "utf-8")
        fresh.replace(note)
    except OSError as problem:
        fresh.unlink(missing_ok=True)
        sys.stderr.write(
            f"{note} was not written, so that commands do not ask this server: {problem.strerror}\n"
        )
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            if json.loads(note.read_bytes()).get("pid") == os.getpid():
                note.unlink()


def greeting(settings: Settings, listener: socket.socket) -> str:
    up = urlsplit(settings.serve.upstream)
    asks = (
        f"; /api/chat asks {settings.chat.model or 'the chat model'}"
        if settings.chat.provider != "none"
        else ""
    )
    many = f", {settings.serve.workers} processes" if settings.serve.workers > 1 else ""
    quotes = "no upstream: /v1/chat/completions is answered from memory"
    behind = (
        f"upstream {up.scheme}://{up.netloc.rpartition('@')[2]}{up.path}"
        if up.netloc
        else f"{quotes}{asks}"
    )
    if up.netloc and settings.chat.url == settings.serve.upstream:
        behind += (
            "; memory learns by its model"
            f" {settings.chat.model or 'that it lists first; chat.model names another'}"
        )
    return (
        f"engrams listens on {address(listener)}/v1 ({behind}{many}); the page is"
        f" {address(listener)}/. Press Ctrl-C to stop."
    )


def _report_upstreams(serve: ServeSettings) -> None:
    """Tell once, at the start, which upstreams cannot be reached."""
    for url in dict.fromkeys((serve.upstream, *(route.url for route in serve.routes))):
        if url and (problem := model_setup.find_connection_problem(url)):
            sys.stderr.write(
                f"the upstream {url.rpartition('@')[2]} cannot be reached ({problem}); chats fail"
                " until it can\n"
            )
            sys.stderr.flush()


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


def _default_port(port: int | None, scheme: str) -> int:
    return port or (443 if scheme == "https" else 80)
