"""Changes job: what new messages end, looked for after they were stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Record, Scope
from engrams.ports import CHANGES, Clock, Embedder, Job, Store
from engrams.settings import WriteSettings
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write.change_detection.detector import ChangeDetector
from engrams.write.change_set import DigestChangeSet

_STEP = 50
_REASON = "a later statement ends it"


class ChangeDetectionJobHandler:
    """Handler of the changes job.

    A part that is stored is not done again; what another job changed meanwhile is looked at anew.
    """

    kind = CHANGES

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: WriteSettings,
        plain: Embedder | None,
        helpers: HelperProcesses,
    ) -> None:
        """Set up the job.

        ``plain``: the embedder that the detector was trained with (None: it is off). ``helpers``:
        they read and judge messages.
        """
        self._store = store
        self._clock = clock
        model = embedder.card.id if embedder.card.dimension else ""
        self._detector = (
            None
            if plain is None
            else ChangeDetector(store, model, plain, settings, helpers.map_ahead)
        )

    def run(self, job: Job) -> None:
        """Close or mark what the messages end, in their order."""
        owner = Scope.parse(job.payload["scope"]).owner
        items = list(job.payload["items"])
        starts = range(0, max(len(items), 1), _STEP)
        parts = (items[start : start + _STEP] for start in starts)
        found = (
            self._detector.detect((self._read(owner, part) for part in parts), len(items))
            if self._detector
            else None
        )
        for start in starts:
            changes = DigestChangeSet(owner, owner, self._clock())
            rest = items[start + _STEP :]
            if self._detector is not None and found is not None:
                self._detector.apply(next(found), changes)
            batch = changes.to_batch(CHANGES, _REASON, {})
            progress = ((job.lease, {**job.payload, "items": rest}),) if rest else ()
            self._store.commit(
                replace(
                    batch, finish=() if rest else (job.lease,), progress=progress, repeatable=True
                )
            )

    def _read(self, owner: Scope, ids: Sequence[str]) -> list[Record]:
        return sorted(self._store.get(owner, ids), key=lambda record: record.story_key)
