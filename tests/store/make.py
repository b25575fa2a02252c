"""Short ways to say what the tests of every store need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from engrams.core import Kind, Record, Scope, Vector
from engrams.core.ids import new_id
from engrams.ports import (
    CandidateSearchQuery,
    CommitResult,
    NewRecord,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.text.terms import terms

START = datetime(2025, 3, 1, 12, tzinfo=UTC)
ALICE = Scope(("user", "alice"))
BOB = Scope(("user", "bob"))
MODEL = "tiny"


class Time:
    """A clock that stands where it was put."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def at(**delta: float) -> datetime:
    """So long after the start."""
    return START + timedelta(**delta)


def record(text: str, scope: Scope = ALICE, **fields: Any) -> Record:
    """A fact of Alice's, recorded at the start, unless said otherwise."""
    given: dict[str, Any] = {"id": new_id(START), "kind": Kind.FACT, "recorded_at": START, **fields}
    return Record(scope=scope, text=text, **given)


def turn(text: str, scope: Scope = ALICE, **fields: Any) -> Record:
    return record(text, scope, **{"kind": Kind.TURN, "role": "user", "session": "s1", **fields})


def batch(*puts: Record | NewRecord, **parts: Any) -> WriteBatch:
    """A write by a test; ``parts`` as in Batch."""
    made = tuple(put if isinstance(put, NewRecord) else NewRecord(put) for put in puts)
    return WriteBatch(**{"actor": "test", "reason": "because", "at": START, "puts": made, **parts})


def add(store: Store, *puts: Record | NewRecord, **parts: Any) -> CommitResult:
    return store.commit(batch(*puts, **parts))


def change(
    store: Store,
    target: Record,
    action: str = "edit",
    expect: int | None = None,
    when: datetime = START,
    **fields: Any,
) -> Record:
    """Change a record and read it again."""
    store.commit(
        batch(
            changes=(
                RecordChange(
                    owner=target.scope.owner,
                    id=target.id,
                    fields=fields,
                    action=action,
                    expect=expect,
                ),
            ),
            at=when,
        )
    )
    return get(store, target)


def get(store: Store, target: Record) -> Record:
    (found,) = store.get(target.scope.owner, [target.id])
    return found


def reach(*scopes: Scope, tree: bool = False) -> ScopeReach:
    """Alice's own scope, or those given."""
    return ScopeReach((scopes or (ALICE,))[0].owner, scopes or (ALICE,), tree)


def texts(store: Store, **filters: Any) -> list[str]:
    """The texts that a listing finds, in its order."""
    return [
        found.text
        for found in store.find(
            RecordQuery(**{"reach": reach(), "order": "oldest", **filters})
        ).records
    ]


def vector(target: Record, *values: float, model: str = MODEL) -> Vector:
    """A unit vector in the direction of ``values``."""
    data = np.array(values, np.float32)
    data /= np.linalg.norm(data)
    return Vector(target.id, model, len(values), data.tobytes())


def seek(
    store: Store, query: str, direction: Sequence[float] | None = None, **options: Any
) -> dict[str, float]:
    """Ids that a search finds in Alice's scope, with the sum of what the sources say."""
    wanted = CandidateSearchQuery(
        **{
            "reach": reach(),
            "now": at(days=365),
            "terms": tuple((term, 1.0) for term in terms(query)),
            "vector": None if direction is None else np.array(direction, np.float32),
            "model": MODEL,
            **options,
        }
    )
    pool = store.seek(wanted)
    return {name: float(pool.cos[index] + pool.bm[index]) for index, name in enumerate(pool.ids)}


def found(
    store: Store, query: str, direction: Sequence[float] | None = None, **options: Any
) -> set[str]:
    """Ids for which a source has something to say."""
    return {name for name, score in seek(store, query, direction, **options).items() if score > 0}
