"""Errors that engrams raises on purpose.

EngramsError ├── InputError        what was given cannot be used (empty, too long, malformed, out of
range); a ValueError too ├── ScopeError        a scope is missing its owner or is malformed ├──
NotFoundError     an id that does not exist for this owner ├── ConflictError     the thing changed
since it was read, or exists already ├── RefusedError      understood and refused (secret, policy,
permission, incognito) ├── SettingsError     a setting is unknown, malformed or out of range ├──
StoreError        the disk or database failed (full, read-only, busy, damaged) ├── EncryptionError
the key of an encrypted home is missing or wrong; never a sign of damage ├── ModelError        an
embedding, chat or rerank model failed; ``retryable`` says whether waiting helps ├── BudgetError
a configured budget (calls, tokens, queue depth) is used up ├── ClosedError       the engine was
closed └── ExtraError        an optional dependency is not installed
"""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

_TOOLS = {"uv tool": "uv-receipt.toml", "pipx": "pipx_metadata.json"}
"""Tools that give a command an environment without pip, and the file that they leave in it."""


class EngramsError(Exception):
    """Something in engrams failed."""

    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        """Set the message, and a ``hint`` that says what to do.

        A traceback shows both.
        """
        super().__init__(message or (self.__doc__ or "").strip())
        if hint:
            self.hint = hint
        if self.hint:
            self.add_note(f"hint: {self.hint}")

    @property
    def message(self) -> str:
        return str(self.args[0])


class InputError(EngramsError, ValueError):
    """The input cannot be used."""


class ScopeError(EngramsError, ValueError):
    """A scope needs an owner, for example ('user', 'alice')."""

    hint = (
        "Name whose memory this is: a scope such as ('user', 'alice'), or --user alice on the"
        " command line."
    )


class NotFoundError(EngramsError):
    """There is no such thing in this owner's memory."""


class ConflictError(EngramsError):
    """It changed since it was read."""

    hint = "Read it again and repeat the change on the new version."


class RefusedError(EngramsError):
    """engrams refuses to do this."""


class SettingsError(EngramsError):
    """A setting is wrong."""

    hint = "`engrams config` shows every setting, its value and where it came from."


class StoreError(EngramsError):
    """The store failed."""


class EncryptionError(EngramsError):
    """The key of this home is missing or wrong."""


class ModelError(EngramsError):
    """A model failed."""

    def __init__(
        self, message: str = "", *, hint: str = "", retryable: bool = True, retry_after: float = 0.0
    ) -> None:
        """Set the message, the hint, and the chance of a retry.

        ``retryable``: waiting can help (429, 500, time-out). ``retry_after``: seconds the server
        asked for.
        """
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.retry_after = retry_after


class BudgetError(EngramsError):
    """A budget is used up."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 0.0) -> None:
        """Set the message and the hint.

        ``retry_after``: seconds until it is free again; 0: unknown, infinity: not by waiting.
        """
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ClosedError(EngramsError):
    """The engine is closed."""

    hint = "Open a new engine."


class ExtraError(EngramsError):
    """An optional part is not installed."""


def install_hint(extra: str) -> str:
    """Say how to install an optional part.

    It comes from where engrams came from, by the tool that installed it; into an environment
    without pip by another Python's.
    """
    source = _find_source()
    place = f" in {source}" if source.is_dir() and source.name else ""
    if place:
        name = "."
    else:
        name = str(source) if source.name else "engrams"
    for tool, receipt in _TOOLS.items():
        if (Path(sys.prefix) / receipt).exists():
            return f"{tool} install --force '{name}[all,{extra}]'{place}"
    if sys.prefix != sys.base_prefix and find_spec("pip") is None:
        editable = "-e " if source == _ROOT else ""  # what runs from a checkout goes on doing so
        return (
            f"python3 -m pip --python {shlex.quote(sys.executable)} install"
            f" {editable}'{name}[{extra}]'{place}"
        )
    return f"pip install '{name}[{extra}]'{place}"


_ROOT = Path(__file__).parents[2]


@cache
def _find_source() -> Path:
    """Find the checkout or file that engrams was installed from.

    Without a name: a published package.
    """
    if (_ROOT / "pyproject.toml").is_file():
        return _ROOT
    try:
        origin = json.loads(metadata.distribution("engrams").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return Path()
    path = Path(unquote(urlparse(str(origin.get("url", ""))).path))
    return path if path.is_file() or (path / "pyproject.toml").is_file() else Path()
