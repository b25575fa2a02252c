"""Doors of the running program:
a server of a preset, the command, and an MCP client, on one home.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from engrams.testing import ScriptedModel

PROGRAM = (sys.executable, "-m", "engrams.program.entry")


@dataclass
class Door:
    """A served preset: its home, an HTTP client of it, and the model behind it."""

    preset: str
    home: Path
    client: httpx2.Client
    model: ScriptedModel
    greeting: str = ""

    def get(self, path: str, status: int = 200, **query: Any) -> Any:
        return self._body(self.client.get(path, params=query), status)

    def post(self, path: str, body: Any = None, status: int = 200, **headers: str) -> Any:
        return self._body(
            self.client.post(path, json={} if body is None else body, headers=_headers(headers)),
            status,
        )

    def patch(self, path: str, body: Any, status: int = 200) -> Any:
        return self._body(self.client.patch(path, json=body), status)

    def delete(self, path: str, status: int = 200) -> Any:
        return self._body(self.client.delete(path), status)

    def chat(self, text: str, status: int = 200, **fields: Any) -> httpx2.Response:
        """A chat request with one message, as any OpenAI client sends it."""
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
        answer = self.client.post("/v1/chat/completions", json=body)
        assert answer.status_code == status, answer.text
        return answer

    def sent(self) -> str:
        """The messages of the last chat that reached the model."""
        last = [
            request for request in self.model.requests if request.text and request.schema is None
        ][-1]
        return "\n".join(text for _, text in last.messages)

    def prompt_of(self, message: str) -> str:
        """What stood before this message when the model was last asked it."""
        asked = [
            request.messages
            for request in self.model.requests
            if request.messages and request.messages[-1] == ("user", message)
        ]
        return "\n".join(text for _, text in asked[-1][:-1])

    def run(self, *arguments: str, status: int = 0, stdin: str = "") -> str:
        """The command on the same home; what it printed."""
        return run(
            self.home, "--preset", self.preset, arguments=arguments, status=status, stdin=stdin
        )

    def files(self, pattern: str) -> list[Path]:
        return sorted((self.home / "vault").glob(pattern))

    @staticmethod
    def _body(answer: httpx2.Response, status: int) -> Any:
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        return answer.json() if answer.content else None


def _headers(given: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


def environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "ENGRAMS_HOME": str(home), "ENGRAMS_USER": "ann", **more}


def run(
    home: Path, *after: str, arguments: tuple[str, ...], status: int = 0, stdin: str = ""
) -> str:
    """The command as a process of its own; ``after``: options behind its name."""
    command = [*PROGRAM, *arguments[:1], *after, *arguments[1:]]
    done = subprocess.run(
        command,
        env=environment(home),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@contextmanager
def served(
    preset: str, home: Path, model: ScriptedModel, *options: str, **variables: str
) -> Iterator[Door]:
    """``engrams serve --preset …`` in a process of its own, ended as a service manager ends it."""
    command = [*PROGRAM, "serve", "--preset", preset, "--port", "0", *options]
    streams: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": (home.parent / f"{preset}.log").open("w"),
    }
    with subprocess.Popen(
        command, env=environment(home, **variables), text=True, **streams
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "listens on http" in line, (home.parent / f"{preset}.log").read_text()
        url = line.partition("listens on ")[2].split("/v1")[0]
        try:
            with httpx2.Client(base_url=url, timeout=30) as client:
                yield Door(preset, home, client, model, line)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            streams["stderr"].close()


def eventually(what: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait for background work, whose only sign is what it leaves."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.02)
    assert found
    return found


def lines(text: str) -> list[Any]:
    """JSON lines of a command's ``--json`` output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith(("{", "["))]
