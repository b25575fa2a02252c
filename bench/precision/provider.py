"""HTTP provider of PrecisionMemBench over ``engrams serve``: POST /add, PUT /update, POST /search.

Each belief is a memory of its user, in the project that is named after its scope. A search is one of
``POST /v1/search``; what comes back are the hits of which the answer says that they help.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode

_REFUSED = 300


class BeliefStore:
    """Beliefs of the runner, kept in engrams."""

    def __init__(self, port: int) -> None:
        """``port``: of ``engrams serve`` on this machine."""
        self._port = port
        self._lock = threading.Lock()
        self._resets = 0
        self._beliefs: dict[str, str] = {}
        """Id of a memory -> id of the belief."""

    def reset(self) -> None:
        """Begin with users who are new to engrams, and so have no memory."""
        self._resets += 1
        self._beliefs.clear()

    def add(self, body: Mapping[str, Any]) -> None:
        """Store a belief as one memory."""
        self._store("POST", "/v1/memories", body)

    def update(self, body: Mapping[str, Any]) -> None:
        """Replace the text of a belief."""
        belief = body["metadata"]["beliefId"]
        memory = next(key for key, value in self._beliefs.items() if value == belief)
        self._store("PATCH", f"/v1/memories/{memory}", body)

    def search(self, body: Mapping[str, Any]) -> list[dict[str, str]]:
        """Find the beliefs that help with a query."""
        asked = {"query": body["query"], "limit": body["limit"]}
        answer = self._call("POST", "/v1/search", body["user_id"], body.get("scope", ""), asked)
        memories = [hit["memory"] for hit in answer["hits"] if hit["helps"]]
        found = [(self._find_belief(memory), memory["text"]) for memory in memories]
        return [{"id": belief, "memory": text} for belief, text in found if belief]

    def _find_belief(self, memory: Mapping[str, Any]) -> str:
        """Find the belief that a memory is, or was learned from."""
        sources = [memory["id"], *(quote["source"] for quote in memory["evidence"])]
        return next((self._beliefs[name] for name in sources if name in self._beliefs), "")

    def _store(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        metadata = body["metadata"]
        stored = self._call(
            method, path, body["user_id"], metadata["scope"], {"text": body["text"]}
        )
        memory = stored["results"][0] if "results" in stored else stored
        self._beliefs[memory["id"]] = metadata["beliefId"]

    def _call(self, method: str, path: str, user: str, scope: str, body: object) -> Any:
        project = urlencode({"project": scope.replace(":", "-")}) if scope else ""
        headers = {
            "Content-Type": "application/json",
            "X-Engrams-User": f"{user}-{self._resets}",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, f"{path}?{project}", json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= _REFUSED:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
        return json.loads(content)


@contextmanager
def serve_provider(engrams_port: int) -> Iterator[int]:
    """Serve the runner's calls, one after the other as it sends them; yields the port."""
    store = BeliefStore(engrams_port)

    class Handler(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            store.reset()
            self._answer({"ok": True})

        def do_POST(self) -> None:
            body = self._read()
            if self.path == "/search":
                self._answer({"results": store.search(body)})
                return
            store.add(body)
            self._answer({"ok": True})

        def do_PUT(self) -> None:
            store.update(self._read())
            self._answer({"ok": True})

        def log_message(self, *_: object) -> None:
            """Say nothing: the runner prints its cases."""

        def _read(self) -> Any:
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
