"""Train the detector of changes from the scenarios in ``bench/changes`` and write its weights.

    python scripts/train_changes.py             train, print cross-validated figures, write the weights
    python scripts/train_changes.py --dry-run   the figures only

Scenarios that are held out are never read. The same data give the same weights."""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.changes.data import (  # noqa: E402
    Case,
    Pair,
    build_long_pairs,
    build_pairs,
    build_plain_pairs,
    build_strangers,
    build_talk_pairs,
    every_case,
    to_features,
)

from engrams.text.terms import terms  # noqa: E402
from engrams.write.changedetection.boostedtrees import BoostedTrees, compete, join_odds  # noqa: E402

WEIGHTS = ROOT / "src/engrams/write/changedetection/weights.npz"
FOLDS, BINS, LEAST_CASES = 5, 15, 4
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Boosting:
    """How trees are grown."""

    trees: int
    seed: int
    depth: int = 3
    rate: float = 0.05
    rows: float = 0.6
    columns: float = 0.3
    penalty: float = 5.0
    least: float = 0.75

    def fit(self, x: Array, y: Array, weights: Array) -> BoostedTrees:
        """Fit trees to labels by Newton boosting."""
        chance = np.random.default_rng(self.seed)
        edges = [np.unique(np.quantile(x[:, at], np.linspace(0.05, 0.95, BINS))) for at in range(x.shape[1])]
        binned = np.stack([np.searchsorted(edge, x[:, at], side="left") for at, edge in enumerate(edges)], 1)
        odds = np.full(len(y), math.log((weights * y).sum() / (weights * (1 - y)).sum()))
        base = float(odds[0])
        columns, limits, leaves = [], [], []
        for _ in range(self.trees):
            p = 1 / (1 + np.exp(-odds))
            gradient, bend = weights * (p - y), weights * p * (1 - p)
            rows = np.flatnonzero(chance.random(len(y)) < self.rows)
            some = chance.choice(x.shape[1], int(x.shape[1] * self.columns), replace=False)
            node, questions = np.zeros(len(y), np.int64), []
            for level in range(self.depth):
                at, bins = self._best_splits(binned[np.ix_(rows, some)], node[rows], gradient[rows], bend[rows], 1 << level)
                chosen = some[at]
                questions += [(int(c), _edge(edges[c], int(b))) for c, b in zip(chosen, bins, strict=True)]
                node = 2 * node + (binned[np.arange(len(y)), chosen[node]] > bins[node])
            sums, bends = (np.bincount(node[rows], each[rows], 2**self.depth) for each in (gradient, bend))
            leaf = -self.rate * sums / (bends + self.penalty)
            odds += leaf[node]
            columns.append([c for c, _ in questions])
            limits.append([limit for _, limit in questions])
            leaves.append(leaf)
        return BoostedTrees(np.array(columns), np.array(limits), np.array(leaves), base)

    def _best_splits(self, binned: Any, node: Any, gradient: Array, bend: Array, nodes: int) -> tuple[Any, Any]:
        width, bins = binned.shape[1], BINS + 2
        flat = ((node[:, None] * width + np.arange(width)) * bins + binned).ravel()
        shape, size = (nodes, width, bins), nodes * width * bins
        g = np.bincount(flat, np.repeat(gradient, width), size).reshape(shape).cumsum(2)
        h = np.bincount(flat, np.repeat(bend, width), size).reshape(shape).cumsum(2)
        whole_g, whole_h = g[:, :, -1:], h[:, :, -1:]
        gain = g**2 / (h + self.penalty) + (whole_g - g) ** 2 / (whole_h - h + self.penalty) - whole_g**2 / (whole_h + self.penalty)
        gain[(h < self.least) | (whole_h - h < self.least)] = -1
        best = gain.reshape(nodes, -1).argmax(1)
        return best // bins, best % bins


def _edge(edges: Array, place: int) -> float:
    return float(edges[place]) if place < len(edges) else math.inf


def measure_rarity(cases: Sequence[Case]) -> dict[str, float]:
    """Return the rarity of words that several messages hold; that of any other word under the empty word."""
    texts = [line["text"] for case in cases for line in case["say"]]
    found = Counter(word for text in texts for word in set(terms(text)))
    known = {word: math.log((len(texts) + 1) / (count + 0.5)) for word, count in sorted(found.items()) if count >= LEAST_CASES}
    return {**known, "": math.log((len(texts) + 1) / 1.5)}


