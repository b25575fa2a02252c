"""The modules that hold public names for programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams import MemoryEngine, core, formats, types
from engrams.testing import temp_engine


@pytest.fixture
def memory() -> Iterator[MemoryEngine]:
    """An engine on a folder of its own."""
    with temp_engine() as engine:
        yield engine


def test_public_data_classes_are_those_of_core() -> None:
    """Every name of ``engrams.types`` is the class that the engine hands out."""
    assert all(getattr(types, name) is getattr(core, name) for name in types.__all__)


def test_an_importer_of_ones_own_is_loaded(memory: MemoryEngine) -> None:
    """What yields ``engrams.formats.ParsedTurn`` is a source for ``MemoryEngine.load``."""
    parsed = formats.ParsedTurn(types.Turn("I keep bees.", external_id="mine-1"))
    counts = memory.load([parsed], scope=("user", "ann"))
    assert counts.stored == 1
