"""Train the detector of changes from the scenarios in ``bench/changes`` and write its weights.

    python scripts/train_changes.py             train, print cross-validated figures, write the
    weights
    python scripts/train_changes.py --dry-run   the figures only

Scenarios that are held out are never read. The same data give the same weights.
"""

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
from engrams.write.change_detection.boosted_trees import BoostedTrees, MessageScorer, compete  # noqa: E402
from engrams.write.change_detection.features import MessageFeatures, describe_message  # noqa: E402

WEIGHTS = ROOT / "src/engrams/write/change_detection/weights.npz"
FOLDS = 4
BINS = 15
LEAST_CASES = 4
TREES = 300
RIDGE = 2.0
MISSED = 0.03
CLOSE = 0.94
DOUBT = 0.4
LEAN = 0.2
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Boosting:
    """How trees are grown."""

    trees: int
    seed: int
    depth: int = 4
    rate: float = 0.07
    rows: float = 0.6
    columns: float = 0.2
    penalty: float = 5.0
    least: float = 0.75

    def fit(self, x: Array, y: Array, weights: Array) -> BoostedTrees:
        """Fit trees to labels by Newton boosting."""
        chance = np.random.default_rng(self.seed)
        edges = [
            np.unique(np.quantile(x[:, at], np.linspace(0.05, 0.95, BINS)))
            for at in range(x.shape[1])
        ]
        binned = np.stack(
            [np.searchsorted(edge, x[:, at], side="left") for at, edge in enumerate(edges)], 1
        )
        odds = np.full(len(y), math.log((weights * y).sum() / (weights * (1 - y)).sum()))
        base = float(odds[0])
        columns = []
        limits = []
        leaves = []
        for _ in range(self.trees):
            p = 1 / (1 + np.exp(-odds))
            gradient = weights * (p - y)
            bend = weights * p * (1 - p)
            rows = np.flatnonzero(chance.random(len(y)) < self.rows)
            some = chance.choice(x.shape[1], int(x.shape[1] * self.columns), replace=False)
            places = binned[np.ix_(rows, some)] + np.arange(len(some)) * (BINS + 2)
            slopes = np.stack([gradient[rows], bend[rows]])
            node = np.zeros(len(y), np.int64)
            questions = []
            sums = np.zeros((2, 1, 1, 1))
            for level in range(self.depth):
                sums = _sum_by_bin(places, node[rows], slopes, sums, level)
                at, bins = self._best_splits(*sums.cumsum(3))
                chosen = some[at]
                questions += [
                    (int(c), _edge(edges[c], int(b))) for c, b in zip(chosen, bins, strict=True)
                ]
                node = 2 * node + (binned[np.arange(len(y)), chosen[node]] > bins[node])
            steps, bends = (
                np.bincount(node[rows], each[rows], 2**self.depth) for each in (gradient, bend)
            )
            leaf = -self.rate * steps / (bends + self.penalty)
            odds += leaf[node]
            columns.append([c for c, _ in questions])
            limits.append([limit for _, limit in questions])
            leaves.append(leaf)
        return BoostedTrees(np.array(columns), np.array(limits), np.array(leaves), base)

    def _best_splits(self, g: Array, h: Array) -> tuple[Any, Any]:
        whole_g = g[:, :, -1:]
        whole_h = h[:, :, -1:]
        gain = (
            g**2 / (h + self.penalty)
            + (whole_g - g) ** 2 / (whole_h - h + self.penalty)
            - whole_g**2 / (whole_h + self.penalty)
        )
        gain[(h < self.least) | (whole_h - h < self.least)] = -1
        best = gain.reshape(len(gain), -1).argmax(1)
        return best // (BINS + 2), best % (BINS + 2)


