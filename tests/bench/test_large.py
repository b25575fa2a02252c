"""Large scopes are written once, go on where they were stopped, and are measured beside one owner
alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench.speed.large import WideEmbedder, fill, format_table, scope, visits

from engrams.models.embed.factory import choose_embedder
from engrams.settings import EmbedSettings

MACHINE = {"cpu": "a processor", "cores": 2, "memory_gb": 8.0, "load": 0.1}


def test_wider_vectors_are_as_alike_as_before() -> None:
    """Turning the builtin table into 384 dimensions changes no cosine."""
    texts = ["The dog sleeps", "A dog is asleep", "Trains to Oslo"]
    own = choose_embedder(EmbedSettings()).embed(texts)
    wide = WideEmbedder(384).embed(texts)
    assert wide.shape == (3, 384)
    assert np.abs(wide @ wide.T - own @ own.T).max() < 1e-5


@pytest.mark.slow
def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    """A second run writes nothing;
    one for more owners writes those that are missing; every owner has their own.
    """
    home = str(tmp_path / "many")
    assert fill(home, 2, 40, 384)["written"] == 80
    assert fill(home, 2, 40, 384)["written"] == 0
    assert fill(home, 3, 40, 384)["written"] == 40
    assert fill(home, 3, 40, 384)["records"] == 120


@pytest.mark.slow
def test_a_report_has_times_and_memory_beside_the_budgets(tmp_path: Path) -> None:
    """One run of each part gives figures, and the table says what they are measured against."""
    one = str(tmp_path / "one")
    many = str(tmp_path / "many")
    report = {
        "machine": MACHINE,
        "dimension": 384,
        "fill": fill(one, 1, 60, 384),
        "one": {"records": 60, **scope(one, 384, 8)},
        "fill_many": fill(many, 3, 20, 384),
        "many": {"owners": 3, "each": 20, **visits(many, 3, 384, 8)},
        "alone": visits(one, 1, 384, 8),
    }
    assert report["many"]["visited"] == 3
    told = format_table(report)
    assert "one scope of 60: written at " in told
    assert "(budget 5 and 10)" in told
    assert "3 owners of 20" in told
