"""An embedding server that misbehaves as told."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engrams.models.embed.ollama import connect as connect_ollama
from engrams.models.embed.openai import connect as connect_openai
from engrams.models.embed.remote import RemoteEmbedder
from engrams.models.retry import RetryPolicy
from engrams.settings import EmbedSettings
from engrams.testing import SettableClock

SHARED = Path(__file__).resolve().parents[4] / "shared"


@dataclass
class Faults:
    """``script``:
    what to do with the next requests, one each; afterwards the server behaves. ``seen``: their
    paths and bodies.
    """

    dimension: int = 3
    script: list[Callable[[Handler, dict[str, Any]], None]] = field(default_factory=list)
    seen: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    longest: int = 1_000_000
    packed: bool = False
    shuffled: bool = False
    hang: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @property
    def texts(self) -> list[list[str]]:
        return [body["input"] for _, body, _ in self.seen]

    def vector(self, text: str) -> list[float]:
        return [float(len(text)), 1.0, *[0.5] * (self.dimension - 2)]


class Handler(BaseHTTPRequestHandler):
    faults: Faults

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.faults.seen.append(
            (self.path, body, {name.lower(): value for name, value in self.headers.items()})
        )
        if self.faults.script:
            self.faults.script.pop(0)(self, body)
        elif any(len(text.encode()) > self.faults.longest for text in body["input"]):
            self.give(
                400,
                {
                    "error": {
                        "message": "this model's maximum context length is exceeded",
                        "code": "context_length_exceeded",
                    }
                },
            )
        else:
            self.give(200, self.vectors(body["input"]))

    def vectors(self, texts: list[str]) -> Any:
        rows: list[Any] = [self.faults.vector(text) for text in texts]
        if self.path.endswith("/api/embed"):
            return {"embeddings": rows}
        if self.faults.packed:
            rows = [base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows]
        data = [
            {"object": "embedding", "index": index, "embedding": row}
            for index, row in enumerate(rows)
        ]
        return {"data": data[::-1] if self.faults.shuffled else data}

    def give(self, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def faults() -> Iterator[Faults]:
    script = Faults()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Scripted", (Handler,), {"faults": script}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    yield script
    script.hang.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def connect(faults: Faults) -> Iterator[Callable[..., RemoteEmbedder]]:
    embedders: list[RemoteEmbedder] = []

    def connect(provider: str = "openai", **values: Any) -> RemoteEmbedder:
        settings = EmbedSettings(
            provider=provider, **{"model": "m", "url": faults.url, "timeout_seconds": 5.0, **values}
        )  # type: ignore[arg-type]
        make = connect_ollama if provider == "ollama" else connect_openai
        embedders.append(make(settings, SettableClock(), RetryPolicy(retries=3, first_wait=0.005)))
        return embedders[-1]

    yield connect
    for embedder in embedders:
        embedder.close()


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of a real model, kept outside of the project."""
    folder = SHARED / "models" / "minilm"
    if not (folder / "model_int8.onnx").is_file():
        pytest.skip(f"no model in {folder}")
    return folder
