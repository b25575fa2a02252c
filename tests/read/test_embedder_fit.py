"""An embedder counts for as much as it is worth on the memory at hand."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

import engrams
from engrams import MemoryEngine, Turn
from engrams.models.embed.factory import choose_embedder
from engrams.ports import Embedder, EmbedderCard
from engrams.settings import EmbedSettings

ANN = ("user", "ann")
THINGS = (
    "violin",
    "kayak",
    "tractor",
    "lantern",
    "teapot",
    "carpet",
    "telescope",
    "hammer",
    "saddle",
    "blanket",
)
PLACES = ("attic", "cellar", "garage", "kitchen", "garden", "hallway")
CHINESE = (
    "我在北京学小提琴",
    "周末我们去划船",
    "奶奶的茶壶是蓝色的",
    "我把望远镜放在阁楼",
    "妹妹养了两只鹦鹉",
)


class NoiseEmbedder:
    """An embedder that knows nothing: a random vector for each text."""

    def __init__(self, *, is_english: bool = False) -> None:
        self.card = EmbedderCard("noise", 8, is_english=is_english)

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> npt.NDArray[np.float32]:
        """Return vectors that depend on the whole text alone."""
        del purpose
        rows = np.stack(
            [np.random.default_rng(zlib.crc32(text.encode())).normal(size=8) for text in texts]
        )
        unit: npt.NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit.astype(np.float32)


def fill(memory: MemoryEngine) -> None:
    """Store two turns of a session about each thing in each place."""
    for place in PLACES:
        for thing in THINGS:
            session = f"{place} {thing}"
            texts = (
                f"I keep the {thing} in the {place}.",
                f"The {thing} is heavy for the {place}.",
            )
            memory.observe([Turn(text, session=session) for text in texts], scope=ANN)
    memory.drain(60)


def count_first(embedder: Embedder, home: Path) -> int:
    """Count the questions whose best hit names both the thing and the place."""
    with engrams.open(home=home, embedder=embedder, jobs__workers=0) as memory:
        fill(memory)
        asked = [(thing, place) for thing in THINGS for place in PLACES]
        count = 0
        for thing, place in asked:
            hits = memory.search(f"Is the {thing} in the {place}?", scope=ANN, limit=1).hits
            count += bool(hits) and thing in hits[0].record.text and place in hits[0].record.text
        return count


def test_an_embedder_that_knows_nothing_does_no_harm(tmp_path: Path) -> None:
    """Its vectors part neighbours from strangers no better than chance, so that words count."""
    builtin = choose_embedder(EmbedSettings())
    usual = count_first(builtin, tmp_path / "builtin")
    assert usual >= 50
    assert count_first(NoiseEmbedder(), tmp_path / "noise") >= usual - 1


def test_an_english_embedder_is_not_asked_in_chinese(tmp_path: Path) -> None:
    """A memory of a few messages is found by its words, whatever the vectors say."""
    with engrams.open(
        home=tmp_path, embedder=NoiseEmbedder(is_english=True), jobs__workers=0
    ) as memory:
        for text in CHINESE:
            memory.observe([Turn(text, session=text)], scope=ANN)
        memory.drain(60)
        for question, answer in (
            ("茶壶是什么颜色", "茶壶"),
            ("望远镜在哪里", "望远镜"),
            ("妹妹养了什么", "鹦鹉"),
        ):
            hits = memory.search(question, scope=ANN, limit=1).hits
            assert answer in hits[0].record.text
