"""What every test shares:
no way out of this machine, no trace of the user's own settings or memory.
"""

from __future__ import annotations

import faulthandler
import gc
import ipaddress
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from tests.fleet_places import place
from tests.warm_start import WarmPopen, WarmProcess

__all__ = ["place"]

_QUICK = {
    ("store", f"test_{name}")
    for name in (
        "commit",
        "search",
        "jobs",
        "sessions",
        "owner_state",
        "quota",
        "fleet",
        "roundtrips",
        "owner_plans",
        "spoken",
        "webhooks",
    )
} | {("tests", "test_apikeys"), ("logs", "test_auditlog")}
_ENDED = pytest.StashKey[bool]()
_LONGEST = 180.0
_LONGEST_SLOW = 7200.0
"""Seconds after which a test on Postgres is ended."""
_IN_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
"""Bytes that must be free there: a run takes a quarter of it."""
_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex


def _keep_files_in_memory() -> None:
    """Put temporary files where no write waits for a disk, unless the caller chose a folder.

    Nothing here cuts the power, so that no test can tell the difference.
    """
    if (
        "TMPDIR" not in os.environ
        and _IN_MEMORY.is_dir()
        and shutil.disk_usage(_IN_MEMORY).free > _ROOM
    ):
        os.environ["TMPDIR"] = tempfile.tempdir = str(_IN_MEMORY)


_keep_files_in_memory()


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


@pytest.fixture(autouse=True, scope="session")
def _one_set_of_certificates() -> Iterator[None]:
    """Clients share the certificates: reading them takes longer than most requests of a test."""
    read = httpcore2.default_ssl_context

    @cache
    def load(trusts_environment: bool, *_chosen: str | None) -> ssl.SSLContext:
        return read(_trust_env=trusts_environment)

    def share(*, _trust_env: bool = True) -> ssl.SSLContext:
        return load(_trust_env, *map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))

    patch = pytest.MonkeyPatch()
    patch.setattr(httpcore2, "default_ssl_context", share)
    yield
    patch.undo()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--warm-start",
        action="store_true",
        help="fork the program's processes from one that has imported it",
    )


@pytest.fixture(autouse=True, scope="session")
def _warm_start(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--warm-start``, the program starts warm."""
    if not request.config.getoption("--warm-start"):
        yield
        return
    warm_process = WarmProcess()
    patch = pytest.MonkeyPatch()
    patch.setattr(WarmPopen, "warm", warm_process)
    patch.setattr(subprocess, "Popen", WarmPopen)
    yield
    patch.undo()
    warm_process.close()


def pytest_configure(config: pytest.Config) -> None:
    """Collect without looking for garbage.

    With ``--warm-start``, Python keeps what it compiles: else each worker of each run rewrites the
    assertions of all tests.
    """
    gc.disable()
    if config.getoption("--warm-start"):
        sys.dont_write_bytecode = False
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a few modules on Postgres to the fast run:
    those of the store that need no other process.
    """
    for item in items:
        if (
            item.get_closest_marker("postgres")
            and (item.path.parent.name, item.path.stem) not in _QUICK
        ):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look rarely for garbage, and never among what is collected: there are ten thousand tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a process whose test waits for Postgres without end:
    the test fails with every thread's stack, and the run goes on.
    """
    if item.get_closest_marker("postgres") is None:
        return (yield)
    seconds = _LONGEST_SLOW if item.get_closest_marker("slow") else _LONGEST
    # xdist gives the file of a test that ended its process to another one, with that test.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    begun = (
        Path(tempfile.gettempdir())
        / f"engrams-{run}-{blake2b(item.nodeid.encode(), digest_size=8).hexdigest()}"
    )
    item.stash[_ENDED] = begun.exists()
    begun.touch()
    faulthandler.dump_traceback_later(
        seconds, file=item.config.stash.get(fault_handler_stderr_fd_key, 2), exit=True
    )
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        begun.unlink()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.stash.get(_ENDED, False):
        pytest.fail("it waited for Postgres without end")


@pytest.fixture(autouse=True)
def _own_settings(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ENGRAMS_* variable of the caller is seen, and the default home is an empty folder."""
    for name in [name for name in os.environ if name.startswith("ENGRAMS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAMS_HOME", str(tmp_path_factory.getbasetemp() / "home-of-no-one"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A fresh home folder, not made yet."""
    return tmp_path / "home"
