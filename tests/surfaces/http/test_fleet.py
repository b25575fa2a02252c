"""Two served processes on one Postgres: what one stores the other finds, and nobody finds another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.store import postgres

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)]


def start(home: Path, url: str) -> tuple[subprocess.Popen[str], str]:
    """A server on a port of its choice, and its address."""
    env = {**os.environ, "ENGRAMS_STORE__URL": url, "ENGRAMS_HOME": str(home)}
    command = [sys.executable, "-m", "engrams.surfaces.cli.entry", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, line.split("listens on ")[1].split("/v1")[0]


def ask(address: str, path: str, body: dict[str, Any], user: str) -> Any:
    headers = {"Content-Type": "application/json", "X-Engrams-User": user}
    request = Request(f"{address}/v1/{path}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[str]]:
    url = postgres.empty_database()
    running = [start(tmp_path / name, url) for name in ("one", "two")]
    yield [address for _, address in running]
    for process, _ in running:
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.covers("S1.62")
def test_one_memory_behind_two_doors(servers: list[str]) -> None:
    """Requests that alternate between two processes see each write at once, and no other person's."""
    for number in range(6):
        writer, reader = servers[number % 2], servers[(number + 1) % 2]
        user = f"user{number % 3}"
        added = ask(writer, "memories", {"text": f"The code of locker {number} is quux{number}."}, user)
        hits = ask(reader, "search", {"query": f"locker {number} quux{number}"}, user)["hits"]
        assert f"quux{number}" in json.dumps(hits), added
        others = ask(reader, "search", {"query": f"locker quux{number}"}, "somebody")
        assert "quux" not in json.dumps(others.get("hits"))