@dataclass(frozen=True, slots=True)
class Samples:
    """Features and labels of pairs; of strangers the features only.
    ``talk``: of talks, where nothing ends; ``long``: among other messages."""

    pairs: Sequence[Pair]
    x: Array
    y: Array
    cases: Array
    talk: Array
    long: Array
    strangers: Array
    stranger_cases: Array

    def fit(self, fold: int = -1) -> tuple[BoostedTrees, BoostedTrees]:
        """Fit both sets of trees without the scenarios of one fold."""
        use = np.array([pair.learn for pair in self.pairs]) & (self.cases % FOLDS != fold)
        about, far = use & np.array([pair.about for pair in self.pairs]), self.stranger_cases % FOLDS != fold
        change = Boosting(400, 0).fit(self.x[use], self.y[use], np.where(self.y[use] == 1, 2.0, 1.0) * np.where(self.long, 0.5, 1.0)[use])
        x = np.vstack([self.x[about], self.strangers[far], self.x[use & self.talk]])
        y = np.concatenate([np.ones(about.sum()), np.zeros(len(x) - about.sum())])
        return change, Boosting(250, 1).fit(x, y, np.where(y == 1, 3.0, 1.0))

    def cross_validate(self) -> Array:
        """Return each pair's joint log odds by models that did not see its scenario."""
        odds = np.zeros(len(self.y))
        for fold in range(FOLDS):
            change, related = self.fit(fold)
            rows = self.cases % FOLDS == fold
            odds[rows] = join_odds(change.score(self.x[rows]), related.score(self.x[rows]))
        by_message: dict[int, list[int]] = defaultdict(list)
        for place, pair in enumerate(self.pairs):
            by_message[id(pair.new)].append(place)
        for places in by_message.values():
            odds[places] = compete(odds[places])
        return odds


def calibrate(odds: Array, y: Array) -> tuple[float, float]:
    """Fit scale and shift of a logistic curve (Platt)."""
    x, beta = np.stack([odds, np.ones(len(odds))], 1), np.array([1.0, 0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        beta -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2), x.T @ (p - y))
    return float(beta[0]), float(beta[1])


def print_figures(samples: Samples, cases: Sequence[Case], chance: Array) -> None:
    """Print how many scenarios come out right at thresholds of the probability."""
    best: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pair, value, long in zip(samples.pairs, chance.tolist(), samples.long.tolist(), strict=True):
        if long or pair.case >= len(cases):
            continue
        best[pair.case][pair.label] = max(best[pair.case][pair.label], value)
    now = {case: scores for case, scores in best.items() if not cases[case]["as_of"]}
    changes = [scores for case, scores in now.items() if cases[case]["stale"]]
    traps = [scores for case, scores in now.items() if not cases[case]["stale"]]
    talks: dict[int, float] = defaultdict(float)
    for place in np.flatnonzero(samples.talk).tolist():
        name = id(samples.pairs[place].new)
        talks[name] = max(talks[name], float(chance[place]))
    print(f"{len(changes)} changes, {len(traps)} traps, {len(talks)} messages of talks; five folds\n")
    print("| from | changes found | other pairs of them taken | traps left alone | right of what is taken | messages of talks taken |")
    print("|---|---|---|---|---|---|")
    for limit in np.arange(0.18, 0.98, 0.04).tolist():
        found, other = sum(right >= limit for _, right in changes), sum(wrong >= limit for wrong, _ in changes)
        alone = sum(wrong < limit for wrong, _ in traps)
        chatter, taken = sum(value >= limit for value in talks.values()), found + other + len(traps) - alone
        shares = f"{found / len(changes):.0%} | {other} | {alone / len(traps):.1%} | {found / max(taken, 1):.1%} of {taken}"
        print(f"| {limit:.2f} | {shares} | {chatter} |")


def write_weights(trees: tuple[BoostedTrees, BoostedTrees], rarity: dict[str, float], curve: tuple[float, float]) -> None:
    """Write the model file."""
    held: dict[str, Any] = {"scale": curve[0], "shift": curve[1]}
    held["words"] = np.frombuffer("\n".join(rarity).encode(), np.uint8)
    held["rarity"] = np.array(list(rarity.values()), np.float32)
    for name, one in zip(("change", "related"), trees, strict=True):
        held[f"{name}_columns"] = one.columns.astype(np.int16)
        held[f"{name}_limits"] = one.limits.astype(np.float32)
        held[f"{name}_leaves"] = one.leaves.astype(np.float32)
        held[f"{name}_base"] = one.base
    np.savez_compressed(WEIGHTS, **held)
    print(f"\n{WEIGHTS.relative_to(ROOT)}: {WEIGHTS.stat().st_size:,} bytes")


def main() -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    cases = list(every_case("train"))
    rarity = measure_rarity(cases)
    inner = build_pairs(cases)
    known = [*inner, *build_plain_pairs(len(cases))]
    talks, longer = build_talk_pairs(1 + max(pair.case for pair in known), cases), build_long_pairs(cases, inner)
    pairs, strangers = [*known, *talks, *longer], build_strangers(cases)
    place = np.arange(len(pairs))
    samples = Samples(
        pairs, to_features(pairs, rarity), np.array([float(pair.label) for pair in pairs]), np.array([pair.case for pair in pairs]),
        (place >= len(known)) & (place < len(pairs) - len(longer)), place >= len(pairs) - len(longer),
        to_features(strangers, rarity), np.array([pair.case for pair in strangers]),
    )  # fmt: skip
    odds = samples.cross_validate()
    sure = np.array([pair.learn for pair in pairs]) & ~samples.long
    scale, shift = calibrate(odds[sure], samples.y[sure])
    print_figures(samples, cases, 1 / (1 + np.exp(-(scale * odds + shift))))
    if not given.dry_run:
        write_weights(samples.fit(), rarity, (scale, shift))


if __name__ == "__main__":
    main()
