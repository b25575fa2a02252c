"""A purge: memories are erased for good, with their words wherever they stand, and it is proven.

``MemoryPurger.purge`` is the entry, and the order of its steps is this:

1. Plan (``purge_plan``): the memories to erase, those that lose words, and the words.
2. Enqueue the plan as a job that this process holds. If the process dies at any later point, the
   lease runs out and another worker carries out the same order again. Each step can be repeated.
3. Erase (``PurgeExecutor.execute``): first in the caches of this process, then in the store.
4. Erase what others derived of it meanwhile, until a look finds nothing more.
5. Clean the files: copies and backups of the database, uploads, the vault, git (port
   ``HomeFileCleaner``). The files of the erased memories themselves go with step 3, because the
   store of a vault removes both.
6. Finish the job. Only now do the words leave the database: they were in the job's payload.
7. Look again at the bytes of every place, and report what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from engrams.core import Meta, Record, Scope, Status, Vector, content_hash
from engrams.core.ids import new_id
from engrams.forget.dependents import build_release
from engrams.forget.import_names import drop_import_names
from engrams.forget.purge_plan import (
    PurgePlan,
    PurgeTarget,
    build_rewrites,
    list_removed_words,
    plan_late,
    plan_purge,
)
from engrams.forget.purge_words import find_words_in_use, sort_longest_first
from engrams.ports import (
    PURGE,
    Clock,
    Embedder,
    HomeFileCleaner,
    Job,
    JobLease,
    JobSpec,
    PurgeOrder,
    PurgePlaceCheck,
    PurgeReport,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.text.prose import strip_code

KeepLease: TypeAlias = Callable[[str, float], AbstractContextManager[None]]
"""Function that keeps a job's lease while a block runs: the lease's token, and its seconds."""

_LEASE = timedelta(seconds=30)
"""Time after which another worker goes on with a purge whose process died."""
_PAGE = 500
"""Memories that one transaction erases."""
_ROUNDS = 4
"""Looks for what others derived while a purge ran."""
_WORKER = "purge"
_BUSY = "Close other programs that use this memory and purge again."
_PROCESS = PurgePlaceCheck("memory of this process", 1)
_ALSO = "Other memories say the same and stay: {ids}. Purge them too."
_UNSURE = (
    "The words of these messages were not found in them; they may still say it: {ids}. Purge them"
    " too."
)


@dataclass(frozen=True, slots=True)
class PurgeDeps:
    """Dependencies of a purge."""

    store: Store
    embedder: Embedder
    clock: Clock
    drop_cached: Callable[[Scope, Sequence[str]], None]
    """Removes records of an owner from the caches of this process."""
    home: Callable[[], HomeFileCleaner] | None
    """Makes the cleaner of the files beside the store; None: there are no files."""


class MemoryPurger:
    """Purges memories by durable jobs, and checks that nothing is left.

    A process that dies leaves the job to the next worker; the words to remove are in its payload
    until it is done.
    """

    kind = PURGE

    def __init__(self, deps: PurgeDeps, min_words: int, keep_lease: KeepLease) -> None:
        """Set up the purger.

        ``min_words``: words that a message must have left to be worth keeping
        (``write.min_words``).
        """
        self._deps = deps
        self._min_words = min_words
        self._keep_lease = keep_lease
        self._executor = PurgeExecutor(deps)

    def purge(self, records: Sequence[Record], owner: Scope, *, git: bool = False) -> PurgeReport:
        """Erase memories, everything derived from them alone, and their words elsewhere.

        ``git``: also rewrite the git history of the files.
        """
        return self._purge(PurgeTarget(records, owner, self._min_words, git))

    def make_deferred_job(self, records: Sequence[Record], owner: Scope) -> JobSpec:
        """Make the job that purges memories later, in the background.

        A waiting job of this owner takes these memories too, so that one job purges all.
        """
        payload = {
            "owner": owner.key,
            "items": [record.id for record in records],
            "min_words": self._min_words,
        }
        return JobSpec(PURGE, f"{owner.key}|later", payload)

    def run(self, job: Job) -> None:
        """Run the job of a purge: begin one that was put off, or go on with one that died."""
        deps = self._deps
        owner = Scope.parse(job.payload["owner"])
        with deps.store.include_altered():
            self._run(job, owner)

    def _run(self, job: Job, owner: Scope) -> None:
        deps = self._deps
        if "items" in job.payload:
            records = [
                record
                for record in deps.store.get(owner, job.payload["items"])
                if record.status is not Status.PURGED
            ]
            self._purge(PurgeTarget(records, owner, job.payload["min_words"]))
            deps.store.finish(job.lease, deps.clock())
            return
        self._executor.execute(PurgeOrder.from_payload(job.payload))
        deps.store.finish(job.lease, deps.clock())
        self._empty_log(owner)

    def _purge(self, target: PurgeTarget) -> PurgeReport:
        return self.carry_out(plan_purge(target, self._deps.store, self._recall_words(target)))

    def carry_out(self, plan: PurgePlan) -> PurgeReport:
        """Carry out a plan, which may only take words from memories, and prove it."""
        head = self._deps.store.read_head(plan.order.owner)
        lease = self._enqueue(plan.order)
        with self._keep_lease(lease.token, _LEASE.total_seconds()):
            order, report = self._executor.execute(plan.order)
        self._deps.store.finish(lease.token, self._deps.clock())
        return self._certify(order, self._prove(order, report, plan), head)

    def _recall_words(self, target: PurgeTarget) -> tuple[str, ...]:
        """Return the words of memories that were purged before, for a purge of the git history.

        The store has nothing but hashes of them. The history still has the words. A memory that was
        purged took those derived from it along, and no link tells which: so the words of all
        purged memories of the owner are recalled.
        """
        has_purged = any(record.status is Status.PURGED for record in target.records)
        if not target.git or not has_purged or self._deps.home is None:
            return ()
        purged_ids = sorted(self._list_purged(target.owner))
        return self._deps.home().recall_words(
            purged_ids, lambda text: self._was_said(text, target.owner, purged_ids)
        )

    def _list_purged(self, owner: Scope) -> frozenset[str]:
        """List the ids of all purged memories of an owner."""
        query = RecordQuery(ScopeReach.of_owner(owner), statuses=(Status.PURGED,), limit=_PAGE)
        purged_ids: set[str] = set()
        while True:
            page = self._deps.store.find(query)
            purged_ids.update(record.id for record in page.records)
            if not page.next:
                return frozenset(purged_ids)
            query = replace(query, after=page.next)

    def _was_said(self, text: str, owner: Scope, purged_ids: Collection[str]) -> bool:
        """Return True if a text has the hash of one of these purged memories."""
        query = RecordQuery(
            ScopeReach.of_owner(owner),
            statuses=(Status.PURGED,),
            hashes=(content_hash(text),),
            limit=_PAGE,
        )
        return any(record.id in purged_ids for record in self._deps.store.find(query).records)

    def _enqueue(self, order: PurgeOrder) -> JobLease:
        """Store the order as a running job of this process, so that it outlives the process."""
        now = self._deps.clock()
        lease = JobLease(_WORKER, new_id(now), now + _LEASE)
        key = f"{order.owner.key}|{new_id(now)}"
        self._deps.store.enqueue((JobSpec(PURGE, key, order.to_payload(), lease=lease),), now)
        return lease

    def _prove(self, order: PurgeOrder, report: PurgeReport, plan: PurgePlan) -> PurgeReport:
        """Look at every place again, and report what is left in each."""
        log = self._empty_log(order.owner)
        rows = sum(report.remaining.values()) + log
        database = PurgePlaceCheck(
            name="database",
            looked=sum(report.removed.values()),
            left=rows,
            advice=_BUSY if rows else "",
        )
        if self._deps.home is None:
            files: tuple[PurgePlaceCheck, ...] = (_PROCESS,)
        else:
            files = self._deps.home().look(
                order, lambda words: find_words_in_use(words, order.words, self._deps.store)
            )
        places = (
            _check_ids("also said", plan.repeating_ids, _ALSO),
            _check_ids("sources", plan.unsure_ids, _UNSURE),
            *files,
        )
        remaining = {
            **report.remaining,
            "log": log,
            **{check.name: check.left for check in places},
        }
        return PurgeReport(report.removed, remaining, (database, *places))

    def _certify(self, order: PurgeOrder, report: PurgeReport, head: Meta) -> PurgeReport:
        """Add a certificate to a report; ``head``: that of memory before the purge."""
        store = self._deps.store
        statement = {
            "certificate": "purge",
            "format": 1,
            "at": self._deps.clock().isoformat(),
            "owner": order.owner.key,
            "memories": sorted(order.ids),
            "erased": dict(report.removed),
            "places": [
                {"place": check.name, "looked": check.looked, "left": check.left}
                for check in report.places
            ],
            "proven": report.proven,
            "before": head,
            "after": store.read_head(order.owner),
        }
        return replace(report, certificate=store.certify(statement))

    def _empty_log(self, owner: Scope) -> int:
        """Empty the write-ahead log; return 1 where another process keeps it."""
        return self._deps.store.purge(owner, (), self._deps.clock()).remaining.get("log", 0)


class PurgeExecutor:
    """Carries out the orders of purges, in a memory or in a copy of it."""

    def __init__(self, deps: PurgeDeps) -> None:
        self._deps = deps

    def execute(self, order: PurgeOrder) -> tuple[PurgeOrder, PurgeReport]:
        """Carry out an order; repeating it does no harm.

        Also erases what others derived of it meanwhile, until a look finds nothing more. The order
        that is returned names that as well.
        """
        report = self._erase(order)
        late = plan_late(order, report.unquoted, self._deps.store)
        for _ in range(_ROUNDS):
            if late is None:
                break
            late_report = self._erase(late)
            order = replace(
                order,
                ids=(*order.ids, *late.ids),
                quotes={**order.quotes, **late.quotes},
                words=late.words,
            )
            report = PurgeReport(
                _add_counts(report.removed, late_report.removed),
                _add_counts(report.remaining, late_report.remaining),
            )
            late = plan_late(order, late_report.unquoted, self._deps.store)
        still_derived = 0 if late is None else len({*late.ids, *late.quotes})
        removed = dict(report.removed)
        if self._deps.home is not None:
            # After the store: a backup that is made in between must not bring the words back.
            removed |= self._deps.home().clean(order)
        return order, PurgeReport(removed, {**report.remaining, "derived": still_derived})

    def _erase(self, order: PurgeOrder) -> PurgeReport:
        """Erase and shorten in the store what an order names, page by page."""
        deps = self._deps
        deps.drop_cached(order.owner, (*order.ids, *order.quotes))
        erased = [
            record
            for record in deps.store.get(order.owner, order.ids)
            if record.status is not Status.PURGED
        ]
        # Before the records go: their metadata name the facts that they replaced.
        deps.store.commit(build_release(erased, deps.store, deps.clock()))
        words = tuple(sort_longest_first(set(list_removed_words(order))))
        rewrites, shortened = build_rewrites(
            order, deps.store, WriteBatch("user", "", deps.clock())
        )
        rewrites = replace(rewrites, vectors=self._embed(shortened))
        report = PurgeReport({}, {})
        pages = [order.ids[start : start + _PAGE] for start in range(0, len(order.ids), _PAGE)]
        pages = pages or [()]
        for page_number, page_ids in enumerate(pages, 1):
            # The words go with the last page: until then the records of the other pages hold them,
            # and whoever reads those records could write them again.
            is_last = page_number == len(pages)
            page_report = deps.store.purge(
                order.owner,
                page_ids,
                deps.clock(),
                rewrites if is_last else None,
                words if is_last else (),
            )
            report = PurgeReport(
                _add_counts(report.removed, page_report.removed),
                _add_counts(report.remaining, page_report.remaining),
                unquoted=(*report.unquoted, *page_report.unquoted),
            )
        # Again: a search that began before may have kept them meanwhile.
        deps.drop_cached(order.owner, (*order.ids, *order.quotes))
        drop_import_names(deps.store, order.owner, erased)
        return replace(report, removed={**report.removed, "shortened": len(shortened)})

    def _embed(self, records: Sequence[Record]) -> tuple[tuple[Scope, Vector], ...]:
        """Embed texts where the embedder is quick; else the backfill does it later."""
        card = self._deps.embedder.card
        if not records or not card.inline or not card.dimension:
            return ()
        rows = self._deps.embedder.embed([strip_code(record.search_text) for record in records])
        return tuple(
            (record.scope.owner, Vector(record.id, card.id, card.dimension, row.tobytes()))
            for record, row in zip(records, rows, strict=True)
        )


def _add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in (*first, *second)}


def _check_ids(name: str, ids: Sequence[str], advice: str) -> PurgePlaceCheck:
    """Report memories that may still say it as a place of their own."""
    return PurgePlaceCheck(
        name, len(ids), len(ids), advice.format(ids=", ".join(ids)) if ids else ""
    )
