"""Row that a store hands to the index."""

from __future__ import annotations

from typing import NamedTuple


class IndexRow(NamedTuple):
    """Fields of a row in order; stores hand over plain tuples.

    Loading makes one ``IndexRow`` of whole columns, not one for each of a million rows. Times are microseconds since 1970.
    """

    rowid: int
    changed: int
    """Number of the change that wrote it."""
    id: str
    scope: str
    session: str
    kind: str
    status: str
    speaker: str
    said: int
    """``valid_from``, else ``recorded_at``."""
    valid_from: int | None
    valid_to: int | None
    recorded_at: int
    retired_at: int | None
    ended_at: int | None
    words: int
    question: int
    dated: int
    importance: float
    confidence: float
    lexemes: bytes
    """Term ids in order, uint32."""
    vector: bytes | None
    """float32."""
    role: str
