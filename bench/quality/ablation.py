"""Ablation: the same store read again with one stage left out."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import engrams
from bench.quality.data import Dataset, Question, Talk
from bench.quality.metrics import KS, ResultRow, mean, paired_difference, score_ranking
from bench.quality.systems import OWNER, EngramsSystem, search_turn_ids
from engrams.core.clock import parse_time
from engrams.ports import Embedder
from engrams.read import query_preparation, stages

LEFT_OUT: Mapping[str, Mapping[str, object]] = {
    "speaker cue": {"read__weights__speaker": 0.0},
    "date cue": {"read__weights__date": 0.0},
    "slot asked for": {"read__weights__slot": 0.0},
    "when x time in the text": {"read__weights__when": 0.0},
    "questions lower": {"read__weights__question": 0.0},
    "length": {"read__weights__length": 0.0},
    "meaning of the turn": {"read__weights__dense": 0.0},
    "meaning with the two before": {"read__weights__dense_window": 0.0},
    "meaning of the reply": {"read__weights__dense_next": 0.0},
    "words of the turn": {"read__weights__bm25": 0.0},
    "words with the two before": {"read__weights__bm25_window": 0.0},
    "words of the session": {"read__weights__bm25_session": 0.0},
    "links": {"graph__depth": 0},
    "rules that are triggered": {"read__triggers": 0},
    "repeats taken out": {"read__dedup_overlap": 1.0},
    "all cues": {
        f"read__weights__{name}": 0.0
        for name in ("speaker", "date", "slot", "when", "question", "length")
    },
    "all windows and sessions": {
        f"read__weights__{name}": 0.0
        for name in ("dense_window", "dense_next", "bm25_window", "bm25_session")
    },
    "all meaning": {
        f"read__weights__{name}": 0.0 for name in ("dense", "dense_window", "dense_next")
    },
    "all words": {
        f"read__weights__{name}": 0.0 for name in ("bm25", "bm25_window", "bm25_session")
    },
    "weights: RRF, k 60": {"read__fusion": "rrf"},
}
"""Stages left out, and their settings; the last one replaces the weighted sum by ranks."""

WITHOUT: Mapping[str, tuple[ModuleType, str, Callable[..., Any]]] = {
    "time that a turn tells of": (
        stages,
        "raise_spoken_date",
        lambda hit, *_: hit,
    ),
    "question in the first person": (
        query_preparation,
        "parse_query",
        lambda *given: replace(_parse_query(*given), dense_text=given[0]),
    ),
}
"""Stages without a setting: module, function and replacement."""
_parse_query = query_preparation.parse_query

INSTEAD: Mapping[str, Mapping[str, object]] = {
    "MMR, lambda 0.7": {"read__mmr_lambda": 0.7},
    "links, two steps": {"graph__depth": 2},
}
"""Additions: settings of other systems that are off by default."""

_THEN = "asked the day after"
AGED: Mapping[str, Mapping[str, object]] = {
    "a twentieth for recency, 30 days": {"read__recency_weight": 0.05},
    "a fifth for recency, 30 days": {"read__recency_weight": 0.2},
    "a third for recency, 7 days": {"read__recency_weight": 0.3, "read__recency_days": 7},
}
"""Additions asked the day after the last turn, with their own baseline: years later all are equally
old.
"""

_WITH_TOPICS: Mapping[str, Mapping[str, object]] = {
    "topics, links two steps": {"graph__depth": 2},
    "topics, links two steps, bonus 0.3": {"graph__depth": 2, "graph__bonus": 0.3},
}
_FACTS = "facts told from turns"


class QueryCachingEmbedder:
    """Embedder with a cache: every variant asks the same questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known = dict[tuple[str, str], np.ndarray]()
        self.card = embedder.card

    def embed(self, texts: Sequence[str], purpose: str = "document") -> np.ndarray:
        missing = list(dict.fromkeys(text for text in texts if (purpose, text) not in self._known))
        if missing:
            self._known.update(
                {
                    (purpose, text): row
                    for text, row in zip(
                        missing, self._embedder.embed(missing, purpose), strict=True
                    )
                }
            )  # type: ignore[arg-type]
        return np.stack([self._known[purpose, text] for text in texts])


