"""Train the model of relevance from worlds and data sets, print its figures, write its weights.

    python scripts/train_help.py WORLDS… --data DATA.json…            train and write
    python scripts/train_help.py WORLDS… --data DATA.json… --dry-run  the figures only

``WORLDS``: files or folders as of ``bench.inject``, beside this project's own; those whose half is
``held`` are never read. ``DATA``: data sets as of ``bench.quality``, whose questions have evidence;
questions of other conversations are asked, too, and need nothing. Figures are taken on worlds, and
on kinds of data, that trained nothing of the model that judged them.
"""

# ruff: noqa: SLF001 - training stops a search half way, and looks at what it has then

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.inject.metrics import JudgedPrompt, format_table, judge  # noqa: E402
from bench.inject.systems import EngramsWorld  # noqa: E402
from bench.inject.worlds import OWN_WORLDS, World, WorldPrompt, read_worlds  # noqa: E402
from bench.quality.data import Talk, load_dataset  # noqa: E402
from bench.quality.systems import OWNER, EngramsSystem, make_embedder  # noqa: E402

from engrams.core import Record, Scope  # noqa: E402
from engrams.core.boosted_trees import BoostedTrees  # noqa: E402
from engrams.engine import MemoryEngine  # noqa: E402
from engrams.read import stages  # noqa: E402
from engrams.read.cues import extract_turn_query  # noqa: E402
from engrams.read.follow_up import complete_follow_up  # noqa: E402
from engrams.read.relevance import judgement  # noqa: E402
from engrams.read.relevance.features import (  # noqa: E402
    HIT_FEATURES,
    PROMPT_FEATURES,
    JudgedSearch,
    choose_judged,
    describe_search,
)
from engrams.read.relevance.model import (  # noqa: E402
    WEIGHTS,
    LogisticModel,
    RelevanceModel,
    to_log_odds,
    to_probability,
)
from engrams.read.request import ReadRequest  # noqa: E402
from engrams.read.search import STAGES  # noqa: E402
from engrams.read.search_state import Search  # noqa: E402

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

LIMIT = 40
"""Hits that are searched for, as a context does."""
QUESTIONS = 50
"""Questions of a conversation that are asked, at most."""
STRANGERS = 25
"""Questions of other conversations that are asked in each."""
WORLDS = "worlds"
DATA_SHARE = 0.25
"""Weight of all prompts of a data set together, as a share of that of all worlds."""
SMALL = "small"
"""Kind of the beginnings of memories: a few messages of a world, and prompts about them and others."""
SMALL_SIZES = (2, 5, 9, 15)
"""Messages of the small memories of each world."""
STRANGERS_OF_SMALL = 3
"""Prompts to which they say nothing, beyond as many as those that they answer."""
HIT_WEIGHTS = {WORLDS: 3.0, SMALL: 1.5}
STRANGER_WEIGHT = 0.4
OTHER_HIT_WEIGHT = 0.5
"""Data sets have many more questions than worlds, of fewer types: each counts less."""
RIDGE = 4.0
RISING = (
    "score_share", "cos", "cos_z", "coverage", "near", "near_share", "shared", "shared_share",
    "slot", "name_shared", "topic_near", "food_diet", "bmctx", "subject_rare", "subjects", "subject_rule",
    "subject_request", "meal", "head_shared",
)  # fmt: skip
"""Features that may only raise a chance."""
FALLING = ("is_hollow", "rank", "is_asking")
"""Features that may only lower it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt with the features of its search, and which hits are right."""

    kind: str
    """worlds, or the name of a data set."""
    group: str
    """World or conversation."""
    needs_memory: bool
    prompt: Array
    hits: Array
    right: Array
    """1 for each hit that helps, else 0."""


# --------------------------------------------------------------------------------------------------
# samples


def run_search(engine: MemoryEngine, text: str, scope: Sequence[str]) -> Search:
    """Run a search up to the stage that judges."""
    reads = engine._components.reads  # type: ignore[union-attr]
    request = ReadRequest(text, Scope.of(tuple(scope)), engine._clock(), LIMIT)
    search = Search(reads._with_conversation_state(request), reads._read_deps)
    for functions in STAGES.values():
        for run_stage in functions:
            if run_stage is stages.judge:
                return search
            run_stage(search)
    raise AssertionError("no stage judges")


