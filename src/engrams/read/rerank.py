"""Reranking of the best candidates within a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Hit
from engrams.errors import ModelError
from engrams.ports import Reranker, RerankRequest
from engrams.read.request import ReadRequest
from engrams.settings import RerankSettings


def rerank(
    request: ReadRequest, hits: Sequence[Hit], reranker: Reranker, settings: RerankSettings
) -> tuple[list[Hit], dict[str, str], str]:
    """Rerank hits: new order, reasons of dropped ones, a trace note.

    The verdict is absolute, 0..1, and is blended into the score by ``weight``; hits without a
    verdict keep their score. A model that fails changes nothing: a read never fails because of it.
    """
    if not hits:
        return [], {}, ""
    best = list(hits[: settings.candidates])
    rest = list(hits[settings.candidates :])
    texts = tuple(hit.record.search_text for hit in best)
    ids = tuple(hit.record.id for hit in best)
    session = f"{request.scope.key}|{request.session}" if request.session else ""
    try:
        verdicts = reranker.rank(
            RerankRequest(
                query=request.text,
                texts=texts,
                seconds=settings.seconds,
                session=session,
                ids=ids,
                topic_changed=request.topic_changed,
            )
        )
    except ModelError as problem:
        return list(hits), {}, f"not reranked: {problem.message}"
    judged = []
    dropped = {}
    for hit, verdict in zip(best, verdicts, strict=True):
        if verdict is None:
            judged.append(hit)
        elif settings.threshold is not None and verdict < settings.threshold:
            dropped[hit.record.id] = f"judged {verdict:.2f}, below {settings.threshold:g}"
        else:
            score = (1 - settings.weight) * hit.score + settings.weight * verdict
            judged.append(
                replace(hit, score=score, parts={**hit.parts, "rerank": round(verdict, 4)})
            )
    skipped = sum(verdict is None for verdict in verdicts)
    note = f"reranked by {reranker.name}" + (f", no time for {skipped}" if skipped else "")
    return sorted(judged, key=lambda hit: -hit.score) + rest, dropped, note
