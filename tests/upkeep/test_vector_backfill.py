"""Changing the embedding model never mixes vectors, and re-embeds in the background."""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams.core import Turn
from engrams.testing import HashEmbedder

ANN = ("user", "ann")


@pytest.mark.covers("S3.12", "S3.58")
def test_another_model_finds_old_records_by_words_and_then_by_meaning(tmp_path: Path) -> None:
    """Under a new model old vectors are not compared;
    the text is still found; draining embeds everything anew.
    """
    with engrams.open(
        home=tmp_path, embedder=HashEmbedder(32), jobs__workers=0, write__extract="off"
    ) as engine:
        receipt = engine.observe(Turn("The kettle whistles in the kitchen"), scope=ANN)[0]
    new = HashEmbedder(48)
    with engrams.open(home=tmp_path, embedder=new, jobs__workers=0, write__extract="off") as engine:
        hit = engine.search("kettle", scope=ANN).hits[0]
        assert hit.record.id == receipt.id
        assert "cos" not in hit.parts
        assert engine.drain()
        assert engine.search("kettle", scope=ANN).hits[0].parts["cos"] > 0
        assert engine.stats(ANN)["model"][new.card.id] == 1
    with engrams.open(home=tmp_path, embedder=new, jobs__workers=0, write__extract="off") as engine:
        assert engine.drain()
        assert engine.status()["jobs"]["embed"] == {"done": 1}, (
            "nothing was missing, so nothing was asked for again"
        )
