"""Changes job: looks for what new messages end, after they were stored."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain

from engrams.core import Record, Scope
from engrams.ports import CHANGES, Embedder, Job
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write.change_detection.detector import ChangeDetector, Detection
from engrams.write.change_set import DigestChangeSet
from engrams.write.late_messages import LATE
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
        """Close or mark what the messages end, in their order.

        Of late messages, what was said after them is looked at once more, and ends nothing but them.
        """
        owner = Scope.parse(job.payload["scope"]).owner
        ids = list(job.payload["items"])
        late_ids = frozenset(job.payload.get(LATE, ()))
        later_ids = [id for id in self._find_later_news(owner, late_ids) if id not in set(ids)]
        ids += later_ids
        only_late = frozenset(later_ids)
        starts = range(0, max(len(ids), 1), _PART)
        parts = (self._load(owner, ids[start : start + _PART]) for start in starts)
        detections = None
        if self._detector is not None:
            detections = self._detector.detect(parts, len(ids))
        for start in starts:
            changes = DigestChangeSet(owner, owner, self._clock())
            if self._detector is not None and detections is not None:
                detection = _keep_late(next(detections), only_late, late_ids)
                self._detector.apply(detection, changes)
            remaining_ids = ids[start + _PART :]
            # What was said later is found anew by who goes on: it is to end nothing but late ones.
            own_ids = [id for id in remaining_ids if id not in only_late]
            progress = ((job.lease, {**job.payload, "items": own_ids}),)
            self._store.commit(
                replace(
                    changes.to_batch(CHANGES, _REASON, {}),
                    finish=() if remaining_ids else (job.lease,),
                    progress=progress if remaining_ids else (),
                    repeatable=True,
                )
            )

    def _find_later_news(self, owner: Scope, late_ids: AbstractSet[str]) -> list[str]:
        if self._detector is None:
            return []
        ids = sorted(late_ids)
        parts = (
            self._load(owner, ids[start : start + _PART]) for start in range(0, len(ids), _PART)
        )
        return [*dict.fromkeys(chain.from_iterable(map(self._detector.find_later_news, parts)))]

    def _load(self, owner: Scope, ids: Sequence[str]) -> list[Record]:
        return sorted(self._store.get(owner, ids), key=lambda record: record.story_key)


def _keep_late(
    detection: Detection, later_ids: AbstractSet[str], late_ids: AbstractSet[str]
) -> Detection:
    """Keep of what later messages end only late ones: the rest was judged when they came."""
    return [
        (
            record,
            [change for change in changes if change.earlier.id in late_ids]
            if record.id in later_ids
            else changes,
        )
        for record, changes in detection
    ]
