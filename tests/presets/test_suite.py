"""Every preset keeps the same contract: what a memory is for does not depend on how it is tuned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Status
from engrams.settings import Settings, load, names, presets
from engrams.testing import HashEmbedder, SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SOURCE = Path(engrams.__file__).parent


@pytest.fixture(params=presets())
def preset(request: pytest.FixtureRequest) -> str:
    """Each preset that ships."""
    return str(request.param)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture
def engine(preset: str, clock: SettableClock) -> Iterator[MemoryEngine]:
    """An engine on the preset, its jobs run by hand."""
    with temp_engine(preset=preset, jobs__workers=0, clock=clock) as made:
        yield made


def texts(engine: MemoryEngine, query: str, **fields: object) -> list[str]:
    """What a search of Ann's memory finds, best first."""
    return [hit.record.text for hit in engine.search(query, scope=ANN, **fields).hits]  # type: ignore[arg-type]


def test_the_presets_are_those_of_the_documents() -> None:
    """Five documents, and the default."""
    assert set(presets()) == {"default", "cache", "engine", "proxy", "graph", "layers"}


def test_a_preset_holds_nothing_but_settings(preset: str) -> None:
    """Every value of a preset is a setting that exists, within its range."""
    settings = load({"preset": preset}, environ={}).settings
    assert settings.preset == preset


def test_only_the_loader_knows_presets() -> None:
    """No module of the package compares anything with the name of a preset."""
    quoted = re.compile(
        rf"[\"'](?:{'|'.join(name for name in presets() if name not in ('default', 'engine', 'proxy', 'graph', 'cache'))})[\"']"
    )
    asked = re.compile(r"\.preset\b(?!s)")
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "settings" or {"surfaces", "program"} & set(path.parts):
            continue
        text = path.read_text("utf-8")
        if asked.search(text) or quoted.search(text):
            wrong.append(path.name)
    assert wrong == []


def test_what_was_added_is_found(engine: MemoryEngine) -> None:
    """Read your writes, by the words of it."""
    engine.add("The spare key is under the blue flowerpot", scope=ANN)
    engine.add("Our cat Felix hates thunderstorms", scope=ANN)
    assert (
        texts(engine, "Where is the spare key?")[0] == "The spare key is under the blue flowerpot"
    )
    assert texts(engine, "spare key under the blue flowerpot", limit=1) == [
        "The spare key is under the blue flowerpot"
    ]


def test_another_owner_sees_nothing(engine: MemoryEngine) -> None:
    """No tuning opens one owner's memory to another."""
    engine.add("The spare key is under the blue flowerpot", scope=ANN)
    assert engine.search("spare key", scope=BOB).hits == ()


def test_a_context_keeps_its_budget(engine: MemoryEngine) -> None:
    """What was found stands in the context, which never costs more than allowed."""
    engine.add("The spare key is under the blue flowerpot", scope=ANN)
    engine.sessions.recall(ANN, on=True)
    context = engine.context("Where is the spare key?", scope=ANN, tokens=120)
    assert "flowerpot" in context.text
    assert engine.counter.count(context.text) <= 120
    assert engine.context("Where is the spare key?", scope=ANN, tokens=0).text == ""


def test_forgetting_hides_and_restoring_brings_back(engine: MemoryEngine) -> None:
    """A tombstone is found by nothing and can be lifted."""
    receipt = engine.add("The spare key is under the blue flowerpot", scope=ANN)
    assert engine.forget(receipt.id, scope=ANN).status is Status.FORGOTTEN
    assert texts(engine, "Where is the spare key?") == []
    engine.restore(receipt.id, scope=ANN)
    assert texts(engine, "Where is the spare key?") == ["The spare key is under the blue flowerpot"]


def test_the_past_can_be_asked_for(engine: MemoryEngine, clock: SettableClock) -> None:
    """A read as of a time before a memory does not know it."""
    engine.add("The spare key is under the blue flowerpot", scope=ANN)
    clock.forward(days=2)
    engine.add("The spare key is with our neighbour now", scope=ANN)
    assert texts(engine, "Where is the spare key?", as_of=START.replace(hour=10)) == [
        "The spare key is under the blue flowerpot"
    ]


def test_what_is_written_out_can_be_read_in(
    engine: MemoryEngine, preset: str, tmp_path: Path
) -> None:
    """An export read into an empty store of the same preset gives the same memories."""
    engine.add("The spare key is under the blue flowerpot", scope=ANN)
    engine.add("I live in Paris", scope=ANN)
    file = tmp_path / "all.jsonl"
    written = engine.dump(file, scope=ANN)
    with temp_engine(preset=preset, jobs__workers=0, clock=SettableClock(START)) as other:
        other.load(file, scope=ANN)
        mine, theirs = (
            {record.id: record for record in each.list(scope=ANN, limit=100).records}
            for each in (engine, other)
        )
        assert mine == theirs
        assert written >= len(mine) >= 2
        assert (
            texts(other, "Where is the spare key?")[0]
            == "The spare key is under the blue flowerpot"
        )


