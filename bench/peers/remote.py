"""Client side of the pipe to a worker."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple, Self

from bench.peers.envs import ROOT, PeerError

_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "PYTHONNOUSERSITE": "1",
    "PYTHONPATH": str(ROOT),
}


class RemoteTimes(NamedTuple):
    """Seconds by the clock and of the processor, measured by the worker."""

    seconds: float
    processor: float
    about: str = ""


class PeerProcess:
    """Worker behind a pipe that answers one line of JSON with another.

    PeerError: it failed, died, or took too long in all.
    """

    def __init__(self, command: Sequence[str], limit: float) -> None:
        """``command``: a Python and its arguments. ``limit``: seconds this worker may live."""
        self._home = tempfile.TemporaryDirectory(prefix="peer-home-", ignore_cleanup_errors=True)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        # Peers keep caches and ids in the home folder: they get one that goes away.
        env = {**os.environ, **_QUIET, "HOME": self._home.name, "MEM0_DIR": self._home.name}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            env=env,
            text=True,
        )
        self._late = False
        self._timer = Timer(limit, self._stop)
        self._timer.daemon = True
        self._timer.start()
        self._limit = limit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process(self) -> int:
        """Number of the worker's process."""
        return self._process.pid

    def close(self) -> None:
        """End the worker; it cleans up after itself."""
        self._timer.cancel()
        if self._process.stdin and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                self._process.kill()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()
        self._home.cleanup()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; its answer."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(
                f"took more than {self._limit:.0f} s"
                if self._late
                else f"its process died: {self._last()}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"].strip().splitlines()[0][:200])
        return answer

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _last(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else "no reason given"


class RemotePeer(PeerProcess):
    """Peer of ``bench.peers.worker``; ``seconds`` are measured there."""

    def __init__(self, python: Path, name: str, model: Path | None, limit: float) -> None:
        """``model``: the folder of the embedding model. ``limit``: seconds this worker may live."""
        super().__init__(
            [str(python), "-m", "bench.peers.worker", name, str(model.resolve()) if model else ""],
            limit,
        )

    def open(self) -> str:
        """Start on a fresh memory; its description."""
        return str(self.ask({"do": "open"})["about"])

    def reopen(self, folder: Path) -> RemoteTimes:
        """Open what is kept in a folder; the times of it, imports included."""
        answer = self.ask({"do": "open", "folder": str(folder.resolve())})
        return RemoteTimes(answer["seconds"], answer["processor"], answer["about"])

    def fill(self, items: Sequence[tuple[str, str]], owner: str = "") -> float:
        """Store (id, text) pairs; seconds taken."""
        return self.time_fill(items, owner).seconds

    def search(self, text: str, limit: int) -> tuple[list[str], float]:
        """Ids, best first, and seconds taken."""
        answer = self.ask({"do": "search", "text": _replace_surrogates(text), "limit": limit})
        return answer["ids"], float(answer["seconds"])

    def inject(self, text: str, limit: int) -> list[dict[str, Any]]:
        """Ask what belongs into a prompt: ``ids`` of messages, and ``is_marked``: said to be over."""
        request = {"do": "inject", "text": _replace_surrogates(text), "limit": limit}
        shown: list[dict[str, Any]] = self.ask(request)["shown"]
        return shown

    def forget(self, name: str) -> None:
        """Delete one item for good."""
        self.ask({"do": "forget", "id": name})

    def check(self) -> list[str] | None:
        """Ask for the changes that the store finds in its own files; None: it has no such check."""
        problems: list[str] | None = self.ask({"do": "check"})["problems"]
        return problems

    def close_store(self) -> None:
        """Close what is open, so that all of it is on disk."""
        self.ask({"do": "close"})

    def time_fill(self, items: Sequence[tuple[str, str]], owner: str) -> RemoteTimes:
        """Store (id, text) pairs of an owner."""
        pairs = [(name, _replace_surrogates(text)) for name, text in items]
        answer = self.ask({"do": "fill", "items": pairs, "owner": owner})
        return RemoteTimes(answer["seconds"], answer["processor"])

    def time_search(self, text: str, limit: int, owner: str) -> RemoteTimes:
        """Search what an owner has."""
        answer = self.ask(
            {"do": "search", "text": _replace_surrogates(text), "limit": limit, "owner": owner}
        )
        return RemoteTimes(answer["seconds"], answer["processor"])


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates: most peers fail on them."""
    return text.encode("utf-8", "replace").decode("utf-8")
