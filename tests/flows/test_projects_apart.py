"""Projects of one person: what a model that learns from one of them is shown."""

from __future__ import annotations

import json
from pathlib import Path

import engrams
from engrams import Turn
from engrams.settings import load
from engrams.testing import ScriptedModel

SHOP = ("user", "ann", "project", "shop")
LEDGER = ("user", "ann", "project", "ledger")


def test_a_model_sees_only_its_own_projects_memories(home: Path) -> None:
    """What is known of the person is shown to it, what another project knows is not."""
    with ScriptedModel() as model:
        values = {"chat.provider": "openai", "chat.model": "m", "chat.url": f"{model.url}/v1"}
        values |= {
            "home": str(home),
            "jobs.workers": 0,
            "write.extract": "llm",
            "write.debounce_seconds": 0,
        }
        with engrams.open(load(values, environ={}).settings) as engine:
            engine.add("Always use pnpm in the shop.", scope=SHOP, kind="rule")
            engine.add("Answers are short.", scope=("user", "ann"), kind="rule")
            engine.observe([Turn("The ledger runs on Postgres 16 in Frankfurt.")], scope=LEDGER)
            engine.drain(20)
        asked = json.dumps([request.body for request in model.requests])
    assert "Postgres 16" in asked
    assert "Answers are short" in asked and "pnpm" not in asked
