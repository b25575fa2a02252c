"""The command that this thread runs for another process."""

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
_FREE = frozenset({"home", "user", "serve"})
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
    """Engine of a running process, with the settings it was opened with.

    ``given``: the settings before the server took its upstream as memory's model.
    """

    engine: Any
    settings: Settings
    given: Settings


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
        given = self.call.environ.get("COLUMNS", "")
        return int(given) if given.isdecimal() and int(given) else self.call.columns

    def reply(self, code: int) -> CommandReply:
        """Return what was printed."""
        return CommandReply(code, self.out.getvalue(), self.err.getvalue())

    def find_home(self, named: str | None) -> str:
        """Return the caller's home. DeclinedCallError: it named another one."""
        if (named or "") != self.call.named:
            raise DeclinedCallError("the home is named in another way than the caller saw")
        return str(self.call.home)

    def open(self, asked: Settings, *, writes: bool) -> Any:
        """Return the engine for a command with these settings.

        DeclinedCallError: the command must open the home itself.
        """
        from engrams.composition import adopt_upstream

        if writes or asked.rerank.provider == "listwise":
            asked = adopt_upstream(asked)
            own = self.home.settings
        else:
            own = self.home.given
        if not _is_same_folder(asked, own):
            raise DeclinedCallError("the server has another home")
        if self.call.environ.get(_PASSPHRASE, "") != os.environ.get(_PASSPHRASE, ""):
            raise DeclinedCallError("the server was given another passphrase")
        if others := find_differences(asked, own):
            raise DeclinedCallError(f"the server has other settings ({', '.join(others)})")
        if self._has_relative_paths(asked):
            raise DeclinedCallError("the settings name a path that depends on the folder")
        return self.home.engine

    def _has_relative_paths(self, asked: Settings) -> bool:
        """True where a path means another place in the server."""
        paths = [str(getattr(getattr(asked, section), name)) for section, name in _PATHS]
        moved = str(self.call.folder) != os.getcwd() or self.call.environ.get(
            "HOME"
        ) != os.environ.get("HOME")
        return moved and any(
            path and not path.startswith(("/", ":memory:")) and "://" not in path for path in paths
        )


def find_differences(asked: Settings, own: Settings) -> list[str]:
    """List the sections and settings that differ, by name."""
    sections = [name for name in type(own).model_fields if name not in _FREE]
    found = [name for name in sections if getattr(asked, name) != getattr(own, name)]
    if "sessions" in found:  # a command ends no sessions; a server does when it stops
        sessions = asked.sessions.model_copy(update={"end_on_close": own.sessions.end_on_close})
        found = [name for name in found if name != "sessions" or sessions != own.sessions]
    return found


def _is_same_folder(asked: Settings, own: Settings) -> bool:
    try:
        return os.path.samefile(asked.home.expanduser(), own.home.expanduser())
    except OSError:
        return False
