"""The throw-away engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engrams.errors import ClosedError, SettingsError
from engrams.testing import HashEmbedder, ScriptedModel, SettableClock, temp_engine

SCOPE = ("user", "alice")


def test_it_remembers_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added is found;
    the home is fresh, the caller's variables are not seen, and in the end all of it is gone.
    """
    monkeypatch.setenv("ENGRAMS_READ__LIMIT", "3")
    before = dict(os.environ)
    with temp_engine(embedder=HashEmbedder(64), clock=SettableClock("2026-03-01")) as engine:
        home = Path(engine.settings.home)
        assert engine.settings.read.limit == 10
        receipt = engine.add("Alice lives in Lisbon", scope=SCOPE)
        assert receipt.recorded_at.isoformat() == "2026-03-01T00:00:00+00:00"
        assert (
            engine.search("Where does Alice live?", scope=SCOPE).hits[0].record.text
            == "Alice lives in Lisbon"
        )
    assert not home.parent.exists()
    assert dict(os.environ) == before
    with pytest.raises(ClosedError):
        engine.add("late", scope=SCOPE)


def test_settings_go_by_name() -> None:
    """Settings are given with two underscores before a section's setting;
    an unknown one is named.
    """
    with (
        ScriptedModel() as model,
        temp_engine(
            read__limit=2, chat__provider="openai", chat__model="m", chat__url=model.url
        ) as engine,
    ):
        assert engine.settings.read.limit == 2
        assert engine.chat_model is not None
        assert engine.chat_model.name == "m"
    with pytest.raises(SettingsError), temp_engine(no_such_setting=1):
        pass
