"""Real processes on one Postgres, and requests to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PROGRAM = [sys.executable, "-m", "engrams.program.entry"]


@contextmanager
def process(
    home: Path, url: str, *words: str, log: Path | None = None, **settings: object
) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until the block ends;
    it must then end well. ``log``: a file for its standard error.
    """
    given = {f"ENGRAMS_{name.upper()}": str(value) for name, value in settings.items()}
    env = {**os.environ, "ENGRAMS_STORE__URL": url, "ENGRAMS_HOME": str(home), **given}
    with (
        (log or Path(os.devnull)).open("w") as errors,
        subprocess.Popen(
            [*PROGRAM, *words], env=env, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as running,
    ):
        try:
            yield running
            running.terminate()
            assert running.wait(60) == 0
        finally:
            running.kill()


@contextmanager
def server(
    home: Path, url: str, *words: str, log: Path | None = None, **settings: object
) -> Iterator[str]:
    """The address of `engrams serve`."""
    with process(home, url, "serve", "--port", "0", *words, log=log, **settings) as running:
        assert running.stdout is not None
        yield running.stdout.readline().split("listens on ")[1].split("/v1")[0]


@contextmanager
def worker(
    home: Path, url: str, *words: str, **settings: object
) -> Iterator[subprocess.Popen[str]]:
    """`engrams work`, from when it works."""
    with process(home, url, "work", *words, **settings) as running:
        assert running.stdout is not None
        assert "works on jobs" in running.stdout.readline()
        yield running


class KeptConnections:
    """A caller's connections to several addresses, each kept open between its calls.

    ``headers``: of the last answer, by their lower names.
    """

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self._open: dict[str, HTTPConnection] = {}

    def send(
        self,
        address: str,
        method: str,
        path: str,
        user: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Status and text of an answer."""
        if address not in self._open:
            self._open[address] = HTTPConnection(address.removeprefix("http://"), timeout=60)
        connection = self._open[address]
        given = None if body is None else json.dumps(body).encode()
        connection.request(
            method,
            path,
            given,
            {"Content-Type": "application/json", "X-Engrams-User": user, **(headers or {})},
        )
        answer = connection.getresponse()
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, answer.read().decode()

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


def send(address: str, method: str, path: str, user: str, body: Any = None) -> tuple[int, str]:
    """Status and text of an answer."""
    headers = {"Content-Type": "application/json", "X-Engrams-User": user}
    request = Request(
        address + path, None if body is None else json.dumps(body).encode(), headers, method=method
    )
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as problem:
        return problem.code, problem.read().decode()


def ask(address: str, path: str, body: Any, user: str) -> Any:
    """Answer of a POST that must succeed."""
    status, text = send(address, "POST", f"/v1/{path}", user, body)
    assert status in (200, 201), text
    return json.loads(text)


def eventually(test: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    limit = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < limit
        time.sleep(0.05)
