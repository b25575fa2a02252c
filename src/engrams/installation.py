"""Installation of engrams, and the command that adds an optional part to it."""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

_RECEIPTS = {"uv tool": "uv-receipt.toml", "pipx": "pipx_metadata.json"}
"""Tool that gives a command an environment without pip -> file that the tool leaves in it."""

_ROOT = Path(__file__).parents[2]
"""The checkout, where engrams runs from one."""


def install_hint(extra: str) -> str:
    """Return the command that installs an optional part, as this engrams was installed.

    It comes from the same checkout, file or index, by the same tool. An environment without pip is
    served by another Python's pip.
    """
    source = _find_source()
    if source.is_dir() and source.name:
        package = "."
        folder = f" in {source}"
    else:
        package = str(source) if source.name else "engrams"
        folder = ""
    for tool, receipt in _RECEIPTS.items():
        if (Path(sys.prefix) / receipt).exists():
            return f"{tool} install --force '{package}[all,{extra}]'{folder}"
    if sys.prefix != sys.base_prefix and find_spec("pip") is None:
        editable = "-e " if source == _ROOT else ""  # a checkout stays the place it runs from
        return (
            f"python3 -m pip --python {shlex.quote(sys.executable)} install"
            f" {editable}'{package}[{extra}]'{folder}"
        )
    return f"pip install '{package}[{extra}]'{folder}"


@cache
def _find_source() -> Path:
    """Find the checkout or file that engrams was installed from.

    A path without a name: a published package.
    """
    if (_ROOT / "pyproject.toml").is_file():
        return _ROOT
    try:
        origin = json.loads(metadata.distribution("engrams").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return Path()
    path = Path(unquote(urlparse(str(origin.get("url", ""))).path))
    return path if path.is_file() or (path / "pyproject.toml").is_file() else Path()
