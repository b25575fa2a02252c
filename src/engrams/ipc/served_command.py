"""The command that this thread runs for another process: its home, its output, its engine.

Commands find it in `CURRENT`: they print to its output and read the caller's environment.
"""

from __future__ import annotations

import io
import os
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any

from engrams.frozen_data import dataclass
from engrams.ipc.command_server import CommandCall, CommandReply, DeclinedCallError

if TYPE_CHECKING:
    from engrams.settings import Settings

_PASSPHRASE = "ENGRAMS_PASSPHRASE"  # noqa: S105 - the name of a variable
_PATHS = (("vault", "path"), ("skills", "folder"), ("store", "url"), ("encryption", "key_file"))
_IGNORED_SECTIONS = frozenset({"home", "user", "serve"})
"""Settings that make no difference to what a command answers."""


CURRENT: ContextVar[ServedCommand | None] = ContextVar("served_command", default=None)
"""The command that runs here for another process; None: this process's own."""


class CapturedOutput(io.StringIO):
    """Text of a stream, with the terminal of the process that asked."""

    def __init__(self, call: CommandCall) -> None:
        super().__init__()
        self._call = call

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._call.encoding

    def isatty(self) -> bool:
        return self._call.columns > 0


@dataclass(frozen=True, slots=True)
class OpenHome:
    """Engine of a running process, with the settings it was opened with."""

    engine: Any
    settings: Settings
    configured: Settings
    """Settings before the server took its upstream as memory's model."""


@dataclass(frozen=True, slots=True)
class ServedCommand:
    """Command of another process, its home and its output."""

    call: CommandCall
    home: OpenHome
    out: CapturedOutput = field(init=False)
    err: CapturedOutput = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "out", CapturedOutput(self.call))
        object.__setattr__(self, "err", CapturedOutput(self.call))

    @property
    def columns(self) -> int:
        """Columns of the terminal, as `shutil.get_terminal_size` finds them."""
        columns = self.call.environ.get("COLUMNS", "")
        return int(columns) if columns.isdecimal() and int(columns) else self.call.columns

    def reply(self, code: int) -> CommandReply:
        """Return what was printed."""
        return CommandReply(code, self.out.getvalue(), self.err.getvalue())

    def find_home(self, named_home: str | None) -> str:
        """Return the caller's home.

        ``named_home``: as the command's parser read it. DeclinedCallError: the caller read another.
        """
        if (named_home or "") != self.call.named_home:
            raise DeclinedCallError("the home is named in another way than the caller saw")
        return str(self.call.home)

    def open(self, settings: Settings, *, writes: bool) -> Any:
        """Return the engine for a command with these settings.

        DeclinedCallError: the command must open the home itself.
        """
        from engrams.composition import adopt_upstream

        if writes or settings.rerank.provider == "listwise":
            # The command may ask a model: both must take the upstream's.
            settings = adopt_upstream(settings)
            served = self.home.settings
        else:
            served = self.home.configured
        if not _is_same_folder(settings, served):
            raise DeclinedCallError("the server has another home")
        if self.call.environ.get(_PASSPHRASE, "") != os.environ.get(_PASSPHRASE, ""):
            raise DeclinedCallError("the server was given another passphrase")
        differences = find_differences(settings, served)
        if differences:
            raise DeclinedCallError(f"the server has other settings ({', '.join(differences)})")
        if self._has_relative_paths(settings):
            raise DeclinedCallError("the settings name a path that depends on the folder")
        return self.home.engine

    def _has_relative_paths(self, settings: Settings) -> bool:
        """Return True where a path of the settings leads elsewhere in the server."""
        has_same_folder = str(self.call.folder) == os.getcwd()
        has_same_home = self.call.environ.get("HOME") == os.environ.get("HOME")
        if has_same_folder and has_same_home:
            return False
        paths = [str(getattr(getattr(settings, section), name)) for section, name in _PATHS]
        return any(
            path and not path.startswith(("/", ":memory:")) and "://" not in path for path in paths
        )


def find_differences(settings: Settings, served: Settings) -> list[str]:
    """List the sections and settings that differ from the server's, by name."""
    # A command ends no sessions; a server does when it stops.
    sessions = settings.sessions.model_copy(update={"end_on_close": served.sessions.end_on_close})
    settings = settings.model_copy(update={"sessions": sessions})
    return [
        name
        for name in type(served).model_fields
        if name not in _IGNORED_SECTIONS and getattr(settings, name) != getattr(served, name)
    ]


def _is_same_folder(settings: Settings, served: Settings) -> bool:
    try:
        return os.path.samefile(settings.home.expanduser(), served.home.expanduser())
    except OSError:
        return False
