"""The job that learns from journaled turns: the write flow, and its result in one transaction with the job's end."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from datetime import timedelta

from engrams.ports import EXTRACT, Batch, Chat, Clock, Embedder, Job, Store
from engrams.settings import Settings
from engrams.types import Decision, Receipt, Record, Scope
from engrams.write import flow

_STEP = 50
"""Records a transaction: an interrupted import repeats at most this many, and repeating stores nothing twice."""
_TOLD = 256


class Digest:
    """Extracts, judges, reconciles and stores. One owner's statements are reconciled one job at a time."""

    kind = EXTRACT

    def __init__(self, store: Store, embedder: Embedder, chat: Chat | None, clock: Clock, settings: Settings) -> None:
        self._store, self._clock, self._settings = store, clock, settings
        self._deps = flow.Deps(store, settings.write, settings.limits, clock, store, embedder, chat)
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._results: OrderedDict[str, flow.Digest] = OrderedDict()

    @property
    def inline(self) -> bool:
        """Whether it is fast enough to run within ``add``: rules are, a model is not."""
        return self._settings.enabled and self._deps.chat is None and self._settings.write.extract != "off"

    def run(self, job: Job) -> None:
        """Learn from the job's records, step by step."""
        scope = Scope.parse(job.payload["scope"])
        items = list(job.payload["items"])
        with self._lock(scope.owner.key):
            for start in range(0, max(len(items), 1), _STEP):
                last = start + _STEP >= len(items)
                records = self._store.get(scope.owner, items[start : start + _STEP])
                self._learn(job, records, last)
                if not last:
                    self._store.renew(job.lease, self._clock() + timedelta(seconds=self._settings.jobs.lease))

    def told(self, receipt: Receipt, job: str) -> Receipt:
        """The receipt with what the job made of its record."""
        with self._guard:
            result = self._results.pop(job, None)
        if result is None:
            return receipt
        decisions: tuple[Decision, ...] = (*receipt.decisions, *result.decisions)
        pending = tuple(name for name in receipt.pending if name != self.kind)
        return replace(receipt, derived=result.derived, decisions=decisions, pending=pending, cost=result.cost)

    def _learn(self, job: Job, records: tuple[Record, ...], last: bool) -> None:
        result = flow.digest(records, self._deps)
        finish = (job.lease,) if last else ()
        if finish or not result.empty:
            batch: Batch = replace(result.batch, finish=finish)
            self._store.commit(batch)
        with self._guard:
            self._results[job.id] = result
            while len(self._results) > _TOLD:
                self._results.popitem(last=False)

    def _lock(self, owner: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(owner, threading.Lock())
