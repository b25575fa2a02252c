"""Rerank by a judge: one decision a text, whether it answers the question."""

from __future__ import annotations

from engrams.errors import ModelError
from engrams.models.rerank.score import CANDIDATE, QUERY_TAIL
from engrams.ports import Judge, JudgeRequest, Reranker, RerankRequest


class JudgedReranker:
    """Reranker over a judge; another reranker takes its place where it fails."""

    def __init__(self, judge: Judge, fallback: Reranker | None = None) -> None:
        """Set up. ``fallback``: None: a failure leaves the order as it is."""
        self._judge = judge
        self._fallback = fallback

    @property
    def name(self) -> str:
        """Name of the judge."""
        return self._judge.name

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Judge each text. ModelError: neither the judge nor the other reranker answered."""
        if not request.texts or request.seconds <= 0:
            return (None,) * len(request.texts)
        notes = "\n".join(
            f"[{number}] {' '.join(text[:CANDIDATE].split())}"
            for number, text in enumerate(request.texts, 1)
        )
        question = request.query[-QUERY_TAIL:]
        try:
            return self._judge.judge(
                JudgeRequest(
                    text=f"Question: {question}\n\nNotes from memory:\n{notes}",
                    statements=tuple(
                        f"Note [{number}] holds what is needed to answer the question."
                        for number in range(1, len(request.texts) + 1)
                    ),
                    seconds=request.seconds,
                )
            )
        except ModelError:
            if self._fallback is None:
                raise
            return self._fallback.rank(request)
