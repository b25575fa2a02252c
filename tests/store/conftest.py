"""The stores that must all behave the same: every test here that takes ``store`` runs on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.store import postgres
from tests.store.make import BOB, Time, add, at, record

from engrams.core import Kind, Provenance
from engrams.ports import Clock, Store
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore


def _file(home: Path, clock: Clock) -> Store:
    return SqliteStore.open(home / "memory.db", StoreSettings(), clock)


def _server(_home: Path, clock: Clock) -> Store:
    from engrams.store.postgres.store import PostgresStore

    return PostgresStore.open(postgres.empty_database(), StoreSettings(), clock)


def _pooled(_home: Path, clock: Clock) -> Store:
    from engrams.store.postgres.store import PostgresStore

    return PostgresStore.open(postgres.pooled(postgres.empty_database()), StoreSettings(), clock)


_SERVED = (
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
)
BACKENDS: dict[str, Callable[[Path, Clock], Store]] = {
    "sqlite-file": _file,
    "postgres": _server,
    "pooled": _pooled,
}
_MARKS = {"postgres": _SERVED, "pooled": (*_SERVED, pytest.mark.slow)}


@pytest.fixture
def clock() -> Time:
    """A clock that only the test moves."""
    return Time()


@pytest.fixture(params=[pytest.param(name, marks=_MARKS.get(name, ())) for name in BACKENDS])
def store(request: pytest.FixtureRequest, home: Path, clock: Time) -> Iterator[Store]:
    """An empty store of each backend."""
    opened = BACKENDS[request.param](home, clock)
    yield opened
    opened.close()


@pytest.fixture
def filled(store: Store) -> Store:
    """Three records that differ in everything a filter may look at."""
    add(
        store,
        record(
            "one",
            importance=0.2,
            strength=1,
            tags=("red", "big"),
            speaker="Ann",
            valid_from=at(days=1),
            meta={
                "n": 1,
                "s": "abc",
                "b": True,
                "l": ["x", 1, True],
                "user": {"access-level": 3, "1st": "y"},
                "z": None,
                "ü": "ö",
            },
        ),
        record(
            "two",
            importance=0.5,
            strength=5,
            tags=("red",),
            speaker="Bea",
            valid_from=at(days=2),
            kind=Kind.NOTE,
            meta={"n": 2.5, "s": "b%"},
        ),
        record(
            "three",
            importance=0.9,
            speaker="ann",
            provenance=Provenance("tool"),
            meta={"n": "1", "s": "", "b": False, "l": []},
        ),
        record("bob", BOB, meta={"n": 1, "s": "abc", "b": True}),
    )
    return store
