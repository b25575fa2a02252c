"""A real language model behind a real server that nobody here wrote."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("MODELS_PYTHON", ROOT / ".cache/models/bin/python"))
START_SECONDS = 180.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as slow."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


def find_free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def wait_until_listening(url: str, process: subprocess.Popen[str], log: Path) -> None:
    """Wait until a server answers; the test fails where its process ends first."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text("utf-8")[-2000:]
        try:
            httpx2.get(url, timeout=5)
        except httpx2.HTTPError:
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"{url} does not answer: {log.read_text('utf-8')[-2000:]}")


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of llama-cpp-python's server with Gemma 3 270M."""
    if not PYTHON.exists():
        pytest.skip("`make test-models` installs the model and its server")
    port = find_free_port()
    log = tmp_path_factory.mktemp("gemma") / "server.log"
    command = [
        str(PYTHON),
        str(Path(__file__).with_name("serve_gemma.py")),
        str(ROOT / ".cache/weights"),
        str(port),
    ]
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=output, text=True) as process,
    ):
        url = f"http://127.0.0.1:{port}/v1"
        try:
            wait_until_listening(f"{url}/models", process, log)
            yield url
        finally:
            process.terminate()
            process.wait(30)
