"""Held-out weights, fitted without the scored conversation, beside the shipped ones.

The fit: the most likely evidence (softmax over all turns of a conversation), every kind of
conversation counting the same, with a small pull towards zero; meaning and words count for a turn
or not at all, never against it. The features are those of ``read.score``, unweighted; the scoring
goes through the whole engine.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import engrams
from bench.quality.ablation import QueryCachingEmbedder
from bench.quality.data import Dataset, Talk
from bench.quality.metrics import KS, ResultRow, bootstrap_interval, mean, score_ranking
from bench.quality.systems import OWNER, EngramsSystem, search_turn_ids
from engrams.ports import Embedder
from engrams.read.dependencies import ReadDeps
from engrams.read.query_preparation import prepare_query
from engrams.read.query_vectors import QueryVectors
from engrams.read.request import ReadRequest
from engrams.read.score_fusion import WEIGHTS, score_pool
from engrams.settings import ScoreWeightSettings

FEATURES = (
    "cos",
    "cosctx",
    "cosnext",
    "bm",
    "bmctx",
    "bmses",
    "speaker",
    "date",
    "slot",
    "question",
    "when",
    "length",
)
FITTED = tuple(WEIGHTS.get(name, name) for name in FEATURES)
_STEPS = 400
_RATE = 0.05
_PULL = 1e-3


@dataclass(slots=True)
class Case:
    """Question with features of every turn [turns, features] and its evidence."""

    kind: str
    talk: str
    features: np.ndarray
    evidence: np.ndarray


def run_heldout(
    sets: Sequence[Dataset],
    embedder: Embedder,
    settings: Mapping[str, object],
    apart: frozenset[str],
) -> dict[str, object]:
    """Print R@10 of held-out and shipped weights for each set."""
    cached = QueryCachingEmbedder(embedder)
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as folder:
        homes = {
            (data.name, talk.id): Path(folder) / f"{place}-{n}"
            for place, data in enumerate(sets)
            for n, talk in enumerate(data.talks)
        }
        cases: list[Case] = []
        for data in sets:
            for talk in data.talks:
                print(f"\rheld out: {data.name} {talk.id}", end="", file=sys.stderr)
                cases += _collect_cases(
                    data.name, talk, homes[data.name, talk.id], cached, settings, apart
                )
        for data in sets:
            shipped: list[ResultRow] = []
            fitted: list[ResultRow] = []
            found: list[np.ndarray] = []
            for talk in data.talks:
                print(f"\rheld out: fitting without {data.name} {talk.id}", end="", file=sys.stderr)
                weights = fit_weights(
                    [case for case in cases if (case.kind, case.talk) != (data.name, talk.id)]
                )
                found.append(weights)
                home = homes[data.name, talk.id]
                given = {
                    f"read__weights__{name}": float(value)
                    for name, value in zip(FITTED, weights, strict=True)
                }
                shipped += _answer_questions(talk, home, cached, settings, apart)
                fitted += _answer_questions(talk, home, cached, {**settings, **given}, apart)
            result[data.name] = _report(data.name, shipped, fitted, np.stack(found))
    return result


def fit_weights(cases: Sequence[Case]) -> np.ndarray:
    """Fit weights in the order of FITTED, on the shipped scale."""
    kinds = {case.kind for case in cases}
    share = {kind: 1 / sum(case.kind == kind for case in cases) / len(kinds) for kind in kinds}
    weights = np.array([getattr(ScoreWeightSettings(), name) for name in FITTED])
    shipped = float(np.abs(weights[:6]).sum())
    first = np.zeros_like(weights)
    second = np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        slope = _PULL * weights
        for case in cases:
            scores = case.features @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            slope -= share[case.kind] * (
                case.features[case.evidence].mean(axis=0) - chance @ case.features
            )
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        weights = weights - _RATE * (first / (1 - 0.9**step)) / (
            np.sqrt(second / (1 - 0.999**step)) + 1e-8
        )
        weights[:6] = np.maximum(weights[:6], 0)
    return np.asarray(weights * shipped / max(float(np.abs(weights[:6]).sum()), 1e-9))


def _collect_cases(
    kind: str,
    talk: Talk,
    home: Path,
    embedder: QueryCachingEmbedder,
    settings: Mapping[str, object],
    apart: frozenset[str],
) -> list[Case]:
    filled = EngramsSystem(embedder, home, **settings)
    filled.fill(talk.items)
    filled.close()
    ones = {f"read__weights__{name}": 1.0 for name in FITTED}
    given = {
        "home": home,
        "jobs__workers": 0,
        "usage__enabled": False,
        "read__fusion": "sum",
        **settings,
        **ones,
    }
    cases = []
    with engrams.open(embedder=embedder, **given) as engine:  # type: ignore[arg-type]
        section = engine.settings
        deps = ReadDeps(
            records=engine.store,
            search=engine.store,
            links=engine.store,
            embedder=embedder,
            query_vectors=QueryVectors(embedder),
            counter=engine.counter,
            settings=section.read,
            link_settings=section.graph,
            rerank_settings=section.rerank,
        )
        names: dict[str, str] = {}
        for question in talk.questions:
            if question.category in apart:
                continue
            prepared = prepare_query(ReadRequest(question.text, OWNER, engine.now(), 10), deps)
            pool = engine.store.seek(prepared.query)
            new = [id for id in pool.ids if id not in names]
            names.update(
                {record.id: record.external_id for record in engine.store.get(OWNER, new)}
                if new
                else {}
            )
            parts = score_pool(
                pool, prepared.cues, prepared.answering, section.read, engine.now().timestamp()
            ).parts
            turns = np.array([place for place, id in enumerate(pool.ids) if names.get(id)])
            nothing = np.zeros(len(pool.ids), np.float32)
            features = np.stack(
                [np.asarray(parts.get(name, nothing), np.float64)[turns] for name in FEATURES],
                axis=1,
            )
            evidence = np.array([names[pool.ids[place]] in question.evidence for place in turns])
            if evidence.any():
                cases.append(Case(kind, talk.id, features, evidence))
    return cases


def _answer_questions(
    talk: Talk,
    home: Path,
    embedder: QueryCachingEmbedder,
    settings: Mapping[str, object],
    apart: frozenset[str],
) -> list[ResultRow]:
    with engrams.open(
        home=home, embedder=embedder, jobs__workers=0, usage__enabled=False, **settings
    ) as engine:  # type: ignore[arg-type]
        return [
            ResultRow(
                talk.id,
                one.id,
                one.category,
                0.0,
                score_ranking(search_turn_ids(engine, one.text, max(KS)), one.evidence),
            )
            for one in talk.questions
            if one.category not in apart
        ]


def _report(
    name: str, shipped: Sequence[ResultRow], fitted: Sequence[ResultRow], weights: np.ndarray
) -> dict[str, object]:
    print(f"\r\n{name}: weights fitted without the conversation that is asked about\n")
    result: dict[str, object] = {}
    for label, rows in (("shipped", shipped), ("held out", fitted)):
        low, high = bootstrap_interval([row.scores["R@10"] for row in rows])
        figures = {key: mean(rows, key) for key in ("R@1", "R@10", "R@50", "NDCG@10")}
        print(
            f"{label:12}"
            + "".join(f"{key:>9} {100 * value:5.1f}" for key, value in figures.items())
            + f"   R@10 {100 * low:.1f}–{100 * high:.1f}"
        )
        result[label] = {
            **{key: round(value, 4) for key, value in figures.items()},
            "interval": [round(low, 4), round(high, 4)],
        }
    spread = {
        key: [round(float(column.mean()), 2), round(float(column.std()), 2)]
        for key, column in zip(FITTED, weights.T, strict=True)
    }
    print(
        "fitted weights, mean and deviation over the folds: "
        + ", ".join(f"{key} {mid} ± {dev}" for key, (mid, dev) in spread.items())
    )
    return {**result, "weights": spread}
