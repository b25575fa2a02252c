"""Rerank by a cross-encoder on this machine, as many candidates as the time allows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from engrams.errors import EngramsError
from engrams.models.rerank.cross_encoder import CrossEncoderReranker
from engrams.models.rerank.score import CANDIDATE, QUERY_TAIL
from engrams.ports import RerankRequest

_TRIED_TEXT = "Caroline went to the support group last week and told everybody about it. " * 2
"""Text of a usual length, for a trial of the pace."""
_TRIED_PAIRS = 8

DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
_BATCH = 8
"""Candidates scored at once at most: more of them wait for the longest."""
_PAIR_CHARACTERS = 40
"""Characters that a pair costs besides its text."""
_NEW_SHARE = 0.3
"""Weight of the last batch in the measured pace."""
_RESERVE = 1.2
"""Factor on what a batch will probably take, so that it seldom ends late."""


class LocalReranker:
    """Reranker with a time budget; threads share it.

    Candidates are scored best first, in batches that fit into what is left of the time, by the pace
    of earlier ones. The model is loaded in the background at the first request, which does not wait
    longer for it than it may. ``timer``: seconds, monotonic.
    """

    def __init__(
        self,
        encoder: CrossEncoderReranker,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._encoder = encoder
        self._timer = timer
        self._lock = threading.Lock()
        self._loading: threading.Thread | None = None
        self._problem: EngramsError | None = None
        self._pace = 0.0
        """Seconds a character. 0: not measured yet."""

    @property
    def name(self) -> str:
        return f"local:{self._encoder.name.partition(':')[2]}"

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Score texts; None: not reached in time.

        ExtraError: the extra ``local`` is not installed. ModelError: the model cannot be loaded.
        """
        deadline = self._timer() + request.seconds
        if not request.texts or request.seconds <= 0 or not self._load(request.seconds):
            return (None,) * len(request.texts)
        query = request.query[-QUERY_TAIL:]
        texts = [text[:CANDIDATE] for text in request.texts]
        scores: list[float | None] = []
        while len(scores) < len(texts):
            batch = self._choose_batch(query, texts[len(scores) :], deadline - self._timer())
            if not batch:
                break
            scores += self._score(query, batch)
        return (*scores, *(None,) * (len(texts) - len(scores)))

    def _load(self, seconds: float) -> bool:
        """Load the model in the background; False: it is not there in time."""
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(
                    target=self._warm, name="engrams-rerank", daemon=True
                )
                self._loading.start()
            loading = self._loading
        loading.join(seconds)
        if self._problem is not None:
            raise self._problem
        return not loading.is_alive()

    def _warm(self) -> None:
        try:
            self._encoder.warm()
        except EngramsError as problem:
            self._problem = problem

    def _choose_batch(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[str]:
        """Take the first texts that fit into the seconds; the very first pair shows the pace."""
        if seconds <= 0:
            return ()
        if not self._pace:
            return texts[:1]
        longest = 0
        count = 0
        for text in texts[:_BATCH]:
            longest = max(longest, len(text))
            # A batch is padded to its longest text.
            cost = (count + 1) * _count_characters(query, longest) * self._pace * _RESERVE
            if cost > seconds:
                break
            count += 1
        return texts[:count]

    def _score(self, query: str, texts: Sequence[str]) -> list[float]:
        start = self._timer()
        scores = self._encoder.score_pairs(query, texts)
        taken = self._timer() - start
        longest = max(map(len, texts))
        pace = taken / (len(texts) * _count_characters(query, longest))
        self._pace = (1 - _NEW_SHARE) * self._pace + _NEW_SHARE * pace if self._pace else pace
        return scores


def measure_pair_seconds(model: str) -> float:
    """Measure the seconds that a pair of usual length takes on this machine.

    ExtraError: the extra ``local`` is not installed. ModelError: the model cannot be loaded.
    """
    encoder = CrossEncoderReranker(model or DEFAULT_MODEL)
    encoder.warm()
    question = "When did Caroline go to the support group?"
    encoder.score_pairs(question, [_TRIED_TEXT])
    start = time.perf_counter()
    encoder.score_pairs(question, [_TRIED_TEXT] * _TRIED_PAIRS)
    return (time.perf_counter() - start) / _TRIED_PAIRS


def _count_characters(query: str, longest: int) -> int:
    return len(query) + longest + _PAIR_CHARACTERS