def make_sample(
    search: Search, find_sources: Callable[[Record], frozenset[str]], right: frozenset[str]
) -> tuple[Array, Array, Array] | None:
    """Describe a search; None: it found nothing."""
    hits = choose_judged(search.request.text, search.hits)
    if not hits:
        return None
    features = describe_search(
        JudgedSearch(
            text=search.request.text,
            prepared=search.prepared,
            pool=search.pool,
            hits=hits,
            rows=search.rows,
            now=search.request.now.timestamp(),
            scale=search.deps.embedder.card.scale,
        )
    )
    labels = np.array([bool(find_sources(hit.record) & right) for hit in hits], np.float64)
    return features.prompt, features.hits, labels


def sample_world(world: World) -> Iterator[Sample]:
    """Ask all prompts of a world; standing rules count neither way."""
    memory = EngramsWorld(world)
    for prompt in world.prompts:
        memory.now = prompt.at
        for text in _list_texts(prompt, memory.engine):
            search = run_search(memory.engine, text, prompt.scope)
            described = make_sample(search, memory.find_sources, prompt.right)
            if described:
                yield Sample(WORLDS, world.name, not prompt.is_silent, *described)
    memory.close()


def sample_small(world: World, chance: random.Random) -> Iterator[Sample]:
    """Ask prompts of small parts of a world: about what is there, about what is not, and tasks."""
    for size in SMALL_SIZES:
        part = _cut_world(world, size, chance)
        for sample in sample_world(part):
            yield replace(sample, kind=SMALL)


def _cut_world(world: World, size: int, chance: random.Random) -> World:
    """Cut a world down to some messages, and to the prompts of which it has everything or nothing."""
    prompts = list(world.prompts)
    chance.shuffle(prompts)
    kept: set[str] = set()
    for prompt in prompts:
        wanted = {min(ids) for ids in prompt.needed}
        if wanted and len(kept | wanted) <= (size + 1) // 2:
            kept |= wanted
    spare = [turn.id for turn in world.turns if turn.id not in kept]
    kept.update(chance.sample(spare, min(max(size - len(kept), 0), len(spare))))
    asked = [
        prompt for prompt in prompts if prompt.needed and all(ids & kept for ids in prompt.needed)
    ]
    others = [replace(prompt, is_silent=True) for prompt in prompts if not prompt.right & kept]
    asked += others[: len(asked) + STRANGERS_OF_SMALL]
    return replace(
        world, turns=tuple(turn for turn in world.turns if turn.id in kept), prompts=tuple(asked)
    )


def _list_texts(prompt: WorldPrompt, engine: MemoryEngine) -> list[str]:
    """List the texts that memory is asked for a prompt: alone, and after its conversation."""
    if not prompt.before:
        return [prompt.text]
    messages = [*prompt.before, {"role": "user", "content": prompt.text}]
    text, conversation = extract_turn_query(messages)
    request = ReadRequest(text, Scope.of(prompt.scope), prompt.at, LIMIT, conversation=conversation)
    completed = complete_follow_up(request, engine.settings.read).text
    return list(dict.fromkeys(filter(None, (prompt.text, completed))))


def sample_talk(
    name: str, talk: Talk, talks: Sequence[Talk], chance: random.Random
) -> Iterator[Sample]:
    """Ask questions of a conversation, and questions of others, in that conversation."""
    system = EngramsSystem(make_embedder("builtin"))
    system.fill(talk.items)
    own = chance.sample(talk.questions, min(len(talk.questions), QUESTIONS))
    others = [question for other in talks if other.id != talk.id for question in other.questions]
    strangers = chance.sample(others, min(len(others), STRANGERS))
    asked = [(question.text, frozenset(question.evidence)) for question in own]
    asked += [(question.text, frozenset[str]()) for question in strangers]
    for text, evidence in asked:
        search = run_search(system.engine, text, OWNER.labels)
        described = make_sample(search, _find_external_id, evidence)
        if described:
            yield Sample(name, f"{name} {talk.id}", bool(evidence), *described)
    system.close()