def _sum_by_bin(places: Any, node: Any, slopes: Array, above: Array, level: int) -> Array:
    """Sum slopes [2, rows] by node, column and bin [2, 2**level, columns, bins].

    ``places``: flat places of column and bin [rows, columns]; ``above``: the sums of one level
    higher. Only the nodes after a yes are summed, the rest of each sum above is the node after a
    no.
    """
    width = places.shape[1]
    use = node % 2 == (level > 0)
    shape = (above.shape[1], width, BINS + 2)
    flat = (places[use] + (node[use] // (2 if level else 1) * width * (BINS + 2))[:, None]).ravel()
    sums = np.stack(
        [
            np.bincount(flat, np.repeat(each[use], width), math.prod(shape)).reshape(shape)
            for each in slopes
        ]
    )
    return np.stack([above - sums, sums], 2).reshape(2, -1, *shape[1:]) if level else sums


def _edge(edges: Array, place: int) -> float:
    return float(edges[place]) if place < len(edges) else math.inf


def measure_rarity(cases: Sequence[Case]) -> dict[str, float]:
    """Return the rarity of words that several messages hold;
    that of any other word under the empty word.
    """
    texts = [line["text"] for case in cases for line in case["say"]]
    found = Counter(word for text in texts for word in set(terms(text)))
    known = {
        word: math.log((len(texts) + 1) / (count + 0.5))
        for word, count in sorted(found.items())
        if count >= LEAST_CASES
    }
    return {**known, "": math.log((len(texts) + 1) / 1.5)}


@dataclass(frozen=True, slots=True)
class MessageSamples:
    """Single messages with their scenario and label:
    it says something that can end, or it tells a change.
    """

    messages: Sequence[MessageFeatures]
    cases: Array
    y: Array

    def find_floor(self) -> float:
        """Return the score that all but a few of those told a change reach, by scorers that did not
        see them.
        """
        lines = [self.fit(fold) for fold in range(FOLDS)]
        right = [
            max(lines[case % FOLDS].score(*describe_message(one)))
            for one, case, y in zip(self.messages, self.cases.tolist(), self.y, strict=True)
            if y
        ]
        return float(np.quantile(right, MISSED))

    def fit(self, fold: int = -1) -> MessageScorer:
        """Fit a logistic regression without the scenarios of one fold."""
        use = self.cases % FOLDS != fold
        x = np.stack(
            [
                np.hstack(describe_message(one))[0]
                for one, used in zip(self.messages, use, strict=True)
                if used
            ]
        ).astype(float)
        return MessageScorer(
            _fit_line(
                x, self.y[use], np.where(self.y[use] == 1, 2.0, 1.0), np.full(x.shape[1], RIDGE)
            )
        )


def gather_messages(
    known: Sequence[Pair], talks: Sequence[Pair]
) -> tuple[MessageSamples, MessageSamples]:
    """Gather what can end and what cannot, and what tells a change and what does not."""
    said = {id(one): (pair.case, one) for pair in known for one in (pair.old, pair.new)}
    chatter = {id(pair.new): (pair.case, pair.new) for pair in talks}
    news = {id(pair.new) for pair in known if pair.label}
    states = {id(pair.old) for pair in known if pair.about}
    sets = []
    for right, unsure in ((states, news - states), (news, set[int]())):
        some = {name: held for name, held in {**said, **chatter}.items() if name not in unsure}
        cases = np.array([case for case, _ in some.values()])
        messages = [one for _, one in some.values()]
        sets.append(
            MessageSamples(messages, cases, np.array([float(name in right) for name in some]))
        )
    return sets[0], sets[1]


@dataclass(frozen=True, slots=True)
class Samples:
    """Pairs with their features, labels and weights.

    ``talk``: of talks, where nothing ends; ``mixed``: made of messages of several scenarios.
    """

    pairs: Sequence[Pair]
    x: Array
    y: Array
    cases: Array
    weights: Array
    talk: Flags
    mixed: Flags

    def fit(self, fold: int = -1) -> BoostedTrees:
        """Fit trees without the scenarios of one fold."""
        use = np.array([pair.learn for pair in self.pairs]) & (self.cases % FOLDS != fold)
        return Boosting(TREES, 0).fit(self.x[use], self.y[use], self.weights[use])

    def cross_validate(self) -> Array:
        """Return each pair's joint log odds by trees that never saw its scenario."""
        odds = np.zeros(len(self.y))
        for fold in range(FOLDS):
            rows = self.cases % FOLDS == fold
            odds[rows] = self.fit(fold).score(self.x[rows])
        by_message: dict[int, list[int]] = defaultdict(list)
        for place, pair in enumerate(self.pairs):
            by_message[id(pair.new)].append(place)
        for places in by_message.values():
            odds[places] = compete(odds[places])
        return odds


def score_messages(pairs: Sequence[Pair], states: MessageSamples, news: MessageSamples) -> Array:
    """Return the scores of both sides of pairs by scorers that did not see their scenario [pairs,
    4].
    """
    lines = [(states.fit(fold), news.fit(fold)) for fold in range(FOLDS)]
    known: dict[tuple[int, int, int], tuple[float, float]] = {}

    def score(side: int, message: MessageFeatures, fold: int) -> tuple[float, float]:
        name = (side, id(message), fold)
        if name not in known:
            known[name] = lines[fold][side].score(*describe_message(message))
        return known[name]

    return np.array(
        [
            (*score(0, pair.old, pair.case % FOLDS), *score(1, pair.new, pair.case % FOLDS))
            for pair in pairs
        ]
    )


def calibrate(odds: Array, y: Array) -> tuple[float, float]:
    """Fit scale and shift of a logistic curve (Platt)."""
    scale, shift = _fit_line(odds[:, None], y, np.ones(len(y)), np.full(1, 1e-6)).tolist()
    return scale, shift


def lean(scale: float, shift: float) -> tuple[float, float]:
    """Turn a calibrated curve about ``CLOSE``, so that it reaches ``DOUBT`` by ``LEAN`` log odds
    earlier.

    A doubt that is told costs little beside one that is not; what closes is as probable as it says.
    """
    close, doubt = (math.log(chance / (1 - chance)) for chance in (CLOSE, DOUBT))
    turned = scale * (close - doubt) / (close - doubt + LEAN)
    return turned, close - turned * (close - shift) / scale


def _fit_line(x: Array, y: Array, weights: Array, ridge: Array, steps: int = 8) -> Array:
    x = np.hstack([x, np.ones((len(x), 1))])
    beta = np.zeros(x.shape[1])
    penalty = np.append(ridge, 1e-6)
    for _ in range(steps):
        p = 1 / (1 + np.exp(-x @ beta))
        bend = (x * (weights * p * (1 - p) + 1e-6)[:, None]).T @ x + np.diag(penalty)
        beta -= np.linalg.solve(bend, x.T @ (weights * (p - y)) + penalty * beta)
    return beta


def print_figures(samples: Samples, cases: Sequence[Case], chance: Array) -> None:
    """Print how many scenarios come out right at thresholds of the probability."""
    best: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pair, value, mixed in zip(
        samples.pairs, chance.tolist(), samples.mixed.tolist(), strict=True
    ):
        if mixed or pair.case >= len(cases):
            continue
        best[pair.case][pair.label] = max(best[pair.case][pair.label], value)
    now = {case: scores for case, scores in best.items() if not cases[case]["as_of"]}
    changes = [scores for case, scores in now.items() if cases[case]["stale"]]
    traps = [scores for case, scores in now.items() if not cases[case]["stale"]]
    talks: dict[int, float] = defaultdict(float)
    for place in np.flatnonzero(samples.talk).tolist():
        name = id(samples.pairs[place].new)
        talks[name] = max(talks[name], float(chance[place]))
    print(
        f"{len(changes)} changes, {len(traps)} traps, {len(talks)} messages of talks; {FOLDS}"
        " folds\n"
    )
    print(
        "| from | changes found | other pairs of them taken | traps left alone | right of what is"
        " taken | messages of talks taken |"
    )
    print("|---|---|---|---|---|---|")
    for limit in np.arange(0.18, 0.98, 0.04).tolist():
        found = sum(right >= limit for _, right in changes)
        other = sum(wrong >= limit for wrong, _ in changes)
        alone = sum(wrong < limit for wrong, _ in traps)
        chatter = sum(value >= limit for value in talks.values())
        taken = found + other + len(traps) - alone
        shares = (
            f"{found / len(changes):.0%} | {other} | {alone / len(traps):.1%} |"
            f" {found / max(taken, 1):.1%} of {taken}"
        )
        print(f"| {limit:.2f} | {shares} | {chatter} |")


def write_weights(
    trees: BoostedTrees,
    scorers: tuple[MessageScorer, MessageScorer],
    rarity: dict[str, float],
    numbers: dict[str, float],
    path: Path,
) -> None:
    """Write the model file."""
    held: dict[str, Any] = {**numbers, "base": trees.base}
    held["words"] = np.frombuffer("\n".join(rarity).encode(), np.uint8)
    held["rarity"] = np.array(list(rarity.values()), np.float32)
    held["columns"] = trees.columns.astype(np.int16)
    held["limits"], held["leaves"] = (
        trees.limits.astype(np.float32),
        trees.leaves.astype(np.float32),
    )
    held["states"], held["news"] = (one.weights.astype(np.float32) for one in scorers)
    np.savez_compressed(path, **held)
    print(f"\n{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--without", action="append", default=[], help="a file to leave out")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file to write")
    given = parser.parse_args()
    cases = list(every_case("train", given.without))
    rarity = measure_rarity(cases)
    inner = build_pairs(cases)
    plain, soon = build_plain_pairs(len(cases))
    known = [*inner, *plain]
    talks = build_talk_pairs(1 + max(pair.case for pair in known), known, rarity)
    parts = {
        "known": known,
        "soon": soon,
        "talk": talks,
        "long": build_long_pairs(cases, inner),
        "strange": build_strangers(cases),
    }
    pairs = [pair for part in parts.values() for pair in part]
    part = np.repeat(list(parts), [len(some) for some in parts.values()])
    states, news = gather_messages(known, talks)
    y = np.array([float(pair.label) for pair in pairs])
    weights = np.where(y == 1, 2.0, 1.0) * np.where(
        (part == "long") | (part == "talk") | (part == "soon"), 0.5, 1.0
    )
    samples = Samples(
        pairs,
        np.hstack([to_features(pairs, rarity), score_messages(pairs, states, news)]),
        y,
        np.array([pair.case for pair in pairs]),
        weights,
        part == "talk",
        np.isin(part, ["long", "strange"]),
    )
    odds = samples.cross_validate()
    # Of the short pairs half are changes: how probable one is, scenarios and talks tell.
    sure = (
        np.array([pair.learn for pair in pairs])
        & ~samples.mixed
        & (samples.talk | (samples.cases < len(cases)))
    )
    scale, shift = lean(*calibrate(odds[sure], y[sure]))
    print_figures(samples, cases, 1 / (1 + np.exp(-(scale * odds + shift))))
    if not given.dry_run:
        write_weights(
            samples.fit(),
            (states.fit(), news.fit()),
            rarity,
            {"floor": news.find_floor(), "scale": scale, "shift": shift},
            given.weights,
        )


if __name__ == "__main__":
    main()
