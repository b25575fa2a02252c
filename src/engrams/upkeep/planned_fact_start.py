"""Begin job: what was to come is current from its day on."""

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
    now = clock()
    changes = []
    for new in store.get(owner, list(job.payload["items"])):
        for one in store.get(owner, list(new.meta.get(ENDS, ()))):
            fields = _end_fields(one, new)
            if fields:
                changes.append(
                    RecordChange(
                        owner=owner,
                        id=one.id,
                        fields=fields,
                        action="supersede",
                        expect=one.version,
                    )
                )
    store.commit(
        WriteBatch(BEGIN, "its day has come", now, changes=tuple(changes), finish=(job.lease,))
    )


def _end_fields(one: Record, new: Record) -> dict[str, Any]:
    if one.status is not Status.ACTIVE or one.superseded_by not in ("", new.id):
        return {}
    if new.status is not Status.ACTIVE:
        return dict(GOING_ON) if one.superseded_by else {}
    end = {
        "valid_to": new.valid_from,
        "ended_at": one.ended_at or new.recorded_at,
        "superseded_by": new.id,
    }
    return {"status": Status.SUPERSEDED, **end}
