"""Begin job: a planned fact takes the place of the old one on its day."""

from __future__ import annotations

from typing import Any

from engrams.core import ENDS, Record, Scope, Status
from engrams.forget.dependents import GOING_ON
from engrams.ports import (
    BEGIN,
    Clock,
    Job,
    RecordChange,
    Store,
    WriteBatch,
)


def begin_planned(job: Job, store: Store, clock: Clock) -> None:
    """Supersede the old value when a planned fact's day has come.

    Reads need no job for it: from the day on they pass over what ended. It makes the end a status,
    for lists and files. A plan that was given up ends nothing.
    """
    owner = Scope.parse(job.payload["scope"]).owner
    changes = []
    for planned in store.get(owner, list(job.payload["items"])):
        for current in store.get(owner, list(planned.meta.get(ENDS, ()))):
            fields = _build_end_fields(current, planned)
            if fields:
                changes.append(
                    RecordChange(
                        owner=owner,
                        id=current.id,
                        fields=fields,
                        action="supersede",
                        expect=current.version,
                    )
                )
    store.commit(
        WriteBatch(BEGIN, "its day has come", clock(), changes=tuple(changes), finish=(job.lease,))
    )


def _build_end_fields(current: Record, planned: Record) -> dict[str, Any]:
    """Build the fields that end a fact; empty: it stays as it is."""
    if current.status is not Status.ACTIVE or current.superseded_by not in ("", planned.id):
        return {}
    if planned.status is not Status.ACTIVE:
        # The plan was given up: take back the end that it announced.
        return dict(GOING_ON) if current.superseded_by else {}
    return {
        "status": Status.SUPERSEDED,
        "valid_to": planned.valid_from,
        "ended_at": current.ended_at or planned.recorded_at,
        "superseded_by": planned.id,
    }
