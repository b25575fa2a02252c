"""Extraction job: the write flow, committed with the job's end."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import repeat
from weakref import WeakValueDictionary

from engrams.core import Json, Kind, Meta, Record, Scope, StageDecision, Status, conversation
from engrams.errors import ConflictError, NotFoundError
from engrams.extract.by_model import AnswerCachingChat, count_together
from engrams.extract.by_rules import NOTHING_HEARD, Heard, HeardKey, HearingTask, hear_records
from engrams.extract.candidate import CandidateStatement
from engrams.ports import (
    CHANGES,
    EXTRACT,
    FINALISE,
    KEPT,
    LEARNED,
    POLICY,
    REVIEW,
    ROLL,
    ChatModel,
    Clock,
    Embedder,
    Job,
    JobSpec,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.settings import Settings
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write import write_pipeline
from engrams.write.change_detection.features import may_change
from engrams.write.extraction_timing import NEVER, due_reason, last_cosine
from engrams.write.related_statements import known_speakers
from engrams.write.source_checks import find_changed

_log = logging.getLogger(__name__)

_STEP = 50
"""Records per transaction: an interrupted import repeats at most this many."""
_CHUNK = 10
"""Records that are heard at a time, before their turn."""
_GAPS = 20
_TRIES = 20
"""Attempts to reconcile while other jobs change the same owner's memory."""
_MISTAKES = frozenset({"drop", "skip", "repair", "failed"})
_NEW = frozenset({"add", "replace", "refine", "conflict"})


