"""Ranking metrics and their bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

KS = (1, 5, 10, 20, 50)
KEYS = (*(f"R@{k}" for k in KS), "all@10", "hit@10", "NDCG@10", "MRR")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Result of one question."""

    talk: str
    question: str
    category: str
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)


def score_ranking(found: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """Metrics of a ranking.

    R@k: share of the evidence among the first k; all@10 and hit@10: all or any of it; NDCG@10 with
    gains 0 and 1; MRR.
    """
    want = set(evidence)
    ranking = list(dict.fromkeys(found))
    places = [rank for rank, name in enumerate(ranking) if name in want]
    row = {f"R@{k}": sum(place < k for place in places) / len(want) for k in KS}
    row["all@10"] = float(sum(place < 10 for place in places) == len(want))
    row["hit@10"] = float(any(place < 10 for place in places))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(want), 10)))
    row["NDCG@10"] = sum(1 / math.log2(place + 2) for place in places if place < 10) / ideal
    row["MRR"] = 1 / (places[0] + 1) if places else 0.0
    return row


def mean(rows: Sequence[ResultRow], key: str) -> float:
    return float(np.mean([row.scores[key] for row in rows])) if rows else 0.0


def bootstrap_interval(values: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean."""
    data = np.asarray(values, float)
    if not len(data):
        return 0.0, 0.0
    picks = np.random.default_rng(0).integers(0, len(data), (draws, len(data)))
    means = np.sort(data[picks].mean(axis=1))
    return float(means[int(0.025 * draws)]), float(means[int(0.975 * draws)])


def paired_difference(
    ours: Sequence[ResultRow], theirs: Sequence[ResultRow], key: str
) -> tuple[float, float, float]:
    """Mean of ours - theirs on the same questions, with paired interval."""
    gaps = [a.scores[key] - b.scores[key] for a, b in zip(ours, theirs, strict=True)]
    return (float(np.mean(gaps)) if gaps else 0.0, *bootstrap_interval(gaps))
