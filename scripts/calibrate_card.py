"""Measure what each embedder's cosines mean, and write the scales of their cards.

    python scripts/calibrate_card.py MODEL_FOLDER DATA.json…

MODEL_FOLDER: all-MiniLM-L6-v2 as ONNX with tokenizer.json. DATA: conversations as ``python -m
bench.quality`` reads them. Writes ``src/engrams/models/embed/data/scales.json`` and prints what
docs/concepts/thresholds.md shows. One minute on two cores.

A scale has eleven cosines of a model: those that mean what 0, 0.1 … 1 mean with MiniLM. Where both
models are here, they are the cosines with the same quantile over the same pairs of texts, of each
data set and of each of three kinds as many: turns of different conversations (random), turns that
follow each other and questions with the turns that answer them (same topic), and turns beside
themselves without case and punctuation or without every fifth word (near-duplicates). Of a model
that is not here its published cuts are taken: the cosines that part paraphrases from other pairs
best, beside MiniLM's for the same pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from engrams.models.embed.cosine_scales import PLACES
from engrams.models.embed.onnx import OnnxEmbedder
from engrams.models.embed.static import BuiltinEmbedder
from engrams.ports import Embedder
from engrams.settings import EmbedSettings

OUT = Path(__file__).parents[1] / "src/engrams/models/embed/data/scales.json"
CHARS = 600
PAIRS = 5000
Pairs = list[tuple[str, str]]

# Cuts with the best F1 by MTEB (embeddings-benchmark/results, English): of MiniLM, then of the
# other. Test and validation set are averaged.
OPUSPARCUS = 0.294
TWITTER = 0.631
SPRINT = 0.703
PUBLISHED: Mapping[str, Sequence[tuple[float, float]]] = {
    "bge-large-en-v1.5": (
        (0.0, 0.4),  # assumed: no cut that low is published
        (OPUSPARCUS, 0.630),
        (
            0.62,
            0.7,
        ),  # document 000 says that 0.70 keeps a pair apart which MiniLM gives 0.58, and the built-in table 0.61
        (TWITTER, 0.726),
        (SPRINT, 0.803),
        (1.0, 1.0),
    ),
    "text-embedding-3-small": (
        (0.0, 0.1),
        (OPUSPARCUS, 0.390),
        (TWITTER, 0.652),
        (SPRINT, 0.700),
        (1.0, 1.0),
    ),
}
"""Cosines of MiniLM and of another model that mean the same."""

ASKED = {
    "bge-large-en-v1.5": (0.6, 0.7, 0.75, 0.92, 0.93),
    "all-MiniLM-L6-v2": (0.3, 0.4, 0.5, 0.85, 0.95),
    "text-embedding-3-small": (0.4, 0.5),
}
"""Numbers that the documents give for their models."""


def kinds_of_pairs(
    data: Mapping[str, Any], rng: random.Random
) -> Iterator[tuple[str, list[Pairs]]]:
    """The three kinds of pairs, each of parts that count alike."""
    talks = data["conversations"]
    turns = [
        (talk["id"], item["session"], item["text"][:CHARS])
        for talk in talks
        for item in talk["items"]
    ]
    drawn = [rng.sample(turns, 2) for _ in range(PAIRS)]
    yield "random", [[(one[2], other[2]) for one, other in drawn if one[0] != other[0]]]
    following = [(one[2], other[2]) for one, other in pairwise(turns) if one[:2] == other[:2]]
    known = {
        (talk["id"], item["id"]): item["text"][:CHARS] for talk in talks for item in talk["items"]
    }
    asked = [
        (question["text"], (talk["id"], id))
        for talk in talks
        for question in talk["questions"]
        for id in question["evidence"]
    ]
    yield (
        "same topic",
        [following, [(question, known[turn]) for question, turn in asked if turn in known]],
    )
    some = rng.sample(sorted({text for _, _, text in turns if len(text.split()) >= 8}), 500)
    shorter = [
        (text, " ".join(word for place, word in enumerate(text.split(), 1) if place % 5))
        for text in some
    ]
    yield (
        "near-duplicates",
        [[(text, re.sub(r"[!.,?'’]", "", text).lower()) for text in some], shorter],
    )


def cosines(embedder: Embedder, pairs: Pairs) -> np.ndarray[Any, Any]:
    """Cosine of each pair; each text is embedded once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    rows = dict(zip(texts, embedder.embed(texts), strict=True))
    return np.array([rows[one] @ rows[other] for one, other in pairs])


class Distribution:
    """Weighted cosines of one model over all pairs."""

    def __init__(self, parts: Sequence[tuple[float, np.ndarray[Any, Any]]]) -> None:
        values = np.concatenate([found for _, found in parts])
        weights = np.concatenate(
            [np.full(len(found), weight / len(found)) for weight, found in parts]
        )
        order = np.argsort(values)
        self.values = values[order]
        self.levels = np.cumsum(weights[order]) / weights.sum()

    def level(self, cosine: Any) -> Any:
        return np.interp(cosine, self.values, self.levels)

    def quantile(self, level: Any) -> Any:
        return np.interp(level, self.levels, self.values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    given = parser.parse_args()
    minilm = OnnxEmbedder(EmbedSettings(provider="onnx", model=str(given.model)))
    embedders: dict[str, Embedder] = {"all-MiniLM-L6-v2": minilm, "builtin": BuiltinEmbedder()}
    parts: dict[str, list[tuple[float, Any]]] = {name: [] for name in embedders}
    for path in given.data:
        for kind, several in kinds_of_pairs(json.loads(path.read_text("utf-8")), random.Random(0)):
            for name, embedder in embedders.items():
                found = [cosines(embedder, pairs) for pairs in several]
                parts[name] += [(1 / len(several), values) for values in found]
                shown = np.quantile(np.concatenate(found), (0.05, 0.5, 0.95))
                print(f"{path.stem:12} {kind:16} {name:18}", *(f"{value:6.2f}" for value in shown))
    source = Distribution(parts["all-MiniLM-L6-v2"])
    own = Distribution(parts["builtin"])
    scales = {
        "all-MiniLM-L6-v2": list(PLACES),
        "builtin": [round(float(own.quantile(source.level(place))), 3) for place in PLACES],
    }
    scales["builtin"][-1] = 1.0
    for name, points in PUBLISHED.items():
        scales[name] = [
            round(float(np.interp(place, *zip(*points, strict=True))), 3) for place in PLACES
        ]
    for name, numbers in ASKED.items():
        for number in numbers:
            place = np.interp(number, scales[name], PLACES)
            others = (
                f"{other} {np.interp(place, PLACES, scales[other]):.2f}"
                for other in scales
                if other != name
            )
            print(f"{name:24} {number:.2f}", *others)
    OUT.write_text(
        "{\n" + ",\n".join(f' "{name}": {scale}' for name, scale in scales.items()) + "\n}\n",
        "utf-8",
    )
    print(f"written to {OUT}")


if __name__ == "__main__":
    main()
