"""Damaged vectors: found, and removed so that they are made again."""

from __future__ import annotations

from datetime import datetime

from engrams.store.sql.named_queries import SqlConnection, stream_rows
from engrams.store.sql.vector_rows import drop_vectors

_FLOAT_BYTES = 4


def find_damaged(connection: SqlConnection) -> list[tuple[int, int]]:
    """Find vectors of another size or length than their models make.

    Returns the numbers of record and model of each.
    """
    import numpy as np

    from engrams.index.columns import find_sound

    damaged = []
    for record, model, dimension, data in stream_rows(connection, "all_vectors"):
        if (
            len(data) != _FLOAT_BYTES * dimension
            or not find_sound(np.frombuffer(data, np.float32)[None])[0]
        ):
            damaged.append((record, model))
    return damaged


def check_vectors(connection: SqlConnection) -> list[str]:
    """Report damaged vectors to the doctor."""
    damaged = find_damaged(connection)
    return [f"{len(damaged):,} vectors are damaged."] if damaged else []


def drop_damaged(connection: SqlConnection, at: datetime) -> str:
    """Remove damaged vectors; return a note, empty where none is."""
    damaged = find_damaged(connection)
    if not damaged:
        return ""
    for model in {model for _, model in damaged}:
        records = [record for record, its_model in damaged if its_model == model]
        drop_vectors(connection, model, records, at)
    return f"{len(damaged):,} damaged vectors were removed; they are made again."
