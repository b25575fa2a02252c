"""Embed job: makes the vectors that are missing, after outages or model changes."""

from __future__ import annotations

from engrams.core import Vector
from engrams.ports import EMBED, Clock, Embedder, Job, JobSpec, Store, WriteBatch
from engrams.text.prose import strip_code


class VectorBackfillJobHandler:
    """Resumable embed job: batch after batch, each committed, until nothing is missing."""

    def __init__(self, store: Store, embedder: Embedder, clock: Clock, batch_size: int) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._batch_size = batch_size

    def enqueue_if_missing(self) -> bool:
        """Enqueue the job where vectors of the current model are missing."""
        card = self._embedder.card
        if not card.dimension or not self._store.missing(card.id, "", 1):
            return False
        self._store.enqueue((JobSpec(EMBED, card.id),), self._clock())
        return True

    def run_job(self, job: Job) -> None:
        """Embed until nothing is missing; a model failure keeps finished batches.

        A job of a model that is no longer the current one does nothing.
        """
        card = self._embedder.card
        after = ""
        while card.dimension and job.key == card.id:
            records = self._store.missing(card.id, after, self._batch_size)
            if not records:
                break
            after = records[-1].id
            rows = self._embedder.embed([strip_code(record.search_text) for record in records])
            vectors = tuple(
                (record.scope.owner, Vector(record.id, card.id, len(row), row.tobytes()))
                for record, row in zip(records, rows, strict=True)
            )
            self._store.commit(WriteBatch("engrams", "embedded", self._clock(), vectors=vectors))
        self._store.finish(job.lease, self._clock())
