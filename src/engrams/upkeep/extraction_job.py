"""Extraction job: learns from stored messages, part by part, by ``engrams.write.digest``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Record, Scope, Status
from engrams.errors import ModelError, is_unusable
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
from engrams.read.conversation_topics import (
    CONTEXT_TURNS,
    has_topic,
    is_new_topic,
    read_answer,
    read_topic,
)
from engrams.upkeep.helper_processes import HelperProcesses
from engrams.write import digest
from engrams.write.conversation_context import find_speaker_names
from engrams.write.extraction_jobs import NEVER, OwnExtraction, due_reason
from engrams.write.reconcile import DigestResult
from engrams.write.record_vectors import embed_records
from engrams.write.value_corrections import find_corrected_value, read_value_correction
from engrams.write.write_deps import WriteDeps

if TYPE_CHECKING:
    from engrams.ports.models import Floats

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
            task = digest.LearningTask(
                job,
                records,
                remaining_ids=tuple(ids),
                saved_answers=saved_answers,
                precomputed=next(precomputed),
                jobs=self._make_garden_jobs(records),
            )
            try:
                digest.learn(task, self._deps)
            except ModelError as problem:
                is_last = job.attempt >= self._deps.settings.jobs.max_attempts
                if not (is_last and is_unusable(problem) and (ids or len(part) > 1)):
                    raise
                self._set_aside(job, part, ids)
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

    def _set_aside(self, job: Job, part: Sequence[str], remaining_ids: Sequence[str]) -> None:
        """Give each message of a part a job of its own, and go on with the others.

        A model that refuses one message would else learn nothing that is said after it.
        """
        payload = digest.strip_saved_answers(job.payload)
        of_part = {name: value for name, value in payload.items() if name != "trigger"}
        jobs = tuple(
            JobSpec(
                EXTRACT,
                f"{job.key}|{record_id}",
                {**of_part, "items": [record_id]},
                attempts=self._deps.settings.jobs.max_attempts,
            )
            for record_id in part
        )
        remainder = {**payload, "items": list(remaining_ids)}
        self._deps.store.commit(
            WriteBatch(
                "digest",
                "set aside",
                self._deps.clock(),
                jobs=jobs,
                finish=() if remaining_ids else (job.lease,),
                progress=((job.lease, remainder),) if remaining_ids else (),
            )
        )

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
        records = [
            record for record in self._deps.store.get(owner, ids) if record.status not in _GONE
        ]
        turns = [record for record in records if record.status is Status.ACTIVE]
        settings = self._deps.settings
        if due_reason(
            [turn.text for turn in turns],
            settings.sessions,
            has_new_topic=self._has_new_topic(owner, records),
            has_correction=_holds_correction(turns),
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

    def _has_new_topic(self, owner: Scope, records: Sequence[Record]) -> bool:
        """Return True where the last message shares neither words nor meaning with the ones before.

        A person's messages count, also those that only ask; an answer is about its question, and
        "go on" about what was said before.
        """
        latest = [
            record
            for record in records[-_TOPIC_TURNS:]
            if record.role == "assistant" or has_topic(record.text)
        ]
        questions = [record for record in latest if record.role != "assistant"][
            -CONTEXT_TURNS - 1 :
        ]
        if len(questions) <= 1:
            return False
        embedder = self._deps.embedder
        vectors = self._read_vectors(owner, questions) if embedder.card.dimension else {}
        *context, last = [
            read_topic(record.text, vectors.get(record.id), embedder.card) for record in questions
        ]
        answers = [
            read_answer(record.text)
            for record in latest[: latest.index(questions[-1])]
            if record.role == "assistant"
        ]
        least_cosine = self._deps.settings.delivery.topic_change_cosine
        return is_new_topic(last, [*context, *answers[-1:]], least_cosine)

    def _read_vectors(self, owner: Scope, records: Sequence[Record]) -> dict[str, Floats]:
        """Read the vectors of messages, and make those that a slow embedder has not made yet.

        They come later than the job, which does not run again.
        """
        embedder = self._deps.embedder
        ids = [record.id for record in records]
        rows = self._deps.store.vectors(owner, ids, embedder.card.id)
        vectors = {id: row for id, row in zip(ids, rows, strict=True) if row.any()}
        late_vectors, _ = embed_records(
            [record for record in records if record.id not in vectors], embedder
        )
        for id, vector in late_vectors.items():
            vectors[id] = np.frombuffer(vector.data, "<f4")
        return vectors

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


def _holds_correction(turns: Sequence[Record]) -> bool:
    """Return True where a message of a person sets a value right.

    What can also be an answer ("no, Thursday") counts only after a message of that person that has
    such a value.
    """
    for index, turn in enumerate(turns):
        correction = read_value_correction(turn.text) if turn.role == "user" else None
        if correction is None:
            continue
        if correction.is_strong:
            return True
        said_before = (
            earlier.text
            for earlier in turns[:index]
            if (earlier.role, earlier.speaker) == (turn.role, turn.speaker)
        )
        if any(find_corrected_value(correction, text) for text in said_before):
            return True
    return False
