"""Facts as if they had been learned, with their vectors, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engrams import MemoryEngine
from engrams.core import Evidence, Kind, Layer, Record, Scope, Vector
from engrams.ports import NewRecord, WriteBatch
from engrams.testing import ScriptedModel, SettableClock, temp_engine

ANN = Scope(("user", "ann"))
BOB = Scope(("user", "bob"))


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model."""
    with ScriptedModel() as server:
        yield server


Open = Callable[..., MemoryEngine]


@pytest.fixture
def opened(clock: SettableClock) -> Iterator[Open]:
    """Opens engines whose jobs run by hand, and closes them."""
    made: list[Any] = []

    def open(**settings: Any) -> MemoryEngine:
        context = temp_engine(clock=clock, **{"jobs__workers": 0, **settings})
        made.append(context)
        return context.__enter__()

    yield open
    for context in reversed(made):
        context.__exit__(None, None, None)


@pytest.fixture
def engine(opened: Open) -> MemoryEngine:
    """An engine without a model."""
    return opened()


@pytest.fixture
def asking(opened: Open, model: ScriptedModel) -> MemoryEngine:
    """An engine with the scripted model, and a day's limit on its tokens."""
    return opened(**named(model), chat__daily_tokens=100_000)


def named(model: ScriptedModel) -> dict[str, Any]:
    """Settings with that model."""
    return {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": f"{model.url}/v1",
        "chat__retries": 0,
    }


def put(engine: MemoryEngine, text: str, scope: Scope = ANN, **fields: Any) -> str:
    """One statement as if it had been learned now; its id."""
    now = engine.now()
    number = sum(engine.stats(scope)["status"].values())
    id = f"{scope.labels[1]}-{now:%Y%m%d%H%M%S}-{number:04d}"
    values: dict[str, Any] = {
        "kind": Kind.FACT,
        "layer": Layer.SEMANTIC,
        "subject": "user",
        "recorded_at": now,
        **fields,
    }
    values.setdefault("evidence", (Evidence(text, f"turn-{id}"),))
    record = Record(id=id, scope=scope, text=text, **values)
    row = engine.embedder.embed([text])[0]
    vector = Vector(id, engine.embedder.card.id, len(row), row.tobytes())
    engine.store.commit(
        WriteBatch("test", "learned", now, puts=(NewRecord(record, vector=vector),))
    )
    return id
