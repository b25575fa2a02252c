"""All tests that every store must pass, as a class for a store that stands elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.store.make import Time

from engrams.ports import Clock, Store

MODULES = (
    "change", "commit", "filters", "jobs", "ledger", "listing", "owner_state", "purge", "search", "sessions", "spoken", "webhooks",
)  # fmt: skip
"""Modules of ``tests/store`` that know a store by its ports only."""


class StoreConformance:
    """Tests of every port; a subclass says how its store is opened.

    It runs beside the others, with no fixture of its own to write::

        class TestMine(StoreConformance):
            def open_store(self, home: Path, clock: Clock) -> Store:
                return MyStore(home, clock)
    """

    def open_store(self, home: Path, clock: Clock) -> Store:
        """Open an empty store;
        ``home`` is a folder of its own that is not made yet, ``clock`` tells the time.
        """
        raise NotImplementedError

    @pytest.fixture
    def store(self, home: Path, clock: Time) -> Iterator[Store]:
        """An empty store for one test."""
        opened = self.open_store(home, clock)
        yield opened
        opened.close()


def _find_tests(module: str) -> dict[str, Callable[..., Any]]:
    """Tests of a module that take a store."""
    found = {
        name: value
        for name, value in vars(import_module(f"tests.store.test_{module}")).items()
        if name.startswith("test_")
    }
    return {
        name: value
        for name, value in found.items()
        if {"store", "filled"} & inspect.signature(value).parameters.keys()
    }


for _module in MODULES:
    for _name, _test in _find_tests(_module).items():
        setattr(StoreConformance, f"{_name}_of_{_module}", staticmethod(_test))
