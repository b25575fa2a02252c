"""``python -m bench.silence DATA.json… [--embedder builtin|FOLDER]``: silences by floor, false and
right ones.

Known questions are those of a conversation with evidence in it. Unknown ones are asked in a
conversation that they are not about: questions of the others, once as they are and once with this
one's names in place of theirs, and general questions in six languages. Those of category 5 name
what was nearly said: near misses, told apart.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import engrams
from bench.quality.data import Talk, load_dataset
from bench.quality.systems import OWNER, EngramsSystem, make_embedder
from engrams import demo
from engrams.ports import Embedder
from engrams.upkeep.nearness_calibration import load_general_questions

_FLOORS = tuple(round(0.10 + 0.02 * step, 2) for step in range(14))
_OTHERS = 50
_NAMES = 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.silence", description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="data sets")
    parser.add_argument(
        "--embedder", default="builtin", help="builtin, null, or the folder of an ONNX model"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("bench/out/silence.json"), help="where the figures go"
    )
    options = parser.parse_args()
    embedder = make_embedder(options.embedder)
    talks = [talk for path in options.data for talk in load_dataset(path).talks]
    scores: dict[str, list[float]] = defaultdict(list)
    silent: list[bool] = []
    for talk in talks:
        system = EngramsSystem(embedder)
        system.fill(talk.items)
        print(
            f"{talk.id}: calibrated {json.dumps(system.engine.nearness.calibrate(OWNER).to_json())}"
        )
        known = {one.text: set(one.evidence) for one in talk.questions}
        for group, text in _questions(talk, talks):
            found = system.engine.explain(text, scope=OWNER)
            scores[group].append(found.nearness)
            if group == "known" and known[text] & {
                hit.record.external_id for hit in found.hits[:10]
            }:
                scores["known, among the ten"].append(found.nearness)
                silent.append(found.abstain)
        system.close()
    print(f"known, among the ten, by the floors chosen: {np.mean(silent):.1%} silent")
    for group, value in _ask_demo(embedder):
        scores[group].append(value)
    table = {
        group: {floor: float(np.mean(np.array(some) < floor)) for floor in _FLOORS}
        for group, some in scores.items()
    }
    print(
        f"\nshare that is silent, %, {embedder.card.id}\n{'floor':32}"
        + "".join(f"{floor:6.2f}" for floor in _FLOORS)
    )
    for group, row in table.items():
        print(
            f"{group:24}{len(scores[group]):8}"
            + "".join(f"{100 * share:6.1f}" for share in row.values())
        )
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(
        json.dumps({"embedder": embedder.card.id, "silent": table}, indent=1), "utf-8"
    )
    print(f"\nwritten to {options.json}")


def _questions(talk: Talk, talks: list[Talk]) -> Iterator[tuple[str, str]]:
    """Groups and texts to ask in this conversation."""
    yield from (
        ("near misses" if one.category == "5" else "known", one.text) for one in talk.questions
    )
    others = [
        (other, one.text) for other in talks if other.id != talk.id for one in other.questions
    ]
    for other, text in random.Random(talk.id).sample(others, min(_OTHERS, len(others))):
        yield "of other conversations", text
        named = _rename(text, other, talk)
        if named != text:
            yield "the same with our names", named
    yield from (("general", text) for text in load_general_questions())


def _rename(text: str, other: Talk, talk: Talk) -> str:
    for theirs, ours in zip(_speakers(other), _speakers(talk), strict=False):
        text = re.sub(rf"\b{re.escape(theirs)}\b", ours, text)
    return text


def _speakers(talk: Talk) -> list[str]:
    names = Counter(
        item.speaker for item in talk.items if item.speaker.lower() not in ("user", "assistant")
    )
    return [name for name, _ in names.most_common(_NAMES)]


def _ask_demo(embedder: Embedder) -> Iterator[tuple[str, float]]:
    with engrams.open(store__url=":memory:", embedder=embedder, jobs__workers=0) as engine:
        engine.load(demo.sample_path(), scope=OWNER)
        engine.drain(60)
        for one in demo.load_questions():
            yield (
                "demo, known" if one.answerable else "demo, unknown",
                engine.explain(one.text, scope=OWNER).nearness,
            )


if __name__ == "__main__":
    main()
