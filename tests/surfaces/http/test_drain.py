"""Requests that a server which stops does not end in time."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.surfaces.fleet import KeptConnections, process

from engrams.testing import ScriptedModel


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_request_cut_off_at_shutdown_gets_503_with_retry_after(home: Path, workers: int) -> None:
    """A request that outlasts the grace after SIGTERM is answered 503, with Retry-After and our
    shape of errors; the server ends with 0.
    """
    answers: list[tuple[int, str, dict[str, str]]] = []
    with ScriptedModel() as model:
        model.fail("hang")
        settings = {
            "serve__upstream": f"{model.url}/v1",
            "serve__workers": workers,
            "sessions__shutdown_seconds": 1,
        }
        with process(home, "", "serve", "--port", "0", **settings) as running:
            assert running.stdout is not None
            address = running.stdout.readline().split("listens on ")[1].split("/v1")[0]

            def ask() -> None:
                connections = KeptConnections()
                body = {
                    "model": "m",
                    "messages": [{"role": "user", "content": "My boat is called Wren."}],
                }
                status, text = connections.send(
                    address, "POST", "/v1/chat/completions", "ann", body
                )
                answers.append((status, text, connections.headers))

            asking = threading.Thread(target=ask)
            asking.start()
            assert model.wait(1)
            running.terminate()
            asking.join(30)
            assert running.wait(60) == 0  # before the block ends it once more
    ((status, text, headers),) = answers
    assert status == 503
    assert int(headers["retry-after"]) >= 1
    assert headers["content-type"] == "application/problem+json"
    problem = json.loads(text)
    assert (problem["status"], problem["title"]) == (503, "ClosedError")
    assert problem["detail"]
    assert "Idempotency-Key" in problem["hint"]