def run_ablation(
    data: Dataset, embedder: Embedder, settings: Mapping[str, object], apart: frozenset[str]
) -> dict[str, object]:
    """Print R@10 and the difference by stage with paired 95 % intervals."""
    cached = QueryCachingEmbedder(embedder)
    variants = {"as it is": {}, **LEFT_OUT, **INSTEAD}
    rows: dict[str, list[ResultRow]] = {
        name: [] for name in (*variants, *WITHOUT, _THEN, *AGED, _FACTS, *_WITH_TOPICS)
    }
    for number, talk in enumerate(data.talks, 1):
        print(f"\rablation: {number}/{len(data.talks)}", end="", file=sys.stderr)
        _run_talk(talk, cached, settings, variants, rows)
    print(file=sys.stderr)
    kept = {name: [row for row in some if row.category not in apart] for name, some in rows.items()}
    whole = kept.pop("as it is")
    then = kept.pop(_THEN)
    print(
        f"\n{data.name}, embedder {embedder.card.id}: R@10 {100 * mean(whole, 'R@10'):.1f}; what"
        " each stage adds to it (95 %)\n"
    )
    result: dict[str, object] = {"R@10": round(mean(whole, "R@10"), 4)}
    for name, some in kept.items():
        put_in = name in INSTEAD or name in _WITH_TOPICS or name in AGED
        beside = then if name in AGED else whole
        more, less = (some, beside) if put_in else (beside, some)
        middle, low, high = paired_difference(more, less, "R@10")
        wide = paired_difference(more, less, "R@50")[0]
        shown = f"+ {name}" if put_in else name
        print(
            f"{shown:38}{100 * middle:+6.1f}   ({100 * low:+.1f} … {100 * high:+.1f})   R@50"
            f" {100 * wide:+.1f}"
        )
        result[name] = {
            "R@10": [round(part, 4) for part in (middle, low, high)],
            "R@50": round(wide, 4),
        }
    print(f"\nR@10 {_THEN}: {100 * mean(then, 'R@10'):.1f}")
    return {**result, _THEN: round(mean(then, "R@10"), 4)}


def _run_talk(
    talk: Talk,
    embedder: QueryCachingEmbedder,
    settings: Mapping[str, object],
    variants: Mapping[str, Mapping[str, object]],
    rows: dict[str, list[ResultRow]],
) -> None:
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as folder:
        whole = EngramsSystem(embedder, Path(folder), **settings)
        whole.fill(talk.items)
        whole.close()
        for name, changed in variants.items():
            rows[name] += _answer_questions(talk, embedder, {"home": folder, **settings, **changed})
        for name, (place, stage, instead) in WITHOUT.items():
            with _replaced(place, stage, instead):
                rows[name] += _answer_questions(talk, embedder, {"home": folder, **settings})
        after = max(parse_time(item.date) for item in talk.items if item.date) + timedelta(days=1)
        for name, changed in {_THEN: {}, **AGED}.items():
            rows[name] += _answer_questions(
                talk, embedder, {"home": folder, "clock": lambda: after, **settings, **changed}
            )
        with engrams.open(embedder=embedder, home=folder, jobs__workers=0) as engine:
            engine.topics.refresh(OWNER)
        for name, changed in _WITH_TOPICS.items():
            rows[name] += _answer_questions(talk, embedder, {"home": folder, **settings, **changed})
    bare = EngramsSystem(embedder, **{**settings, "write__extract": "off"})
    bare.fill(talk.items)
    rows[_FACTS] += [_row(talk, one, bare.search(one.text, max(KS))) for one in talk.questions]
    bare.close()


def _answer_questions(
    talk: Talk, embedder: QueryCachingEmbedder, given: Mapping[str, object]
) -> list[ResultRow]:
    with engrams.open(embedder=embedder, jobs__workers=0, usage__enabled=False, **given) as engine:  # type: ignore[arg-type]
        return [
            _row(talk, one, search_turn_ids(engine, one.text, max(KS))) for one in talk.questions
        ]


@contextmanager
def _replaced(place: ModuleType, stage: str, instead: Callable[..., Any]) -> Iterator[None]:
    """Context with a function of a module replaced."""
    own = getattr(place, stage)
    setattr(place, stage, instead)
    try:
        yield
    finally:
        setattr(place, stage, own)


def _row(talk: Talk, question: Question, found: Sequence[str]) -> ResultRow:
    return ResultRow(
        talk.id, question.id, question.category, 0.0, score_ranking(found, question.evidence)
    )
