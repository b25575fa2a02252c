"""Changing the embedding model never mixes vectors, and re-embeds in the background."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

import engrams
from engrams.core import Turn
from engrams.errors import ModelError
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


def test_a_change_of_model_leaves_no_gap(tmp_path: Path) -> None:
    """While vectors are made anew, a memory that waits for its own is found as well as those that
    have theirs; the status says how many wait.
    """
    things = ("violin", "kayak", "tractor", "lantern", "teapot", "carpet")
    texts = [f"{thing} {room}" for thing in things for room in ("attic", "cellar")]
    with engrams.open(
        home=tmp_path, embedder=HashEmbedder(32), jobs__workers=0, write__extract="off"
    ) as engine:
        for text in texts:
            engine.observe(Turn(text, session=text), scope=ANN)

    class HaltingEmbedder(HashEmbedder):
        """A server that goes down after the first batch."""

        is_down = False

        def embed(
            self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
        ) -> npt.NDArray[np.float32]:
            if purpose == "document":
                if self.is_down:
                    raise ModelError("down")
                self.is_down = True
            return super().embed(texts, purpose)

    new = HaltingEmbedder(48, inline=False)
    with engrams.open(
        home=tmp_path,
        embedder=new,
        jobs__workers=0,
        write__extract="off",
        embed__batch_size=4,
    ) as engine:
        engine.drain(2)
        assert engine.status()["unembedded"] == len(texts) - 4
        for text in texts:
            hits = engine.search(f"{text}?", scope=ANN, limit=1).hits
            assert hits[0].record.text == text