class ExtractionJobHandler:
    """Handler of the extract job. No lock is held across model calls.

    Changes to one owner's memory are serialised across processes: a job that another one overtook
    reconciles again.
    """

    kind = EXTRACT

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        chat: ChatModel | None,
        clock: Clock,
        settings: Settings,
        helpers: HelperProcesses,
    ) -> None:
        """Set up the job.

        ``helpers``: they extract by rules, before it is a message's turn.
        """
        self._helpers = helpers
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._deps = write_pipeline.WriteDeps(
            records=store,
            settings=settings.write,
            limits=settings.limits,
            clock=clock,
            search=store,
            embedder=embedder,
            chat=chat,
        )
        # Without a model a job takes milliseconds: a lock is cheaper than a retry.
        local = embedder.card.inline or not embedder.card.dimension
        self._brief = local and (chat is None or settings.write.reconcile in ("off", "rules"))
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._guard = threading.Lock()

    @property
    def inline(self) -> bool:
        """Return whether extraction is fast enough for ``add`` (rules alone are)."""
        return (
            self._settings.enabled
            and self._deps.chat is None
            and self._settings.write.extract != "off"
        )

    def run(self, job: Job) -> None:
        """Extract from the job's records, part by part.

        A part that is stored is not done again.
        """
        scope = Scope.parse(job.payload["scope"])
        items = list(job.payload["items"])
        if self._keep_gathering(job, scope.owner, items):
            return
        kept = job.payload.get(KEPT, {})
        heard = (
            self._hear_ahead(scope.owner, items)
            if not kept and len(items) > _CHUNK
            else repeat(NOTHING_HEARD)
        )
        while True:
            part = [one for one in kept.get("items", ()) if one in items] or self._next_part(
                scope.owner, items
            )
            items = [one for one in items if one not in set(part)]
            self.learn(
                job, self._store.get(scope.owner, part), rest=items, kept=kept, heard=next(heard)
            )
            if not items:
                return
            kept = {}

    def _hear_ahead(self, owner: Scope, items: Sequence[str]) -> Iterator[Heard]:
        """Yield what rules extract from each part of the items."""
        if (
            not self._helpers.number
            or self._deps.chat is not None
            or self._settings.write.extract == "off"
        ):
            yield from repeat(NOTHING_HEARD)
            return
        heard: dict[HeardKey, list[CandidateStatement]] = {}
        for is_whole, some in self._helpers.map_ahead(
            hear_records, self._iter_hearing(owner, items), len(items)
        ):
            heard |= some
            if is_whole:
                yield heard
                heard = {}

    def _iter_hearing(
        self, owner: Scope, items: Sequence[str]
    ) -> Iterator[tuple[bool, HearingTask]]:
        """Split the items into tasks; with each: it completes a part."""
        for start in range(0, len(items), _STEP):
            records = self._store.get(owner, items[start : start + _STEP])
            names = known_speakers(records, self._deps) if records else frozenset[str]()
            for at in range(0, max(len(records), 1), _CHUNK):
                task = HearingTask(records[at : at + _CHUNK], names, self._settings.write)
                yield at + _CHUNK >= len(records), task

    def hear(self, records: Sequence[Record]) -> write_pipeline.HeardAhead | None:
        """Extract by rules from messages that are not stored yet, and reconcile.

        What follows from most can be stored with them, and they need no job. None: they do.
        """
        if not self.inline or self._settings.garden.enabled:
            return None
        try:
            found = write_pipeline.extract_candidates(records, self._deps, fresh=True)
            return write_pipeline.HeardAhead(found, self._reconcile_ahead(records, found))
        except Exception:  # noqa: BLE001 - not swallowed: the job fails of the same, once the messages are safe
            return None

    def _reconcile_ahead(
        self, records: Sequence[Record], found: write_pipeline.ExtractionResult
    ) -> write_pipeline.ExtractionBatch | None:
        """Reconcile what messages say before they are stored.

        None: it depends on them, or on the sessions in which they were said.
        """
        owner = records[0].scope.owner
        jobs = self._make_change_jobs(records[0].scope.owner, found)
        if not found.has_candidates:
            nothing = WriteBatch("digest", "nothing to learn from", self._clock(), jobs=jobs)
            return write_pipeline.ExtractionBatch(
                nothing, decisions=found.decisions, cost=found.cost
            )
        if self._settings.write.contradiction_cosine:
            return None
        marks = self._store.load_state(owner, LEARNED)
        result = write_pipeline.reconcile_extraction(found, self._deps)
        if any(_is_bound(put.record) for put in result.batch.puts):
            return None
        states = () if result.is_empty else (marks,)
        return replace(
            result, batch=replace(result.batch, jobs=(*result.batch.jobs, *jobs), states=states)
        )

    def learn(
        self,
        job: Job,
        records: tuple[Record, ...],
        *,
        rest: Sequence[str] = (),
        kept: Meta | None = None,
        found: write_pipeline.ExtractionResult | None = None,
        heard: Heard = NOTHING_HEARD,
    ) -> write_pipeline.ExtractionBatch:
        """Extract from records and commit.

        The same transaction ends the job, or leaves the ``rest`` of its items. ``kept``: a model's
        answers about these records, of an earlier run. ``found``: what was extracted already;
        ``heard``: what rules extract, as far as known.
        """
        deps = replace(self._prepare_deps(job, records, rest, kept or {}), heard=heard)
        found = found or write_pipeline.extract_candidates(records, deps)
        owner = Scope.parse(job.payload["scope"]).owner
        payload = {**_strip_kept(job), "items": list(rest)}
        for left in reversed(range(_TRIES)):
            try:
                with self._owner_lock(owner.key) if self._brief else nullcontext():
                    marks = (
                        (self._store.load_state(owner, LEARNED),) if found.has_candidates else ()
                    )
                    found, unchanged = self._drop_changed(owner, records, found)
                    result = write_pipeline.reconcile_extraction(found, deps)
                    batch = replace(
                        result.batch,
                        changes=(*result.batch.changes, *unchanged),
                        finish=() if rest else (job.lease,),
                        progress=((job.lease, payload),) if rest else (),
                        jobs=(
                            *result.batch.jobs,
                            *self._make_follow_ups(job, records, result),
                            *self._make_change_jobs(owner, found),
                        ),
                        states=() if result.is_empty else marks,
                        repeatable=self._deps.chat is None,
                    )
                    self._store.commit(batch)
                    _report_mistakes(result.decisions)
                    return result
            except (ConflictError, NotFoundError):
                # Another job or a person changed this owner's memory: reconcile again, unless the
                # lease is lost.
                if not left or not self._renew(job):
                    raise
        raise AssertionError("unreachable")

    def _drop_changed(
        self, owner: Scope, records: tuple[Record, ...], heard: write_pipeline.ExtractionResult
    ) -> tuple[write_pipeline.ExtractionResult, tuple[RecordChange, ...]]:
        """Drop what a model read in messages that were changed meanwhile.

        Also checks that commit only while the others are as they are now.
        """
        if self._deps.chat is None or not heard.has_candidates:
            return heard, ()
        changed, checks = find_changed(owner, records, self._store)
        by_record = tuple(
            (
                record,
                tuple(one for one in decided if changed.isdisjoint((record.id, *one[0].sources))),
            )
            for record, decided in heard.by_record
        )
        return replace(heard, by_record=by_record), checks

    def _next_part(self, owner: Scope, items: list[str]) -> list[str]:
        """Return the items that one call of the model takes."""
        if self._deps.chat is None or self._settings.write.extract == "rules":
            return items[:_STEP]
        found = self._store.get(owner, items[:_STEP])
        return [
            record.id for record in found[: count_together(found, self._settings.write.batch_turns)]
        ] or items[:_STEP]

    def _prepare_deps(
        self, job: Job, records: tuple[Record, ...], rest: Sequence[str], kept: Meta
    ) -> write_pipeline.WriteDeps:
        """Return the flow's dependencies, with a model whose answers the job keeps."""
        if self._deps.chat is None:
            return self._deps

        def save(answers: Meta) -> None:
            part = [record.id for record in records]
            payload = {
                **_strip_kept(job),
                "items": [*part, *rest],
                KEPT: {"items": part, **answers},
            }
            if not self._store.keep(job.lease, payload):
                raise ConflictError(
                    "The job was taken over by another worker.", hint="That worker continues it."
                )

        gaps = self._load_gaps(records) if job.payload.get("end") else ()
        model = AnswerCachingChat(self._deps.chat, kept, save)
        patient = job.attempt < self._settings.jobs.max_attempts
        return replace(
            self._deps,
            chat=model,
            gaps=gaps,
            lane=str(job.payload.get("lane", "")),
            patient=patient,
        )

    def _keep_gathering(self, job: Job, owner: Scope, items: list[str]) -> bool:
        """Postpone a batch job that is not due; True: it was postponed.

        At the end of a session with next to nothing in it the turns are dropped from the job.
        """
        trigger = job.payload.get("trigger")
        end = bool(job.payload.get("end"))
        if trigger != "batch" or not items:
            return False
        records = [
            record for record in self._store.get(owner, items) if record.status is Status.ACTIVE
        ]
        card = self._embedder.card
        rows = (
            self._store.vectors(owner, [record.id for record in records[-8:]], card.id)
            if card.dimension and records
            else None
        )
        cosine = last_cosine(rows) if rows is not None else None
        if due_reason(
            [record.text for record in records],
            cosine,
            self._settings.sessions,
            self._settings.delivery.topic_change_cosine,
            end=end,
        ):
            return False
        now = self._clock()
        later = JobSpec(
            self.kind, job.key, job.payload, now + NEVER, attempts=self._settings.jobs.max_attempts
        )
        self._store.commit(
            WriteBatch(
                "digest", "gathering", now, jobs=() if end else (later,), finish=(job.lease,)
            )
        )
        return True

    def _renew(self, job: Job) -> bool:
        """Renew the lease; False: another worker has the job."""
        return self._store.renew(
            job.lease, self._clock() + timedelta(seconds=self._settings.jobs.lease_seconds)
        )

    def _make_follow_ups(
        self, job: Job, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        return (
            *self._make_summary_jobs(records, result),
            *self._make_review_jobs(records, result),
            *self._make_garden_jobs(records),
            *self._make_retry_jobs(job, records, result),
            *self._make_late_jobs(records, result),
            *self._make_policy_jobs(records, result),
        )

    def _make_change_jobs(
        self, owner: Scope, heard: write_pipeline.ExtractionResult
    ) -> tuple[JobSpec, ...]:
        """Build the job that looks for what these messages end."""
        section = self._settings.write
        by_model = self._deps.chat is not None and section.reconcile in ("llm", "auto")
        if not section.changes.enabled or section.reconcile == "off" or by_model:
            return ()
        some = [
            record.id
            for record, _ in heard.by_record
            if not record.meta.get("echo") and may_change(record.text)
        ]
        tries = self._settings.jobs.max_attempts
        return (
            (
                JobSpec(
                    CHANGES,
                    owner.key,
                    {"scope": owner.key, "items": some},
                    priority=-1,
                    attempts=tries,
                ),
            )
            if some
            else ()
        )

    def _make_garden_jobs(self, records: tuple[Record, ...]) -> tuple[JobSpec, ...]:
        section = self._settings.garden
        if not section.enabled or not records:
            return ()
        from engrams.upkeep.garden.schedule import make_trigger_jobs
        from engrams.upkeep.garden.state import GardenStateStore

        owner = records[0].scope.owner
        size = GardenStateStore(self._store).get(owner).size if section.trigger_memories else 0
        return make_trigger_jobs(owner, self._clock(), section, self._store, size)

    def _make_summary_jobs(
        self, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        if self._deps.chat is None or not self._settings.summary.enabled:
            return ()
        new: dict[tuple[Scope, str], list[str]] = {}
        for record in records:
            place = conversation(record.scope, record.session)
            ids = [made.id for made in result.by_source.get(record.id, ()) if made.verdict in _NEW]
            if ids and place != (record.scope.owner, ""):
                new.setdefault(place, []).extend(ids)
        tries = self._settings.jobs.max_attempts
        return tuple(
            JobSpec(
                ROLL,
                f"{scope.key}|{session}",
                {"scope": scope.key, "session": session, "items": ids},
                attempts=tries,
            )
            for (scope, session), ids in new.items()
        )

    def _make_review_jobs(
        self, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        section = self._settings.review
        if (
            self._deps.chat is None
            or not (section.stale or section.merge)
            or section.confirm
            or not result.derived
        ):
            return ()
        owner = records[0].scope.owner.key
        due = self._clock() + timedelta(hours=section.delay_hours)
        return (
            JobSpec(
                REVIEW, owner, {"owner": owner}, due, attempts=self._settings.jobs.max_attempts
            ),
        )

    def _load_gaps(self, records: tuple[Record, ...]) -> tuple[str, ...]:
        if self._deps.chat is None or not records:
            return ()
        owner = records[0].scope.owner
        query = RecordQuery(
            ScopeReach(owner, (owner,), tree=True), (Kind.GAP,), (Status.CANDIDATE,), limit=_GAPS
        )
        return tuple(gap.text for gap in self._store.find(query).records)

    def _make_retry_jobs(
        self, job: Job, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        if not result.failed:
            return ()
        payload = {
            "scope": job.payload["scope"],
            "items": [record.id for record in records],
            "lane": result.failed,
        }
        due = self._clock() + timedelta(seconds=self._settings.jobs.backoff_seconds)
        return (
            JobSpec(
                self.kind,
                f"{job.key}|{result.failed}",
                payload,
                due,
                attempts=self._settings.jobs.max_attempts,
            ),
        )

    def _make_late_jobs(
        self, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        """Build finalise jobs for ended sessions that hold new candidates."""
        if not any(made.verdict == "hold" for made in result.derived):
            return ()
        owner = records[0].scope.owner
        names = dict.fromkeys(record.session for record in records if record.session)
        ended = [
            name
            for name in names
            if (row := self._store.load(owner, name)) is not None and row.state == "closed"
        ]
        tries = self._settings.jobs.max_attempts
        return tuple(
            JobSpec(
                FINALISE,
                f"{owner.key}|{name}",
                {"owner": owner.key, "session": name, "why": "late"},
                attempts=tries,
            )
            for name in ended
        )

    def _make_policy_jobs(
        self, records: tuple[Record, ...], result: write_pipeline.ExtractionBatch
    ) -> tuple[JobSpec, ...]:
        """Build the job that asks again about unjudged statements."""
        if self._deps.chat is None or not any(
            put.record.meta.get("review") for put in result.batch.puts
        ):
            return ()
        owner = records[0].scope.owner.key
        due = self._clock() + timedelta(seconds=self._settings.jobs.backoff_seconds)
        return (
            JobSpec(
                POLICY, owner, {"owner": owner}, due, attempts=self._settings.jobs.max_attempts
            ),
        )

    def _owner_lock(self, owner: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(owner, threading.Lock())


def _is_bound(record: Record) -> bool:
    """True for a held statement, or one that ends its note."""
    return record.status is Status.CANDIDATE or (
        record.status is Status.SUPERSEDED and bool(record.meta.get("whole"))
    )


def _report_mistakes(decisions: Sequence[StageDecision]) -> None:
    """Log what a model got wrong, by reason and without any text."""
    found = Counter(
        one.reason.partition(":")[0]
        for one in decisions
        if one.stage in ("extract", "reconcile") and one.verdict in _MISTAKES
    )
    if found:
        _log.warning(
            "answers of the model: %s",
            ", ".join(f"{number} × {reason}" for reason, number in found.items()),
        )


def _strip_kept(job: Job) -> dict[str, Json]:
    return {name: value for name, value in job.payload.items() if name != KEPT}
