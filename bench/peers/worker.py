"""``python -m bench.peers.worker NAME MODEL-FOLDER``: one peer in a process of its own; JSON lines
in, JSON lines out.

Requests: ``{"do": "open"}`` starts on a fresh memory, or with ``"folder"`` on the one kept there;
``{"do": "fill", "items": [[id, text], ...]}`` and ``{"do": "search", "text": ..., "limit": n}``, of
one ``"owner"`` where that is given. ``{"do": "inject", "text": ..., "limit": n}`` asks what belongs into
a prompt, ``{"do": "forget", "id": ...}`` deletes for good, ``{"do": "check"}`` asks for the store's own
check of its files, ``{"do": "close"}`` ends it. Answers: ``{"about"}``, ``{"ids"}``, ``{"shown"}`` or
``{"problems"}``, each with seconds by the clock and of the processor, or ``{"error"}``. Runs in the
peer's environment, so it imports nothing of this project but this folder. Seconds are taken here, next
to the call, so that the pipe is not in them. Connections to anywhere are refused: a peer that would
phone home fails.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol


class Store(Protocol):
    about: str

    def fill(self, items: Sequence[tuple[str, str]], owner: str = ...) -> None: ...

    def search(self, text: str, limit: int, owner: str = ...) -> list[str]: ...

    def close(self) -> None: ...


def main() -> None:
    # Libraries print to standard output; the answers must stay the only thing there.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.addaudithook(_offline)
    with tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as folder:
        session = _Session(sys.argv[1], sys.argv[2], Path(folder))
        for line in sys.stdin:
            try:
                answer = session.answer(json.loads(line))
            except Exception as problem:  # noqa: BLE001 - any failure of a foreign library is its row in the table
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps(answer), file=answers, flush=True)
        session.close()


def _offline(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        raise ConnectionRefusedError(f"no network here: {arguments[1]}")
    if event == "socket.getaddrinfo":
        raise ConnectionRefusedError(f"no network here: {arguments[0]}")


class _Session:
    def __init__(self, name: str, model: str, folder: Path) -> None:
        self._name = name
        self._model = model
        self._folder = folder
        self._encoder: Any = None
        self._store: Store | None = None
        self._count = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "open":
            return self._open(request.get("folder"))
        store = self._store
        owner = [request["owner"]] if request.get("owner") else []
        if store is None:
            return {"error": "nothing is open"}
        if request["do"] == "fill":
            items = [(name, text) for name, text in request["items"]]
            _, spent = _time(lambda: store.fill(items, *owner))
            return spent
        if request["do"] == "close":
            self.close()
            return {}
        if request["do"] == "inject":
            shown, spent = _time(lambda: _inject(store, request["text"], request["limit"]))
            return {"shown": shown, **spent}
        if request["do"] == "forget":
            _, spent = _time(lambda: store.forget(request["id"]))  # type: ignore[attr-defined]  # not every store of the other benches has it
            return spent
        if request["do"] == "check":
            has_check = hasattr(store, "check")
            return {"problems": store.check() if has_check else None}
        found, spent = _time(lambda: store.search(request["text"], request["limit"], *owner))
        return {"ids": found, **spent}

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _open(self, kept: str | None) -> dict[str, Any]:
        """Open a fresh memory, or a kept one; its imports are in the time."""
        self.close()
        if self._model and self._encoder is None:
            from bench.peers.encoder import load_encoder

            self._encoder = load_encoder(Path(self._model))
        self._count += 1
        folder = Path(kept) if kept else self._folder / str(self._count)
        folder.mkdir(parents=True, exist_ok=True)
        store, spent = _time(
            lambda: importlib.import_module(f"bench.peers.stores.{self._name}").open_store(
                self._encoder, folder
            )
        )
        self._store = store
        return {"about": store.about, **spent}


def _inject(store: Any, text: str, limit: int) -> list[dict[str, Any]]:
    """Ask what belongs into a prompt: ids of the messages, and whether it is marked as over."""
    if hasattr(store, "inject"):
        shown: list[dict[str, Any]] = store.inject(text)
        return shown
    return [{"ids": [name], "is_marked": False} for name in store.search(text, limit)]


def _time(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    start = time.perf_counter()
    used = time.process_time()
    found = call()
    return found, {"seconds": time.perf_counter() - start, "processor": time.process_time() - used}


if __name__ == "__main__":
    main()
