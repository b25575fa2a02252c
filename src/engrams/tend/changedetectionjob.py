"""Changes job: what new messages end, looked for after they were stored."""

from __future__ import annotations

from dataclasses import replace

from engrams.ports import CHANGES, Clock, Embedder, Job, Store
from engrams.settings import WriteSettings
from engrams.types import Scope
from engrams.write.changedetection.changedetector import ChangeDetector
from engrams.write.changeset import DigestChangeSet

_STEP = 50
_REASON = "a later statement ends it"


class ChangeDetectionJobHandler:
    """Handler of the changes job.
    A part that is stored is not done again; what another job changed meanwhile is looked at anew."""

    kind = CHANGES

    def __init__(self, store: Store, embedder: Embedder, clock: Clock, settings: WriteSettings, plain: Embedder | None) -> None:
        """Set up the job.
        ``plain``: the embedder that the detector was trained with (None: it is off)."""
        self._store, self._clock = store, clock
        card = embedder.card
        self._detector = ChangeDetector(store, card.id if card.dimension else "", plain, settings) if plain is not None else None

    def run(self, job: Job) -> None:
        """Close or mark what the messages end, in their order."""
        owner, items = Scope.parse(job.payload["scope"]).owner, list(job.payload["items"])
        while True:
            part, items = items[:_STEP], items[_STEP:]
            changes = DigestChangeSet(owner, owner, self._clock())
            if self._detector is not None:
                self._detector.apply(sorted(self._store.get(owner, part), key=lambda record: (record.recorded_at, record.id)), changes)
            batch = changes.to_batch(CHANGES, _REASON, {})
            rest = ((job.lease, {**job.payload, "items": items}),) if items else ()
            self._store.commit(replace(batch, finish=() if items else (job.lease,), progress=rest, repeatable=True))
            if not items:
                return
