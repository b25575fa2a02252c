"""Changes job: looks for what new messages end, after they were stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Record, Scope
from engrams.ports import CHANGES, Embedder, Job
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write.change_detection.detector import ChangeDetector
from engrams.write.change_set import DigestChangeSet
from engrams.write.write_deps import WriteDeps

_PART = 50
"""Messages per transaction."""
_REASON = "a later statement ends it"


class ChangeDetectionJobHandler:
    """Handler of the changes job.

    A stored part is not done again; a memory that another job changed meanwhile is looked at anew.
    """

    kind = CHANGES

    def __init__(
        self, deps: WriteDeps, plain_embedder: Embedder | None, helpers: HelperProcesses
    ) -> None:
        """Set up the job.

        ``plain_embedder``: the detector was trained with it (None: detection is off). ``helpers``:
        read and judge messages.
        """
        self._store = deps.store
        self._clock = deps.clock
        self._detector = (
            None
            if plain_embedder is None
            else ChangeDetector(deps, plain_embedder, helpers.map_ahead)
        )

    def run(self, job: Job) -> None:
        """Close or mark what the messages end, in their order."""
        owner = Scope.parse(job.payload["scope"]).owner
        ids = list(job.payload["items"])
        starts = range(0, max(len(ids), 1), _PART)
        parts = (self._load(owner, ids[start : start + _PART]) for start in starts)
        detections = None
        if self._detector is not None:
            detections = self._detector.detect(parts, len(ids))
        for start in starts:
            changes = DigestChangeSet(owner, owner, self._clock())
            if self._detector is not None and detections is not None:
                self._detector.apply(next(detections), changes)
            remaining_ids = ids[start + _PART :]
            progress = ((job.lease, {**job.payload, "items": remaining_ids}),)
            self._store.commit(
                replace(
                    changes.to_batch(CHANGES, _REASON, {}),
                    finish=() if remaining_ids else (job.lease,),
                    progress=progress if remaining_ids else (),
                    repeatable=True,
                )
            )

    def _load(self, owner: Scope, ids: Sequence[str]) -> list[Record]:
        return sorted(self._store.get(owner, ids), key=lambda record: record.story_key)
