"""A message of ten megabytes through the proxy:
it is answered, told of, and nothing waits behind it.
"""

from __future__ import annotations

import logging

import pytest
from tests.surfaces.proxy.harness import ANSWER, Harness
from tests.surfaces.proxy.raw import opening, piece

LONG = ("the lamp in the harbour is green " * 400_000)[:10_000_000]


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_of_ten_megabytes(
    bench: Harness, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The model gets all of it;
    a header says that it is not stored; the answer is, and so is what is said next.
    """
    if stream:
        bench.raw.says(opening(), *map(piece, ANSWER), piece(b""))
    before = bench.client.get("/health").json()["memory"]
    with caplog.at_level(logging.WARNING, "engrams.proxy"):
        answer = bench.ask(LONG, stream=stream)
    assert answer.status_code == 200
    assert answer.headers["x-engrams-unsaved"] == "10000000 bytes; limits.text_bytes is 1000000"
    assert bench.sent()["messages"][-1]["content"] == LONG
    assert [role for role, _ in bench.told()] == ["assistant"]
    after = bench.client.get("/health").json()["memory"]
    assert after["too_long"] == before.get("too_long", 0) + 1 and after.get(
        "lost", 0
    ) == before.get("lost", 0)
    assert "not stored" in caplog.text and LONG[:30] not in caplog.text
    told = bench.ask("I live in Oslo.")
    assert "x-engrams-unsaved" not in told.headers
    assert ("user", "I live in Oslo.") in bench.told()
    assert not bench.engine.status()["dead"]
