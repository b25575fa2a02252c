"""Reranking of the best candidates by a model, within a time limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from engrams.core import Hit, Record
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.ports import Reranker, RerankRequest
from engrams.ports.read_time import limit_model_seconds
from engrams.read.request import ReadRequest
from engrams.settings import RerankSettings

RerankGap: TypeAlias = Literal["", "reranker_late", "reranker_down"]


@dataclass(frozen=True, slots=True)
class RerankedHits:
    """Hits after a model judged the best of them."""

    hits: Sequence[Hit]
    """Best first; without those that the model refused."""
    refused: Mapping[str, str]
    """Ids of hits below ``rerank.threshold``, with the reason."""
    note: str
    """Note for the trace."""
    gap: RerankGap = ""
    """Why no hit was judged. Empty: some were."""


def rerank_hits(
    request: ReadRequest, hits: Sequence[Hit], reranker: Reranker, settings: RerankSettings
) -> RerankedHits:
    """Judge the best hits by a model and rank them anew.

    The verdict is absolute, 0..1, and is blended into the score by ``rerank.weight``; hits without
    a verdict keep their score. A model that fails changes nothing: a read never fails because of
    it.
    """
    if not hits:
        return RerankedHits((), {}, "")
    seconds = limit_model_seconds(settings.seconds)
    if not seconds:
        return RerankedHits(hits, {}, "not reranked: no time was left", "reranker_late")
    best = hits[: settings.candidates]
    try:
        verdicts = reranker.rank(
            RerankRequest(
                query=request.text,
                texts=tuple(_name_speaker(hit.record) for hit in best),
                seconds=seconds,
                session=f"{request.scope.key}|{request.session}" if request.session else "",
                ids=tuple(hit.record.id for hit in best),
                topic_changed=request.topic_changed,
            )
        )
    except ModelError as problem:
        return RerankedHits(hits, {}, f"not reranked: {problem.message}", "reranker_down")
    judged = []
    refused = {}
    for hit, verdict in zip(best, verdicts, strict=True):
        if verdict is None:
            judged.append(hit)
        elif settings.threshold is not None and verdict < settings.threshold:
            refused[hit.record.id] = f"judged {verdict:.2f}, below {settings.threshold:g}"
        else:
            score = (1 - settings.weight) * hit.score + settings.weight * verdict
            parts = {**hit.parts, "rerank": round(verdict, 4)}
            judged.append(replace(hit, score=score, parts=parts))
    judged.sort(key=lambda hit: -hit.score)
    unjudged = sum(verdict is None for verdict in verdicts)
    note = f"reranked by {reranker.name}" + (f", no time for {unjudged}" if unjudged else "")
    gap: RerankGap = "reranker_late" if unjudged == len(best) else ""
    return RerankedHits([*judged, *hits[settings.candidates :]], refused, note, gap)


def _name_speaker(record: Record) -> str:
    """Text of a record after the name of who said it: questions ask by name."""
    return f"{record.speaker}: {record.search_text}" if record.speaker else record.search_text
