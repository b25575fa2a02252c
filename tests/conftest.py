"""What every test shares: no way out of this machine, no trace of the user's own settings or memory."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex


def _loopback(family: int, address: Any) -> bool:
    if family == getattr(socket, "AF_UNIX", None):
        return True
    host = str(address[0])
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return False


def _guarded_connect(self: socket.socket, address: Any) -> None:
    if not _loopback(self.family, address):
        raise OSError(f"tests may only talk to this machine, not to {address!r}")
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> int:
    if not _loopback(self.family, address):
        raise OSError(f"tests may only talk to this machine, not to {address!r}")
    return _connect_ex(self, address)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Connections to other machines fail at once."""
    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", _guarded_connect)
    patch.setattr(socket.socket, "connect_ex", _guarded_connect_ex)
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ENGRAMS_* variable of the caller is seen, and the default home is an empty folder."""
    for name in [name for name in os.environ if name.startswith("ENGRAMS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path_factory.getbasetemp() / "home-of-no-one"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A fresh home folder, not made yet."""
    return tmp_path / "home"
