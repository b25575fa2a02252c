"""A server of several processes, asked on connections to each of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

_IDLE_SECONDS = 3.0
ENTRY = [sys.executable, "-m", "engrams.program.entry"]


class Fleet:
    """A running server; ``ask(n, …)`` always reaches its worker n."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text("utf-8")
        told = json.loads(line)
        self.process = process
        self.log = log
        self.url = told["url"]
        self.workers = told["workers"]
        self.port = int(re.search(r":(\d+)$", self.url)[1])  # type: ignore[index]
        self._lines: dict[int, HTTPConnection] = {}
        self._used_at: dict[int, float] = {}

    def ask(
        self, worker: int, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of an answer; its status where it is an error."""
        status, text = self.fetch(worker, path, body, headers)
        return status if status >= 400 else json.loads(text)

    def fetch(
        self, worker: int, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        given = {"content-type": "application/json", **(headers or {})}
        pid = self.workers[worker]
        line = self._line(pid)
        self._used_at[pid] = time.monotonic()
        line.request(
            "GET" if body is None else "POST",
            path,
            None if body is None else json.dumps(body),
            given,
        )
        answer = line.getresponse()
        return answer.status, answer.read().decode()

    def _line(self, pid: int) -> HTTPConnection:
        """A connection to this process: those that reach another one are kept for it.

        An idle one is opened anew: the server closes it after five seconds.
        """
        if time.monotonic() - self._used_at.get(pid, 0.0) > _IDLE_SECONDS and pid in self._lines:
            self._lines.pop(pid).close()
        deadline = time.monotonic() + 30
        while pid not in self._lines and time.monotonic() < deadline:
            line = HTTPConnection("127.0.0.1", self.port, timeout=60)
            line.request("GET", "/health")
            reached = json.loads(line.getresponse().read())["pid"]
            self._lines[reached] = line
            self._used_at[reached] = time.monotonic()
        return self._lines[pid]

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()


@contextmanager
def fleet(home: Path, *words: str, workers: int = 2, **environ: str) -> Iterator[Fleet]:
    """`engrams serve --workers N` until the end of the block."""
    home.mkdir(exist_ok=True)
    log = home / "serve.log"
    command = [
        *ENTRY,
        "serve",
        "--home",
        str(home),
        "--user",
        "ada",
        "--workers",
        str(workers),
        "--port",
        "0",
        "--json",
        *words,
    ]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            found = Fleet(process, log)
            yield found
            found.close()
        finally:
            process.terminate()
            process.wait(60)
