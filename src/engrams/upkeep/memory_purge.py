"""Erase memories for good, everywhere, and look again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

from engrams.core import Record, Scope, Status, Vector, content_hash
from engrams.core.clock import new_id
from engrams.frozen_data import dataclass
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
from engrams.text.redact import LEAST, holds_word, is_telling
from engrams.upkeep.job_worker import JobLeaseRenewer
from engrams.write import manual_edits
from engrams.write.purge_plan import build_rewrites, find_saying, list_texts, plan_late, plan_purge

_LEASE = timedelta(seconds=30)
"""Time after which another worker goes on with a purge whose process died."""
_PAGE = 500
_ROUNDS = 4
"""Looks for what others derived while a purge ran."""
_ACTOR = "user"
_BUSY = "Close other programs that use this memory and purge again."
_PROCESS = PurgePlaceCheck("memory of this process", 1)
_ALSO = "Other memories say the same and stay: {ids}. Purge them too."
_UNSURE = (
    "The words of these messages were not found in them; they may still say it: {ids}. Purge them"
    " too."
)


@dataclass(frozen=True, slots=True)
class PurgeDeps:
    """Dependencies of a purge: store, embedder, clock, files.

    ``drop_cached``: removes memories from this process's caches. ``home``: the files beside the
    store, None where there are none.
    """

    store: Store
    embedder: Embedder
    clock: Clock
    drop_cached: Callable[[Scope, Sequence[str]], None]
    home: Callable[[], HomeFileCleaner] | None


class MemoryPurger:
    """Purges memories by durable jobs, and checks that nothing is left.

    A process that dies leaves the job to the next worker; the words to remove are in its payload
    until it is done.
    """

    kind = PURGE

    def __init__(self, deps: PurgeDeps, worker: str = "purge") -> None:
        self._deps = deps
        self._worker = worker

    def purge(
        self, records: Sequence[Record], owner: Scope, min_words: int, git: bool = False
    ) -> PurgeReport:
        """Erase memories, what was made of them alone, and their words elsewhere."""
        deps = self._deps
        before = [one.id for one in records if one.status is Status.PURGED] if git else []
        known = (
            deps.home().recall_words(before, lambda text: self._was_said(text, owner, before))
            if before and deps.home
            else ()
        )
        plan = plan_purge(records, owner, deps.store, min_words, git, known)
        now = deps.clock()
        lease = JobLease(self._worker, new_id(now), now + _LEASE)
        deps.store.enqueue(
            (JobSpec(PURGE, f"{owner.key}|{new_id(now)}", plan.order.to_payload(), lease=lease),),
            now,
        )
        with (
            closing(JobLeaseRenewer(deps.store, deps.clock, _LEASE.total_seconds())) as leases,
            leases.hold(lease.token),
        ):
            order, done = self.execute(plan.order)
        deps.store.finish(lease.token, deps.clock())
        return self._look(
            order,
            done,
            (_to_place("also said", plan.also, _ALSO), _to_place("sources", plan.unsure, _UNSURE)),
        )

    def make_job(self, records: Sequence[Record], owner: Scope, min_words: int) -> JobSpec:
        """Make the job that purges memories later.

        One job of an owner takes all that wait for it.
        """
        payload = {"owner": owner.key, "items": [one.id for one in records], "min_words": min_words}
        return JobSpec(PURGE, f"{owner.key}|later", payload)

    def run(self, job: Job) -> None:
        """Go on with a purge, or begin one that was put off."""
        if "items" in job.payload:
            owner = Scope.parse(job.payload["owner"])
            records = self._deps.store.get(owner, job.payload["items"])
            self.purge(
                [one for one in records if one.status is not Status.PURGED],
                owner,
                job.payload["min_words"],
            )
            self._deps.store.finish(job.lease, self._deps.clock())
            return
        self.execute(PurgeOrder.from_payload(job.payload))
        self._deps.store.finish(job.lease, self._deps.clock())
        self._empty_log(Scope.parse(job.payload["owner"]))

    def execute(self, order: PurgeOrder) -> tuple[PurgeOrder, PurgeReport]:
        """Carry out a purge order; repeating it does no harm.

        What others derived of it meanwhile goes too, until a look finds nothing more; the order
        that is returned names that as well.
        """
        done = self._erase(order)
        late = plan_late(order, done.unquoted, self._deps.store)
        for _ in range(_ROUNDS):
            if late is None:
                break
            more = self._erase(late)
            order = replace(
                order,
                ids=(*order.ids, *late.ids),
                quotes={**order.quotes, **late.quotes},
                words=late.words,
            )
            done = PurgeReport(
                _add(done.removed, more.removed), _add(done.remaining, more.remaining)
            )
            late = plan_late(order, more.unquoted, self._deps.store)
        removed = dict(done.removed)
        left = 0 if late is None else len({*late.ids, *late.quotes})
        if self._deps.home is not None:
            removed |= self._deps.home().clean(order)
        return order, PurgeReport(removed, {**done.remaining, "derived": left})

    def _erase(self, order: PurgeOrder) -> PurgeReport:
        """Erase and shorten what an order names."""
        deps = self._deps
        deps.drop_cached(order.owner, (*order.ids, *order.quotes))
        gone = [
            one for one in deps.store.get(order.owner, order.ids) if one.status is not Status.PURGED
        ]
        deps.store.commit(manual_edits.build_release(gone, deps.store, deps.clock()))
        told = {
            *order.words,
            *filter(is_telling, order.short),
            *(word for some in order.quotes.values() for word in some),
        }
        words = tuple(sorted(told, key=len, reverse=True))
        batch, made = build_rewrites(order, deps.store, WriteBatch(_ACTOR, "", deps.clock()))
        batch = replace(batch, vectors=self._embed(made))
        done = PurgeReport({}, {})
        # The words go with the last page: until then other pages may still be read by their texts.
        pages = [order.ids[start : start + _PAGE] for start in range(0, len(order.ids), _PAGE)] or [
            ()
        ]
        for place, ids in enumerate(pages, 1):
            last = place == len(pages)
            part = deps.store.purge(
                order.owner, ids, deps.clock(), batch if last else None, words if last else ()
            )
            unquoted = (*done.unquoted, *part.unquoted)
            done = PurgeReport(
                _add(done.removed, part.removed),
                _add(done.remaining, part.remaining),
                unquoted=unquoted,
            )
        return replace(done, removed={**done.removed, "shortened": len(made)})

    def _embed(self, records: Sequence[Record]) -> tuple[tuple[Scope, Vector], ...]:
        """Embed texts where the embedder is quick; else the backfill does."""
        card = self._deps.embedder.card
        if not records or not card.inline or not card.dimension:
            return ()
        rows = self._deps.embedder.embed([strip_code(record.search_text) for record in records])
        pairs = zip(records, rows, strict=True)
        return tuple(
            (one.scope.owner, Vector(one.id, card.id, card.dimension, row.tobytes()))
            for one, row in pairs
        )

    def _look(
        self, order: PurgeOrder, done: PurgeReport, told: Sequence[PurgePlaceCheck]
    ) -> PurgeReport:
        """Look at every place again, and report."""
        log = self._empty_log(order.owner)
        home = self._deps.home
        looked = (
            home().look(order, lambda some: self._find_live(some, order.words))
            if home is not None
            else (_PROCESS,)
        )
        places = (*told, *looked)
        remaining = {**done.remaining, "log": log, **{place.name: place.left for place in places}}
        rows = sum(done.remaining.values()) + log
        database = PurgePlaceCheck(
            "database", sum(done.removed.values()), rows, _BUSY if rows else ""
        )
        return PurgeReport(done.removed, remaining, (database, *places))

    def _empty_log(self, owner: Scope) -> int:
        """Empty the write-ahead log; return 1 where another process keeps it."""
        return self._deps.store.purge(owner, (), self._deps.clock()).remaining.get("log", 0)

    def _was_said(self, text: str, owner: Scope, ids: Sequence[str]) -> bool:
        """Check by its hash that a text belongs to purged memories."""
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            statuses=(Status.PURGED,),
            hash=content_hash(text),
            limit=_PAGE,
        )
        return any(one.id in ids for one in self._deps.store.find(query).records)

    def _find_live(self, words: Sequence[str], purged: Sequence[str]) -> frozenset[str]:
        """Find words that remaining memories hold too, of any owner."""
        store = self._deps.store
        owners = dict.fromkeys(scope.owner for scope in store.scopes(None)) if words else {}
        statuses = tuple(status for status in Status if status is not Status.PURGED)
        reaches = [ScopeReach(owner, (owner,), tree=True) for owner in owners]
        queries = (
            (word, RecordQuery(reach, statuses=statuses, text=word, limit=1))
            for word in words
            for reach in reaches
        )
        found = {
            word for word, query in queries if len(word) >= LEAST and store.find(query).records
        }
        left = [word for word in words if word not in found]
        for owner in owners:
            for text in (
                text
                for record in find_saying(left, owner, store, formerly=True)
                for text in list_texts(record, store)
            ):
                if not any(word in text for word in purged):
                    found |= {
                        word
                        for word in left
                        if (word in text if len(word) >= LEAST else holds_word(text, word))
                    }
        return frozenset(found)


def _add(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: before.get(name, 0) + more.get(name, 0) for name in (*before, *more)}


def _to_place(name: str, ids: Sequence[str], advice: str) -> PurgePlaceCheck:
    return PurgePlaceCheck(
        name, len(ids), len(ids), advice.format(ids=", ".join(ids)) if ids else ""
    )
