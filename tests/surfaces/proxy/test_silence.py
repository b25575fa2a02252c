"""Requests that memory has nothing for."""

from __future__ import annotations

import pytest
from tests.surfaces.proxy.harness import Harness

from engrams import Turn

SAID = (
    "The spare key is under the blue flowerpot.",
    "We painted the shed green.",
    "The ferry to the island leaves at nine.",
)


@pytest.mark.parametrize(
    "question", ["What is 2+2?", "Write a haiku", "What should I cook tonight?"]
)
def test_no_request_tells_the_model_to_refuse(bench: Harness, question: str) -> None:
    """Where nothing said before is near, the model gets the request as the client sent it:
    no memory, and no word about memory.
    """
    for text in SAID:
        bench.engine.observe([Turn(text, session="earlier")], scope=("user", bench.user))
    answer = bench.ask(question)
    assert answer.headers["x-engrams-memory"] == "none"
    assert bench.sent()["messages"] == [{"role": "user", "content": question}]
