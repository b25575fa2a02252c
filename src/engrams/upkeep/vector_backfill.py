"""Backfill of missing vectors, after outages or model changes."""

from __future__ import annotations

from engrams.core import Record, Vector
from engrams.ports import (
    EMBED,
    Clock,
    Embedder,
    Job,
    JobSpec,
    Store,
    WriteBatch,
)
from engrams.text.prose import strip_code


class VectorBackfillJobHandler:
    """Resumable embed job: batch after batch, each committed, until nothing is missing."""

    kind = EMBED

    def __init__(self, store: Store, embedder: Embedder, clock: Clock, batch: int) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._batch = batch

    def ask(self) -> bool:
        """Enqueue the job where vectors of the current model are missing."""
        card = self._embedder.card
        if not card.dimension or not self._store.missing(card.id, "", 1):
            return False
        self._store.enqueue((JobSpec(self.kind, card.id),), self._clock())
        return True

    def run(self, job: Job) -> None:
        """Embed until nothing is missing; a model failure keeps finished batches."""
        card = self._embedder.card
        after = ""
        while card.dimension and job.key == card.id:
            records = self._store.missing(card.id, after, self._batch)
            if not records:
                break
            after = records[-1].id
            rows = self._embedder.embed([strip_code(record.search_text) for record in records])
            vectors = tuple(
                (record.scope.owner, vector(record, card.id, row.tobytes()))
                for record, row in zip(records, rows, strict=True)
            )
            self._store.commit(WriteBatch("engrams", "embedded", self._clock(), vectors=vectors))
        self._store.finish(job.lease, self._clock())


def vector(record: Record, model: str, data: bytes) -> Vector:
    return Vector(record.id, model, len(data) // 4, data)