def _find_external_id(record: Record) -> frozenset[str]:
    return frozenset((record.external_id,)) if record.external_id else frozenset()


def collect_samples(world_paths: Sequence[Path], data_paths: Sequence[Path]) -> list[Sample]:
    """Collect the samples of all worlds but the held ones, and of all data sets."""
    chance = random.Random(1)
    samples: list[Sample] = []
    for world in read_worlds([OWN_WORLDS, *world_paths]):
        if world.half != "held":
            samples += sample_world(world)
            samples += sample_small(world, chance)
    for path in data_paths:
        dataset = load_dataset(path)
        for talk in dataset.talks:
            samples += sample_talk(path.stem, talk, dataset.talks, chance)
    return samples


# --------------------------------------------------------------------------------------------------
# training


def fit_logistic(
    rows: Array, labels: Array, weights: Array, signs: Array | None = None
) -> LogisticModel:
    """Fit a ridge logistic regression by Newton's method.

    ``signs``: 1 for a feature that may only raise the odds, -1 for one that may only lower them; one
    that would do otherwise counts nothing.
    """
    total = weights.sum()
    means = (weights[:, None] * rows).sum(0) / total
    deviations = np.sqrt((weights[:, None] * (rows - means) ** 2).sum(0) / total) + 1e-6
    table = np.hstack([np.clip((rows - means) / deviations, -4, 4), np.ones((len(rows), 1))])
    is_used = np.ones(table.shape[1], bool)
    while True:
        fitted = np.zeros(table.shape[1])
        fitted[is_used] = _fit_ridge(table[:, is_used], labels, weights)
        is_wrong = fitted[:-1] * signs < 0 if signs is not None else np.zeros(len(fitted) - 1, bool)
        if not is_wrong.any():
            return LogisticModel(means, deviations, fitted)
        is_used[:-1] &= ~is_wrong


