"""Command work: run background jobs beside servers on the same memory."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from engrams.errors import ExtraError, SettingsError
from engrams.installation import install_hint
from engrams.program.log_lines import write_log_lines
from engrams.surfaces.cli.options import GlobalOptions, flatten_options, new_app

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.settings import LoadedSettings, Settings

app = new_app()

_OWNER_SHARE = 0.5
"""Share of the workers that one owner may occupy, where no setting says otherwise."""


@app.command()
@flatten_options
def work(
    options: GlobalOptions,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Jobs at the same time (jobs.workers).",
            show_default=False,
            metavar="N",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Answer /ready, /health and /metrics on this port.",
            show_default=False,
            metavar="N",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="The address of that port (serve.host).", show_default=False, metavar="ADDRESS"
        ),
    ] = None,
) -> None:
    """Run background jobs until interrupted, and serve nothing.

    For processes beside `engrams serve` on the same memory. On SIGTERM running jobs end, or go back
    to the queue; exit code 0.
    """
    from engrams import composition

    settings = _choose_settings(
        options.load(), {"jobs.workers": concurrency, "serve.host": host, "serve.port": port}
    )
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        stack.enter_context(write_log_lines(settings.log))
        engine = stack.enter_context(composition.open(settings, helped=True))
        if port is not None:
            stack.enter_context(_answer_health(engine, settings))
        stack.enter_context(_import_files(engine))
        engine.work.start()
        sys.stdout.write(
            f"engrams works on jobs, {settings.jobs.workers} at a time. Press Ctrl-C to stop.\n"
        )
        sys.stdout.flush()
        stop.wait()


@contextmanager
def _import_files(engine: MemoryEngine) -> Iterator[None]:
    """Import the files that servers receive within the block."""
    from engrams import admin

    if engine.settings.incognito:
        yield
        return
    with closing(admin.open_uploads(engine)) as uploads:
        uploads.work()
        yield


def _answer_health(engine: MemoryEngine, settings: Settings) -> AbstractContextManager[str]:
    try:
        from engrams.surfaces.http.worker_health import answer_health
    except ImportError as problem:
        raise ExtraError(
            f"The server's parts are not installed ({problem.name}).", hint=install_hint("server")
        ) from None
    return answer_health(engine, settings)


def _choose_settings(loaded: LoadedSettings, options: dict[str, object]) -> Settings:
    """Change the settings by the options that were given. SettingsError: no job would run."""
    from engrams.settings import change_settings

    changes = {name: value for name, value in options.items() if value is not None}
    if "jobs.owner_share" not in loaded.origin:
        changes["jobs.owner_share"] = _OWNER_SHARE
    settings = change_settings(loaded.settings, changes)
    if not settings.jobs.workers:
        raise SettingsError(
            "`jobs.workers` is 0: no job would run.",
            hint="Set the number of jobs at a time: `engrams work --concurrency 4`.",
        )
    return settings