@pytest.mark.covers("S0.56", "S2.51")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "cache",
            {
                "read.weights.dense": 0.6,
                "read.weights.recency": 0.3,
                "read.weights.importance": 0.1,
                "read.recency_days": 7.0,
            },
        ),
        (
            "cache",
            {
                "read.limit": 6,
                "read.min_scores.dense": 0.6,
                "usage.co_occurs_cosine": 0.6,
                "jobs.workers": 4,
            },
        ),
        (
            "engine",
            {
                "read.weights.dense": 0.7,
                "read.weights.bm25": 0.3,
                "read.min_score": 0.1,
                "read.limit": 10,
                "read.half_life_days": 30.0,
            },
        ),
        (
            "engine",
            {
                "write.min_confidence": 0.7,
                "read.context_tokens": 2000,
                "vault.memory_items": 50,
                "write.debounce_seconds": 30.0,
            },
        ),
        (
            "proxy",
            {
                "read.limit": 5,
                "read.recency_weight": 0.2,
                "read.mmr_lambda": 0.7,
                "rerank.threshold": 0.35,
                "serve.top_k": 5,
            },
        ),
        (
            "proxy",
            {
                "vault.enabled": True,
                "vault.git": True,
                "serve.port": 8100,
                "read.recency_days": 30.0,
            },
        ),
        (
            "graph",
            {
                "read.rrf_k": 60.0,
                "graph.depth": 2,
                "graph.seeds": 10,
                "graph.decay": 0.7,
                "read.cut_ratio": 0.9,
                "read.cut_gap": 0.95,
            },
        ),
        (
            "graph",
            {
                "delivery.mode": "pending",
                "delivery.shown_minutes": 45.0,
                "delivery.prefetch_ttl_seconds": 120.0,
                "read.limit": 5,
            },
        ),
        (
            "layers",
            {
                "read.rrf_k": 60.0,
                "read.limit": 5,
                "read.min_scores.recall": 0.33,
                "read.min_scores.dense": 0.5,
                "write.dedup_jaccard": 0.85,
            },
        ),
    ],
)
def test_a_preset_has_its_documents_values(name: str, wanted: dict[str, object]) -> None:
    """The knobs that a document names have the values that it states."""
    settings = load({"preset": name}, environ={}).settings
    assert {each: value(settings, each) for each in wanted} == wanted


def test_a_preset_is_only_where_values_start_from() -> None:
    """Whatever is set elsewhere wins over the preset, and the rest of it stays."""
    settings = load(
        {"preset": "cache", "read.limit": 9}, environ={"ENGRAMS_READ__RECENCY_DAYS": "3"}
    ).settings
    assert (settings.read.limit, settings.read.recency_days, settings.read.min_scores.dense) == (
        9,
        3.0,
        0.6,
    )


def test_two_presets_share_one_store(tmp_path: Path) -> None:
    """What was written under one preset is read under every other:
    a preset is a view, not a format.
    """
    home = tmp_path / "home"
    with engrams.open(
        load({"preset": "default", "home": str(home)}, environ={}).settings, embedder=HashEmbedder()
    ) as engine:
        engine.add("The spare key is under the blue flowerpot", scope=ANN)
    for name in presets():
        with engrams.open(
            load({"preset": name, "home": str(home)}, environ={}).settings, embedder=HashEmbedder()
        ) as engine:
            assert texts(engine, "spare key under the flowerpot") == [
                "The spare key is under the blue flowerpot"
            ], name


def value(settings: Settings, name: str) -> object:
    """A setting by its dotted name."""
    assert name in names()
    node: object = settings
    for part in name.split("."):
        node = getattr(node, part)
    return node


def test_news_comes_before_what_it_ended(engine: MemoryEngine) -> None:
    """A search finds the new home first, whatever the floor, and the old one as over."""
    for text in ("I'm vegetarian and I live in Paris.", "I moved to Berlin."):
        engine.observe([Turn(text, session="s")], scope=ANN)
        engine.drain(10)
    new_home, old_home = engine.search("Where do I live?", scope=ANN).hits
    assert new_home.record.text.startswith("I moved to Berlin")
    assert [mark.words.rstrip(".") for mark in old_home.ended_clauses] == ["I moved to Berlin"]
