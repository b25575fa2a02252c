"""``python -m bench.fleet.peer_worker NAME URL``: one other memory on Postgres in a process of its
own; JSON lines in, JSON lines out.

Requests: ``{"do": "open"}``, ``{"do": "fill", "owner", "texts"}``, ``{"do": "add", "owner",
"text"}``, ``{"do": "search", "owner", "text", "limit"}``. Answers: ``{"about", "seconds"}``,
``{"seconds"}``, ``{"seconds", "texts"}`` or ``{"error"}``. Runs in the environment of that memory,
and imports nothing of this project but this folder and the builtin embedder, which the other memory
is given so that no difference comes from the vectors. Seconds are taken here, next to the call;
those of ``open`` begin before the other memory is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from bench.fleet.table_vectors import embed


class FleetStore(Protocol):
    """Other memory of many owners."""

    about: str

    def fill(self, owner: str, texts: Sequence[str]) -> None: ...

    def add(self, owner: str, text: str) -> None: ...

    def search(self, owner: str, text: str, limit: int) -> list[str]: ...

    def close(self) -> None: ...


class _Session:
    """Memory of this process, opened at the first request."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self._name = name
        self._url = url
        self._folder = folder
        self._store: FleetStore | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request.pop("do")
        start = time.perf_counter()
        if do == "open":
            self._store = importlib.import_module(f"bench.fleet.stores.{self._name}").open_store(
                self._url, self._folder
            )
            assert self._store
            return {"about": self._store.about, "seconds": time.perf_counter() - start}
        assert self._store, "nothing is open"
        found = getattr(self._store, do)(**request)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "texts": found} if do == "search" else {"seconds": seconds}

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def main() -> None:
    # Libraries print to standard output; the answers must stay the only thing there.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    embed(["The table is loaded before anything is timed."])
    with tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True) as folder:
        session = _Session(sys.argv[1], sys.argv[2], Path(folder))
        for line in sys.stdin:
            try:
                answer = session.answer(json.loads(line))
            except Exception as problem:  # noqa: BLE001 - any failure of a foreign library is its row in the table
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps(answer), file=answers, flush=True)
        session.close()


if __name__ == "__main__":
    main()
