"""Vectors of records, and the models that made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.core import Scope, Vector
from engrams.errors import InputError
from engrams.ports import EMBED, JobSpec
from engrams.store.sql import job_queue
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_first,
    fetch_one,
)

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_FLOAT_BYTES = 4


def save_vector(connection: SqlConnection, number: int, vector: Vector) -> None:
    """Add or replace the vector of a record; InputError for a wrong size."""
    if vector.dimension < 1 or len(vector.data) != _FLOAT_BYTES * vector.dimension:
        raise InputError(
            f"A vector of {vector.dimension} dimensions has {_FLOAT_BYTES * vector.dimension}"
            f" bytes, not {len(vector.data)}."
        )
    row = fetch_first(connection, "find_model", vector.model)
    model, dimension = row or fetch_one(connection, "add_model", vector.model, vector.dimension)
    if dimension != vector.dimension:
        raise InputError(
            f"Vectors of {vector.model!r} have {dimension} dimensions here, not"
            f" {vector.dimension}.",
            hint="A model that changed needs another name.",
        )
    execute(connection, "add_vector", number, model, vector.data)


def drop_vectors(
    connection: SqlConnection, model: int, numbers: Sequence[int], at: datetime
) -> None:
    """Remove vectors by their records' numbers; ask for new ones."""
    for number in numbers:
        execute(connection, "drop_vector", number, model)
    for (model_name,) in fetch_all(connection, "model_name", model):
        job_queue.enqueue(connection, JobSpec(EMBED, model_name), at)


def find_model(connection: SqlConnection, name: str) -> tuple[int, int]:
    """Find number and dimension of a model; zeros if it is unknown."""
    row = fetch_first(connection, "find_model", name)
    return (row[0], row[1]) if row else (0, 0)


def fetch_vectors(
    connection: SqlConnection, owner: Scope, record_ids: Sequence[str], model: str
) -> Floats:
    """Fetch unit vectors [len(record_ids), dimension]; zeros for missing and damaged ones."""
    import numpy as np

    from engrams.index.columns import find_sound

    number, dimension = find_model(connection, model)
    vectors = np.zeros((len(record_ids), dimension), np.float32)
    listed = json.dumps(list(record_ids), ensure_ascii=False)
    data_by_id = dict(fetch_all(connection, "get_vectors", listed, owner.key, number))
    for position, record_id in enumerate(record_ids):
        data = data_by_id.get(record_id)
        if data is not None and len(data) == _FLOAT_BYTES * dimension:
            vectors[position] = np.frombuffer(data, np.float32)
    vectors[~find_sound(vectors)] = 0
    return vectors
