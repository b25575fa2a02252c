"""Extraction job: learns from stored messages, part by part, by ``engrams.write.digest``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

from engrams.core import Record, Scope, Status
from engrams.extract.by_model import count_together
from engrams.extract.by_rules import (
    NO_STATEMENTS,
    RuleExtractionTask,
    RuleInput,
    RuleStatements,
    extract_records,
)
from engrams.extract.candidate import CandidateStatement
from engrams.ports import EXTRACT, KEPT, Job, JobSpec, WriteBatch
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write import digest
from engrams.write.conversation_context import find_speaker_names
from engrams.write.extraction_jobs import NEVER, OwnExtraction, due_reason, last_cosine
from engrams.write.reconcile import DigestResult
from engrams.write.write_deps import WriteDeps

_PART = 50
"""Records per transaction: an interrupted import repeats at most this many."""
_CHUNK = 10
"""Records that a helper process extracts from at a time."""
_GONE = (Status.FORGOTTEN, Status.PURGED)
_TOPIC_TURNS = 8
"""Latest turns among which a change of topic is looked for."""


class ExtractionJobHandler:
    """Handler of the extract job: takes it apart, and learns from each part."""

    kind = EXTRACT

    def __init__(self, deps: WriteDeps, helpers: HelperProcesses) -> None:
        """Set up the handler. ``helpers``: extract by rules before it is a message's turn."""
        self._deps = deps
        self._helpers = helpers

    def run(self, job: Job) -> None:
        """Learn from the job's records, part by part. A stored part is not done again."""
        owner = Scope.parse(job.payload["scope"]).owner
        ids = list(job.payload["items"])
        if self._keep_gathering(job, owner, ids):
            return
        saved_answers = job.payload.get(KEPT, {})
        precomputed: Iterator[RuleStatements] = repeat(NO_STATEMENTS)
        if not saved_answers and len(ids) > _CHUNK:
            precomputed = self._extract_ahead(owner, ids)
        while True:
            # Answers of an earlier run are about the part that was interrupted.
            part = [record_id for record_id in saved_answers.get("items", ()) if record_id in ids]
            part = part or self._next_part(owner, ids)
            ids = [record_id for record_id in ids if record_id not in set(part)]
            records = self._read_messages(owner, part)
            digest.learn(
                digest.LearningTask(
                    job,
                    records,
                    remaining_ids=tuple(ids),
                    saved_answers=saved_answers,
                    precomputed=next(precomputed),
                    jobs=self._make_garden_jobs(records),
                ),
                self._deps,
            )
            if not ids:
                return
            saved_answers = {}

    def run_own(self, own: OwnExtraction) -> DigestResult:
        """Run the extraction that the caller of a write leased."""
        task = digest.LearningTask(
            own.job,
            own.records,
            extraction=own.extraction,
            jobs=self._make_garden_jobs(own.records),
        )
        return digest.learn(task, self._deps)

    # ----------------------------------------------------------------------------------------------
    # parts

    def _next_part(self, owner: Scope, ids: list[str]) -> list[str]:
        """Return the ids to learn from in one transaction: one call of the model, if there is one.

        Without a record of the first ids, all of them, so that the job goes on.
        """
        first = ids[:_PART]
        section = self._deps.settings.write
        if self._deps.chat is None or section.extract == "rules":
            return first
        records = self._deps.store.get(owner, first)
        together = records[: count_together(records, section.batch_turns, section.message_chars)]
        return [record.id for record in together] or first

    def _read_messages(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Read the messages to learn from.

        Those that were forgotten since they were said are left out, and those of sessions in which
        a crisis was noticed.
        """
        records = [
            record for record in self._deps.store.get(owner, ids) if record.status not in _GONE
        ]
        sessions = {record.session for record in records if record.session}
        in_crisis = {
            session
            for session in sessions
            if (row := self._deps.store.load(owner, session)) is not None and row.is_in_crisis
        }
        return tuple(record for record in records if record.session not in in_crisis)

    def _extract_ahead(self, owner: Scope, ids: Sequence[str]) -> Iterator[RuleStatements]:
        """Yield, for each part of the ids, the statements that rules extract from it."""
        if (
            not self._helpers.number
            or self._deps.chat is not None
            or self._deps.settings.write.extract == "off"
        ):
            yield from repeat(NO_STATEMENTS)
            return
        statements: dict[RuleInput, list[CandidateStatement]] = {}
        tasks = self._iter_tasks(owner, ids)
        for completes_part, of_chunk in self._helpers.map_ahead(extract_records, tasks, len(ids)):
            statements |= of_chunk
            if completes_part:
                yield statements
                statements = {}

    def _iter_tasks(
        self, owner: Scope, ids: Sequence[str]
    ) -> Iterator[tuple[bool, RuleExtractionTask]]:
        """Split the ids into tasks of helpers; with each, whether it completes a part."""
        for part_start in range(0, len(ids), _PART):
            records = self._deps.store.get(owner, ids[part_start : part_start + _PART])
            names = find_speaker_names(records, self._deps) if records else frozenset[str]()
            for start in range(0, max(len(records), 1), _CHUNK):
                chunk = records[start : start + _CHUNK]
                task = RuleExtractionTask(chunk, names, self._deps.settings.write)
                yield start + _CHUNK >= len(records), task

    # ----------------------------------------------------------------------------------------------
    # timing

    def _keep_gathering(self, job: Job, owner: Scope, ids: list[str]) -> bool:
        """Postpone a job that gathers turns and is not due; True: it was postponed.

        At the end of a session with next to nothing in it the turns are dropped from the job.
        """
        is_end = bool(job.payload.get("end"))
        if job.payload.get("trigger") != "batch" or not ids:
            return False
        turns = [
            record for record in self._deps.store.get(owner, ids) if record.status is Status.ACTIVE
        ]
        settings = self._deps.settings
        if due_reason(
            [turn.text for turn in turns],
            self._last_cosine(owner, turns),
            settings.sessions,
            settings.delivery.topic_change_cosine,
            end=is_end,
        ):
            return False
        now = self._deps.clock()
        postponed = JobSpec(
            EXTRACT, job.key, job.payload, now + NEVER, attempts=settings.jobs.max_attempts
        )
        jobs = () if is_end else (postponed,)
        self._deps.store.commit(
            WriteBatch("digest", "gathering", now, jobs=jobs, finish=(job.lease,))
        )
        return True

    def _last_cosine(self, owner: Scope, turns: Sequence[Record]) -> float | None:
        """Return the cosine of the last two turns with a vector; None: it is not known."""
        card = self._deps.embedder.card
        if not card.dimension or not turns:
            return None
        latest_ids = [turn.id for turn in turns[-_TOPIC_TURNS:]]
        return last_cosine(self._deps.store.vectors(owner, latest_ids, card.id))

    def _make_garden_jobs(self, records: Sequence[Record]) -> tuple[JobSpec, ...]:
        """Make the jobs that wake the upkeep of an owner's memory after something was learned."""
        section = self._deps.settings.garden
        if not section.enabled or not records:
            return ()
        from engrams.upkeep.garden.schedule import make_trigger_jobs
        from engrams.upkeep.garden.state import GardenStateStore

        owner = records[0].scope.owner
        store = self._deps.store
        size = GardenStateStore(store).get(owner).size if section.trigger_memories else 0
        return make_trigger_jobs(owner, self._deps.clock(), section, store, size)
