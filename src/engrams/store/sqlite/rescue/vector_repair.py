"""Damaged vectors: found, and removed so that they are made again."""

from __future__ import annotations

from datetime import datetime

from engrams.store.sql.named_queries import SqlConnection, stream_rows
from engrams.store.sql.record_queries import drop_vectors


def find_damaged(connection: SqlConnection) -> list[tuple[int, int]]:
    """Find vectors of another size or length than models make.

    Records and models by number.
    """
    import numpy as np

    from engrams.index.columns import find_sound

    found = []
    for record, model, dimension, data in stream_rows(connection, "all_vectors"):
        if len(data) != 4 * dimension or not find_sound(np.frombuffer(data, np.float32)[None])[0]:
            found.append((record, model))
    return found


def check_vectors(connection: SqlConnection) -> list[str]:
    """Problems of a check."""
    found = find_damaged(connection)
    return [f"{len(found):,} vectors are damaged."] if found else []


def drop_damaged(connection: SqlConnection, at: datetime) -> str:
    """Remove damaged vectors; a note."""
    found = find_damaged(connection)
    for model in {model for _, model in found}:
        drop_vectors(connection, model, [record for record, its in found if its == model], at)
    return f"{len(found):,} damaged vectors were removed; they are made again." if found else ""
