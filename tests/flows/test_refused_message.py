"""A message that a model never answers usably is set aside, and what is said after it is learned."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.proxy.test_proxy_story import learn

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.testing import ScriptedModel, SettableClock

SCOPE = ("user", "ann", "conversation", "c1")


def refuse_the_mill(request: Any) -> Any:
    """Answer as a learning model does, but refuse what is said of the mill."""
    if re.search(r"^\[\d+\].*the mill", request.prompt, re.MULTILINE):
        return "I would rather not."
    return learn(request)


@pytest.mark.covers("S2.35")
@pytest.mark.parametrize("preset", ["default", "proxy", "graph"])
def test_a_refused_message_does_not_keep_the_next_from_being_learned(
    tmp_path: Path, preset: str
) -> None:
    """It keeps a job of its own, which is dead at last and can be tried again."""
    clock = SettableClock()
    with (
        ScriptedModel(answer=refuse_the_mill) as model,
        engrams.open(
            home=tmp_path,
            preset=preset,
            write__debounce_seconds=0.0,
            jobs__workers=0,
            vault__enabled=False,
            clock=clock,
            chat__provider="openai",
            chat__model="m",
            chat__url=f"{model.url}/v1",
        ) as memory,
    ):
        for text in ("Fact one: the mill is old", "Fact two: the barge is long"):
            memory.observe(Turn(text), scope=SCOPE)
        for _ in range(12):
            memory.drain()
            clock.forward(hours=2)
        kinds = (Kind.FACT, Kind.PREFERENCE)
        texts = [record.text for record in memory.list(scope=SCOPE, kinds=kinds).records]
        assert any("barge" in text for text in texts)
        assert not any("mill" in text for text in texts)
        assert [job["kind"] for job in memory.status()["dead"]] == ["extract"]
