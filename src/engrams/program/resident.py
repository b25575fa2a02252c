"""Process that keeps a home open between an agent's events, and ends by itself.

A hook that finds no server starts it (``engrams hook --resident``). It answers hooks and quick
commands as a server does, and ends when nobody called for a while. There is one for each home.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from engrams.ipc.command_client import RESIDENT_LOCK, SOCKET_FOLDER

if TYPE_CHECKING:
    from engrams.settings import Settings

_LOOK_SECONDS = 1.0


class IdleClock:
    """Time since the last call."""

    def __init__(self) -> None:
        self._last_call = time.monotonic()

    def note_call(self) -> None:
        """Note that a call came."""
        self._last_call = time.monotonic()

    def has_passed(self, seconds: float) -> bool:
        """True if nobody called for so long."""
        return time.monotonic() - self._last_call > seconds


def main(lock: int, arguments: Sequence[str]) -> int:
    """Serve the home that the hook's arguments name until nobody calls. Code 0 in any case.

    ``lock``: file whose lock the hook took for this process.
    """
    os.set_inheritable(lock, False)
    from engrams.settings import load
    from engrams.surfaces.hook.run import parse_arguments

    settings = load(parse_arguments(arguments).settings).settings
    home = settings.home.expanduser().absolute()
    if settings.enabled and not settings.is_volatile and home.is_dir():
        with hold_lock(home, lock) as is_ours:
            if is_ours:
                _serve(settings, home)
    return 0


def _serve(settings: Settings, home: Path) -> None:
    from engrams.composition import open as open_engine
    from engrams.program.served_commands import serve_commands

    # The agent's own event ends a session, not the end of this process.
    opened = settings.model_copy(
        update={"sessions": settings.sessions.model_copy(update={"end_on_close": "led"})}
    )
    clock = IdleClock()
    with (
        open_engine(opened) as engine,
        serve_commands(engine, opened, note_call=clock.note_call),
    ):
        # Hooks that answer by themselves leave their jobs to this process.
        engine.work.start()
        clock.note_call()
        wait_until_idle(clock, home, opened.serve.resident_seconds)


def wait_until_idle(clock: IdleClock, home: Path, seconds: float) -> None:
    """Wait until nobody called for so long, or the home is gone."""
    never = Event()
    while not clock.has_passed(seconds) and home.is_dir():
        never.wait(min(_LOOK_SECONDS, seconds))


@contextmanager
def hold_lock(home: Path, lock: int) -> Iterator[bool]:
    """Hold the lock of a home's resident process; False: another one holds it.

    ``lock``: file that is locked already, which is that of another home where settings name one.
    """
    import fcntl

    folder = home / SOCKET_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / RESIDENT_LOCK).open("a") as file:
        if not os.path.sameopenfile(file.fileno(), lock):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
        yield True


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