def _fit_ridge(table: Array, labels: Array, weights: Array) -> Array:
    """Fit weights to standardised columns, of which the last is the base."""
    penalty = np.full(table.shape[1], RIDGE)
    penalty[-1] = 1e-6
    fitted = np.zeros(table.shape[1])
    for _ in range(25):
        chances = to_probability(table @ fitted)
        slope = table.T @ (weights * (labels - chances)) - penalty * fitted
        curve = (table * (weights * chances * (1 - chances))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        fitted += step
        if np.abs(step).max() < 1e-5:
            break
    return fitted


@dataclass(frozen=True, slots=True)
class MonotoneBoosting:
    """How trees are grown; some features may only raise the odds, or only lower them."""

    signs: Array
    """1, -1 or 0 for each feature."""
    trees: int = 120
    depth: int = 3
    rate: float = 0.07
    penalty: float = 6.0
    rows: float = 0.7
    columns: float = 0.4
    bins: int = 14
    seed: int = 0
    bound: float = 9.0

    def fit(self, x: Array, y: Array, weights: Array) -> BoostedTrees:
        """Fit trees to labels by Newton boosting."""
        chance = np.random.default_rng(self.seed)
        edges = [
            np.unique(np.quantile(x[:, index], np.linspace(0.02, 0.98, self.bins)))
            for index in range(x.shape[1])
        ]
        binned = np.stack(
            [np.searchsorted(edge, x[:, index], "left") for index, edge in enumerate(edges)], 1
        )
        share = (weights * y).sum() / weights.sum()
        base = math.log(share / (1 - share))
        odds = np.full(len(y), base)
        questions = 2**self.depth - 1
        all_columns = np.zeros((self.trees, questions), np.int64)
        all_limits = np.zeros((self.trees, questions))
        all_leaves = np.zeros((self.trees, questions + 1))
        for tree in range(self.trees):
            chances = to_probability(odds)
            slopes = weights * (y - chances)
            curves = weights * chances * (1 - chances)
            drawn = np.flatnonzero(chance.random(len(y)) < self.rows)
            asked = np.flatnonzero(chance.random(x.shape[1]) < self.columns)
            node = np.zeros(len(y), np.int64)
            bounds = [(-self.bound, self.bound)]
            for level in range(self.depth):
                chosen, bounds = self._split(
                    _Level(binned, edges, slopes, curves, drawn, node), asked, bounds
                )
                start = 2**level - 1
                columns = np.array([column for column, _ in chosen])
                limits = np.array([limit for _, limit in chosen])
                all_columns[tree, start : start + len(chosen)] = columns
                all_limits[tree, start : start + len(chosen)] = limits
                node = 2 * node + (x[np.arange(len(y)), columns[node]] > limits[node])
            leaves = questions + 1
            slope_sums = np.bincount(node[drawn], slopes[drawn], leaves)
            curve_sums = np.bincount(node[drawn], curves[drawn], leaves)
            values = slope_sums / (curve_sums + self.penalty)
            lows, highs = np.array(bounds).T
            all_leaves[tree] = self.rate * np.clip(values, lows, highs)
            odds += all_leaves[tree][node]
        return BoostedTrees(all_columns, all_limits, all_leaves, base)

    def _split(
        self, level: _Level, asked: Array, bounds: list[tuple[float, float]]
    ) -> tuple[list[tuple[int, float]], list[tuple[float, float]]]:
        """Choose the best question of each node, and the bounds of what follows it."""
        nodes = len(bounds)
        best: list[_Split | None] = [None] * nodes
        for column in asked:
            for node, split in enumerate(self._best_splits(level, int(column), nodes)):
                known = best[node]
                if split is not None and (known is None or split.gain > known.gain):
                    best[node] = split
        chosen = []
        following = []
        for split, (low, high) in zip(best, bounds, strict=True):
            if split is None:
                chosen.append((0, math.inf))
                following += [(low, high), (low, high)]
                continue
            chosen.append((split.column, split.limit))
            sign = self.signs[split.column]
            middle = min(max((split.below + split.above) / 2, low), high)
            if sign > 0:
                following += [(low, middle), (middle, high)]
            elif sign < 0:
                following += [(middle, high), (low, middle)]
            else:
                following += [(low, high), (low, high)]
        return chosen, following

    def _best_splits(self, level: _Level, column: int, nodes: int) -> list[_Split | None]:
        edge = level.edges[column]
        if not len(edge):
            return [None] * nodes
        width = self.bins + 1
        drawn = level.drawn
        index = level.node[drawn] * width + level.binned[drawn, column]
        slopes = np.bincount(index, level.slopes[drawn], nodes * width).reshape(nodes, width)
        curves = np.bincount(index, level.curves[drawn], nodes * width).reshape(nodes, width)
        slope_below = slopes.cumsum(1)[:, :-1]
        curve_below = curves.cumsum(1)[:, :-1]
        slope_above = slopes.sum(1, keepdims=True) - slope_below
        curve_above = curves.sum(1, keepdims=True) - curve_below
        below = slope_below / (curve_below + self.penalty)
        above = slope_above / (curve_above + self.penalty)
        whole = slopes.sum(1, keepdims=True) ** 2 / (curves.sum(1, keepdims=True) + self.penalty)
        gains = slope_below * below + slope_above * above - whole
        gains[(curve_below < 1) | (curve_above < 1)] = 0
        sign = self.signs[column]
        if sign:
            gains[(above - below) * sign < 0] = 0
        gains[:, len(edge) :] = 0
        positions = gains.argmax(1)
        return [
            _Split(
                gains[node, position],
                column,
                float(edge[position]),
                below[node, position],
                above[node, position],
            )
            if gains[node, position] > 1e-9
            else None
            for node, position in enumerate(positions)
        ]


@dataclass(frozen=True, slots=True)
class _Level:
    """Rows of one level of a tree that is grown."""

    binned: Array
    edges: Sequence[Array]
    slopes: Array
    curves: Array
    drawn: Array
    """Rows that this tree looks at."""
    node: Array
    """Node of each row."""


@dataclass(frozen=True, slots=True)
class _Split:
    """Question of a node, with the values of its two sides."""

    gain: float
    column: int
    limit: float
    below: float
    above: float


def _stack_hits(samples: Sequence[Sample]) -> tuple[Array, Array, Array]:
    """Stack the hits of prompts that need memory and have a right one; of data sets fewer wrong."""
    tables, labels, weights = [], [], []
    for sample in samples:
        if not sample.needs_memory or not sample.right.any():
            continue
        chosen = np.ones(len(sample.right), bool)
        if sample.kind != WORLDS:
            chosen[8:] = sample.right[8:] > 0
            chosen[8::6] = True
        weight = HIT_WEIGHTS.get(sample.kind, OTHER_HIT_WEIGHT)
        tables.append(sample.hits[chosen])
        labels.append(sample.right[chosen])
        weights.append(np.full(int(chosen.sum()), weight))
    return np.concatenate(tables), np.concatenate(labels), np.concatenate(weights)


def _weigh_prompt(sample: Sample, kind_weights: Mapping[str, float]) -> float:
    """Weigh a prompt: one of another conversation is sometimes answered by this one, too."""
    is_stranger = sample.kind not in (WORLDS, SMALL) and not sample.needs_memory
    return kind_weights[sample.kind] * (STRANGER_WEIGHT if is_stranger else 1.0)


def train(samples: Sequence[Sample]) -> RelevanceModel:
    """Train both parts; their calibration is left as it is."""
    signs = np.array([(name in RISING) - (name in FALLING) for name in HIT_FEATURES], np.float64)
    counts = Counter(sample.kind for sample in samples)
    kind_weights = {
        kind: 1.0 if kind == WORLDS else DATA_SHARE * max(counts[WORLDS], 100) / count
        for kind, count in counts.items()
    }
    prompts = fit_logistic(
        np.stack([sample.prompt for sample in samples]),
        np.array([sample.needs_memory for sample in samples], np.float64),
        np.array([_weigh_prompt(sample, kind_weights) for sample in samples]),
    )
    stacked = _stack_hits(samples)
    trees = MonotoneBoosting(signs).fit(*stacked)
    return RelevanceModel(prompts, fit_logistic(*stacked, signs), trees, 1.0, 0.0)


# --------------------------------------------------------------------------------------------------
# figures


@dataclass(frozen=True, slots=True)
class Judged:
    """A sample with what a model said that never saw it."""

    sample: Sample
    need: float
    chances: Array

    @property
    def products(self) -> Array:
        """Products of need and chance, not calibrated."""
        return self.need * self.chances


def judge_unseen(
    samples: Sequence[Sample], name_fold: Callable[[Sample], str], folds: Sequence[str]
) -> list[Judged]:
    """Let each fold be judged by a model that was trained without it."""
    judged = []
    for fold in folds:
        model = train([sample for sample in samples if name_fold(sample) != fold])
        for sample in samples:
            if name_fold(sample) == fold:
                need = float(model.prompts.judge(sample.prompt[None])[0])
                judged.append(Judged(sample, need, model.judge_hits(sample.hits)))
    return judged


def fit_calibration(judged: Sequence[Judged]) -> tuple[float, float]:
    """Fit scale and shift of the log odds (Platt), on predictions of unseen samples."""
    odds = to_log_odds(np.concatenate([row.products for row in judged]))
    labels = np.concatenate([row.sample.right for row in judged])
    table = np.stack([odds, np.ones(len(odds))], 1)
    fitted = np.array([1.0, 0.0])
    for _ in range(20):
        chances = to_probability(table @ fitted)
        slope = table.T @ (labels - chances)
        curve = (table * (chances * (1 - chances))[:, None]).T @ table
        fitted += np.linalg.solve(curve, slope)
    return float(fitted[0]), float(fitted[1])


def measure_calibration(probabilities: Array, labels: Array, bins: int = 10) -> float:
    """Measure the expected calibration error over bins of equal width."""
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    error = 0.0
    for place in range(bins):
        inside = places == place
        if inside.any():
            error += inside.mean() * abs(probabilities[inside].mean() - labels[inside].mean())
    return float(error)


def format_curve(probabilities: Array, labels: Array, bins: int = 5) -> str:
    """Format what was said and what was so, in bins of equal width: "0.11 0.09 (n)"."""
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    cells = []
    for place in range(bins):
        inside = places == place
        if inside.any():
            said = probabilities[inside].mean()
            cells.append(f"{said:.2f} {labels[inside].mean():.2f} ({inside.sum()})")
    return "  ".join(cells)


def measure_order(scores: Array, labels: Array) -> float:
    """Measure the area under the ROC curve; a coin has 0.5."""
    ranks = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
    positives = labels.sum()
    if not 0 < positives < len(labels):
        return math.nan
    return float(
        (ranks[labels > 0].sum() - positives * (positives - 1) / 2)
        / (positives * (len(labels) - positives))
    )


def print_figures(title: str, judged: Sequence[Judged], calibration: tuple[float, float]) -> None:
    """Print order and calibration of one kind of samples."""
    scale, shift = calibration
    needs = np.array([row.need for row in judged])
    labels = np.array([row.sample.needs_memory for row in judged], np.float64)
    products = np.concatenate([row.products for row in judged])
    probabilities = to_probability(scale * to_log_odds(products) + shift)
    right = np.concatenate([row.sample.right for row in judged])
    orders = [
        measure_order(row.chances, row.sample.right) for row in judged if row.sample.needs_memory
    ]
    print(
        f"{title:28} {len(judged):5} prompts  need: AUC {measure_order(needs, labels):.3f},"
        f" ECE {measure_calibration(needs, labels):.3f}   hits: AUC {np.nanmean(orders):.3f},"
        f" ECE {measure_calibration(probabilities, right):.3f}"
    )
    print(f"  need, said and so: {format_curve(needs, labels)}")
    print(f"  help, said and so: {format_curve(probabilities, right)}")


def print_contexts(worlds: Sequence[World], samples: Sequence[Sample]) -> None:
    """Print what contexts show in each world, judged by a model that never saw that world."""
    rows: list[JudgedPrompt] = []
    for world in worlds:
        model = train([sample for sample in samples if sample.group != world.name])
        memory = EngramsWorld(world)
        with patch.object(judgement, "load_model", lambda model=model: model):
            rows += [
                judge(world, prompt, memory.inject(prompt, "context")) for prompt in world.prompts
            ]
        memory.close()
    print(format_table(rows, 0, 1))


def write_weights(model: RelevanceModel) -> None:
    """Write the weights as the package reads them."""
    parts = {"prompt": model.prompts, "hit": model.hits}
    arrays = {
        f"{part}_{name}": getattr(logistic, name).astype(np.float32)
        for part, logistic in parts.items()
        for name in ("means", "deviations", "weights")
    }
    np.savez_compressed(
        WEIGHTS,
        **arrays,
        columns=model.trees.columns.astype(np.uint8),
        limits=model.trees.limits.astype(np.float32),
        leaves=model.trees.leaves.astype(np.float32),
        base=model.trees.base,
        scale=model.scale,
        shift=model.shift,
    )
    print(f"{WEIGHTS.relative_to(ROOT)}: {WEIGHTS.stat().st_size // 1024} KB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=Path, nargs="*")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--dry-run", action="store_true", help="write no weights")
    parser.add_argument(
        "--contexts", action="store_true", help="what contexts show in worlds that trained nothing"
    )
    parser.add_argument("--quick", action="store_true", help="no figures by kind of data")
    options = parser.parse_args()
    samples = collect_samples(options.worlds, options.data)
    world_samples = [sample for sample in samples if sample.kind == WORLDS]
    worlds = sorted({sample.group for sample in world_samples})
    print(
        f"{len(samples)} prompts, {len(PROMPT_FEATURES)} features of a prompt, {len(HIT_FEATURES)} of a hit"
    )
    unseen = judge_unseen(samples, lambda sample: sample.group, worlds)
    calibration = fit_calibration(unseen)
    print_figures("worlds, one left out", unseen, calibration)
    if not options.quick:
        for kind in sorted({sample.kind for sample in samples}):
            unseen_kind = judge_unseen(samples, lambda sample: sample.kind, [kind])
            print_figures(f"{kind}, kind left out", unseen_kind, calibration)
    if options.contexts:
        trained_worlds = [
            world for world in read_worlds([OWN_WORLDS, *options.worlds]) if world.half != "held"
        ]
        print_contexts(trained_worlds, samples)
    if not options.dry_run:
        trained = train(samples)
        write_weights(RelevanceModel(trained.prompts, trained.hits, trained.trees, *calibration))


if __name__ == "__main__":
    main()
