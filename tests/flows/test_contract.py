"""What the documents promise of settings and of the fields of a memory, checked through the engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engrams.core import Evidence, Kind, Layer, Provenance, Record, Scope, Status, Tier, Vector
from engrams.errors import SettingsError
from engrams.ports import NewRecord, WriteBatch
from engrams.settings import Settings, load
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.covers("S1.2")
@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ("read", {"limit": "many"}),
        ("read", {"limit": -1}),
        ("write", {"debounce_seconds": 301}),
        ("write", {"min_confidence": 1.5}),
        ("jobs", {"max_queued": 0}),
        ("summary", {"tokens": 0}),
        ("summary", {"max_tokens": 300, "tokens": 300}),
        ("review", {"old_days": 0}),
        ("caps", {"facts": "all"}),
        ("vault", {"source_of_truth": "maybe"}),
        ("vault", {"colour": "blue"}),
    ],
)
def test_settings_are_checked_when_they_are_made(section: str, wrong: dict[str, Any]) -> None:
    """A wrong type, a value out of range, an unknown name:
    each raises at construction, and names the setting when loaded.
    """
    with pytest.raises(ValidationError):
        Settings.model_validate({section: wrong})
    with pytest.raises(SettingsError, match=section):
        load({f"{section}.{name}": value for name, value in wrong.items()}, environ={})
    with pytest.raises(ValidationError):
        Settings().read.limit = 3


@pytest.mark.covers("S3.23")
def test_every_field_of_a_memory_persists(tmp_path: Path) -> None:
    """Scope, range of messages, files, provenance, use, strength, confidence, trust, status and
    successor, reinforcements, the text that is searched and the embedding with its model: all as
    they were after storing, and after an export and an import.
    """
    embedder = HashEmbedder()
    clock = SettableClock(START)
    scope = Scope((*ANN, "project", "x/y"))
    again = {"source": "01b", "session": "s1", "at": START.isoformat()}
    record = Record(
        id="01every",
        scope=scope,
        kind=Kind.FACT,
        text="Kim lives in 京都",
        recorded_at=START,
        layer=Layer.SEMANTIC,
        tier=Tier.LONGTERM,
        status=Status.SUPERSEDED,
        role="user",
        speaker="Kim",
        session="s1",
        caption="a map",
        valid_from=START - timedelta(days=9),
        valid_to=START,
        ended_at=START,
        subject="Kim",
        predicate="lives_in",
        object="京都",
        category="home",
        tags=("a", "b"),
        evidence=(Evidence("in 京都", "01a", "Kim"),),
        provenance=Provenance(
            channel="user", extractor="rules", prompt="p", reason="said so", files=("notes/k.md",)
        ),
        importance=0.25,
        confidence=0.75,
        trust=0.5,
        strength=3,
        access_count=4,
        last_accessed=START,
        superseded_by="01next",
        meta={"message_range": [3, 7], "reinforcements": [again]},
    )
    row = embedder.embed([record.search_text])[0]
    file = tmp_path / "all.jsonl"
    with temp_engine(jobs__workers=0, clock=clock, embedder=embedder) as engine:
        vector = Vector(record.id, embedder.card.id, embedder.card.dimension, row.tobytes())
        engine.store.commit(
            WriteBatch("test", "put", START, puts=(NewRecord(record, vector=vector),))
        )
        assert engine.get(record.id, scope=scope) == record
        assert record.search_text == "Kim lives in 京都 [a map]"
        assert (engine.store.vectors(scope.owner, [record.id], embedder.card.id)[0] == row).all()
        assert not engine.store.vectors(scope.owner, [record.id], "another-model").any()
        engine.dump(file, scope=ANN)
    with temp_engine(jobs__workers=0, clock=clock, embedder=embedder) as other:
        other.load(file, scope=ANN)
        assert other.get(record.id, scope=scope) == record


@pytest.mark.covers("S0.56")
def test_every_knob_of_the_cache_table_is_there() -> None:
    """The preset has the stated value of each, any of them can be changed, and a variable overrides
    the models and the prefix.
    """
    wanted = {
        "tiers.working_size": 20,
        "tiers.promote_importance": 0.5,
        "tiers.recent_size": 40,
        "tiers.sweep_seconds": 300.0,
        "tiers.cold_decay": 0.2,
        "tiers.cold_minutes": 5.0,
        "read.routing.recent_limit": 10,
        "topics.join_cosine": 0.7,
        "topics.max_members": 20,
        "read.routing.topics": 6,
        "read.routing.per_topic": 2,
        "tiers.hot_size": 20,
        "tiers.hot_cosine": 0.6,
        "read.min_scores.dense": 0.6,
        "read.weights.dense": 0.6,
        "read.weights.recency": 0.3,
        "read.weights.importance": 0.1,
    }
    settings = load({"preset": "cache"}, environ={}).settings
    assert {name: at(settings, name) for name in wanted} == wanted
    for name, value in wanted.items():
        other = type(value)(value / 2)
        assert at(load({"preset": "cache", name: other}, environ={}).settings, name) == other, name
    variables = {
        "ENGRAMS_CHAT__PROVIDER": "ollama",
        "ENGRAMS_CHAT__URL": "http://localhost:1",
        "ENGRAMS_CHAT__MODEL": "qwen2.5:0.5b",
        "ENGRAMS_EMBED__MODEL": "bge",
        "ENGRAMS_EMBED__QUERY_PREFIX": "",
    }
    named = load({"preset": "cache"}, environ=variables).settings
    assert (named.chat.url, named.chat.model, named.embed.model) == (
        "http://localhost:1",
        "qwen2.5:0.5b",
        "bge",
    )
    assert (named.embed.query_prefix, settings.embed.query_prefix) == ("", None)


def at(settings: Settings, name: str) -> Any:
    """A setting by its dotted name."""
    node: Any = settings
    for part in name.split("."):
        node = getattr(node, part)
    return node
