"""Train the judge of clause pairs, which weighs what the trees of ``train_changes.py`` say.

    python scripts/train_pair_judge.py             train, print cross-validated figures, write the
    weights
    python scripts/train_pair_judge.py --dry-run   the figures only

It learns from the pairs of clauses that the detector finds in the scenarios that are not held out, in
the short pairs and in the talks. Folds are files of scenarios: no figure is of a file that was seen.
"""

from __future__ import annotations

import argparse
import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench.changes.data import (  # noqa: E402
    FILES,
    NOON,
    SOON,
    label_pair,
    parse_moment,
    read_cases,
    read_plain_cases,
    read_talks,
)
from train_changes import Array, Boosting, calibrate  # noqa: E402

from engrams.core import MARK_TOLD_AT  # noqa: E402
from engrams.models.embed.static import BuiltinEmbedder  # noqa: E402
from engrams.write.change_detection.change_topics import describe_change  # noqa: E402
from engrams.write.change_detection.clause_pairs import EXPLICIT  # noqa: E402
from engrams.write.change_detection.message_judge import (  # noqa: E402
    MessageTask,
    find_news,
    list_possible_changes,
)
from engrams.write.change_detection.message_reader import Message, MessageReader  # noqa: E402

WEIGHTS = ROOT / "src/engrams/write/change_detection/pair_judge.npz"
FOLDS = 5
NEAREST = 13
"""Earlier messages beside a new one, as many as the detector compares."""
LEAST = 0.054
"""Probability of the messages from which a pair is learned from: lower than where the judge is asked."""
PLAIN = 1.5
"""Weight of a short pair, which is as people write, beside a scenario."""
LEAN = 0.1
"""Log odds by which a doubt is told later than the calibration says: a false one is seen by people."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A new message, the earlier ones, and which of these it ends."""

    new: Message
    earlier: Sequence[Message]
    labels: Sequence[bool]
    are_sure: Sequence[bool]
    source: str
    """File, ``plain`` or ``talk``."""
    fold: int


def list_scenarios() -> Iterator[Comparison]:
    """List the messages of scenarios, each with those of the same speaker before it."""
    for name in FILES:
        for case in read_cases(name, "train"):
            messages = [
                (position, (line["text"], line["who"], parse_moment(line["at"])))
                for position, line in enumerate(case["say"])
                if line["who"] != "assistant"
            ]
            for count, (_, new) in enumerate(messages):
                earlier = [old for old in messages[:count] if old[1][1] == new[1]][-NEAREST:]
                labels = [
                    label_pair(case, old[0], new[0], position, count) for position, old in earlier
                ]
                yield Comparison(
                    new,
                    [old for _, old in earlier],
                    [label for label, _ in labels],
                    [is_sure for _, is_sure in labels],
                    name,
                    _to_fold(name),
                )


def list_short() -> Iterator[Comparison]:
    """List the short scenarios, as they are and as if they were said right after each other."""
    chance = random.Random(FOLDS)
    for scenario in read_plain_cases("pairs", "plain"):
        for days in (scenario["days"], chance.choice(SOON)):
            messages = [
                (text, "user", NOON + position * timedelta(days=days))
                for position, text in enumerate(scenario["say"])
            ]
            positions = range(len(messages) - 1)
            yield Comparison(
                messages[-1],
                messages[:-1],
                [position in scenario["ends"] for position in positions],
                [True for _ in positions],
                "plain",
                _to_fold(scenario["say"][0]),
            )


def list_talks() -> Iterator[Comparison]:
    """List the messages of talks, where nothing ends."""
    for number, talk in enumerate(read_talks()):
        messages = [(message.text, message.speaker, message.at) for message in talk]
        for position in range(1, len(messages)):
            earlier = messages[max(0, position - NEAREST) : position]
            nothing = [False for _ in earlier]
            yield Comparison(
                messages[position],
                earlier,
                nothing,
                [True for _ in earlier],
                "talk",
                _to_fold(f"talk {number}"),
            )


def _to_fold(name: str) -> int:
    return zlib.crc32(name.encode()) % FOLDS


@dataclass(frozen=True, slots=True)
class JudgeSamples:
    """Pairs of clauses with their columns, labels, folds and weights."""

    x: Array
    y: Array
    folds: Array
    weights: Array
    are_real: Any
    """Of scenarios and talks: as many changes among them as there are."""

    def cross_validate(self) -> Array:
        """Return each pair's log odds by trees that saw none of its file."""
        odds = np.zeros(len(self.y))
        for fold in range(FOLDS):
            rows = self.folds == fold
            odds[rows] = self.fit(~rows).score(self.x[rows])
        return odds

    def fit(self, rows: Any) -> Any:
        """Fit trees to some rows."""
        boosting = Boosting(240, 0, depth=3, columns=0.4, penalty=10.0, least=1.0)
        return boosting.fit(self.x[rows], self.y[rows], self.weights[rows])


def gather(comparisons: Sequence[Comparison]) -> JudgeSamples:
    """Gather the pairs of clauses that the judge would be asked about."""
    reader = MessageReader(BuiltinEmbedder())
    tasks = [(comparison.new, comparison.earlier) for comparison in comparisons]
    kinds = find_news(MessageTask(reader, tasks))
    asked = [
        comparison for comparison, kind in zip(comparisons, kinds, strict=True) if kind == "change"
    ]
    rows = []
    task = MessageTask(
        reader, [(comparison.new, comparison.earlier) for comparison in asked], LEAST
    )
    for group, position, change, pair in list_possible_changes(task):
        comparison = asked[group]
        if pair is None or pair.probability == EXPLICIT or not comparison.are_sure[position]:
            continue
        rows.append(
            (describe_change(change.compare(pair)), comparison.labels[position], comparison)
        )
    plain = np.array([comparison.source == "plain" for _, _, comparison in rows])
    return JudgeSamples(
        np.array([columns for columns, _, _ in rows], float),
        np.array([float(label) for _, label, _ in rows]),
        np.array([comparison.fold for _, _, comparison in rows]),
        np.where(plain, PLAIN, 1.0),
        ~plain,
    )


def print_figures(samples: JudgeSamples, chances: Array) -> None:
    """Print of changes and of what is none how many are told."""
    print("| of | changes told | of | others told | of |\n|---|---|---|---|---|")
    for name, rows in (("scenarios, talks", samples.are_real), ("short", ~samples.are_real)):
        shares = []
        for label in (1.0, 0.0):
            told = chances[rows & (samples.y == label)]
            shares.append(f"{(told >= MARK_TOLD_AT).mean():.1%} | {len(told)}")
        print(f"| {name} | {' | '.join(shares)} |")


def main() -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    samples = gather([*list_scenarios(), *list_short(), *list_talks()])
    odds = samples.cross_validate()
    real = samples.are_real
    scale, shift = calibrate(odds[real], samples.y[real])
    shift -= LEAN
    print_figures(samples, 1 / (1 + np.exp(-(scale * odds + shift))))
    if arguments.dry_run:
        return
    trees = samples.fit(np.ones(len(samples.y), bool))
    np.savez_compressed(
        WEIGHTS,
        columns=trees.columns.astype(np.int16),
        limits=trees.limits.astype(np.float32),
        leaves=trees.leaves.astype(np.float32),
        base=trees.base,
        scale=scale,
        shift=shift,
    )
    print(f"\n{WEIGHTS}: {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
