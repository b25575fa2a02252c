"""Vectors of records that are about to be stored."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import Record, StageDecision, Vector
from engrams.errors import ModelError
from engrams.ports import Embedder
from engrams.text.prose import strip_code


def embed_records(
    records: Sequence[Record], embedder: Embedder
) -> tuple[dict[str, Vector], tuple[StageDecision, ...]]:
    """Embed records; return their vectors by id, and a decision if the embedder fails.

    A record without a vector is found by its words, and embedded later by a job.
    """
    if not records:
        return {}, ()
    try:
        rows = embedder.embed([strip_code(record.search_text) for record in records], "document")
    except ModelError as problem:
        return {}, (StageDecision("embed", "later", problem.message),)
    card = embedder.card
    return {
        record.id: Vector(record.id, card.id, card.dimension, row.astype("<f4").tobytes())
        for record, row in zip(records, rows, strict=True)
        if row.any()
    }, ()
