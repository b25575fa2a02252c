"""Embeddings of records, by model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from engrams.errors import InputError
from engrams.store.sqlite.sql import execute, fetch_all, fetch_first, fetch_one
from engrams.types import Scope, Vector

if TYPE_CHECKING:
    from engrams.ports.search import Floats


def save_vector(connection: apsw.Connection, number: int, vector: Vector) -> None:
    """Add or replace a vector; InputError for a wrong size."""
    if vector.dimension < 1 or len(vector.data) != 4 * vector.dimension:
        raise InputError(f"A vector of {vector.dimension} dimensions has {4 * vector.dimension} bytes, not {len(vector.data)}.")
    found = fetch_first(connection, "find_model", vector.model)
    model, dimension = found or fetch_one(connection, "add_model", vector.model, vector.dimension)
    if dimension != vector.dimension:
        raise InputError(
            f"Vectors of {vector.model!r} have {dimension} dimensions here, not {vector.dimension}.",
            hint="A model that changed needs another name.",
        )
    execute(connection, "add_vector", number, model, vector.data)


def find_model(connection: apsw.Connection, name: str) -> tuple[int, int]:
    """Number and dimension of a model; zeros if unknown."""
    found = fetch_first(connection, "find_model", name)
    return (found[0], found[1]) if found else (0, 0)


def fetch_vectors(connection: apsw.Connection, owner: Scope, ids: Sequence[str], model: str) -> Floats:
    """Fetch unit vectors [len(ids), dimension]; zeros for missing ones."""
    import numpy as np

    number, dimension = find_model(connection, model)
    result = np.zeros((len(ids), dimension), np.float32)
    rows = dict(fetch_all(connection, "get_vectors", json.dumps(list(ids), ensure_ascii=False), owner.key, number))
    for place, name in enumerate(ids):
        if name in rows:
            result[place] = np.frombuffer(rows[name], np.float32)
    return result
