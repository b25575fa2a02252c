"""Embed job: makes the vectors that are missing, after outages or model changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engrams.core import Record, Scope, Tier, Vector
from engrams.ports import EMBED, TOPICS, Clock, Embedder, Job, JobSpec, Store, WriteBatch
from engrams.settings import EmbedSettings, TopicSettings
from engrams.text.prose import strip_code


class VectorBackfillJobHandler:
    """Resumable embed job: batch after batch, each committed, until nothing is missing."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: EmbedSettings,
        topics: TopicSettings,
        follow: Callable[[Sequence[tuple[Scope, Vector]]], None],
    ) -> None:
        """Set up the job. ``follow``: gets the new vectors, each with its owner."""
        self._store = store
        self._follow = follow
        self._embedder = embedder
        self._clock = clock
        self._batch_size = settings.batch_size
        self._are_topics_searched = topics.enabled and topics.tier == "longterm"

    def enqueue_if_missing(self) -> bool:
        """Enqueue the job where vectors of the current model are missing."""
        card = self._embedder.card
        if not card.dimension or not self._store.missing(card.id, "", 1):
            return False
        self._store.enqueue((JobSpec(EMBED, card.id),), self._clock())
        return True

    def run_job(self, job: Job) -> None:
        """Embed until nothing is missing; a model failure keeps finished batches.

        A job of a model that is no longer the current one does nothing.
        """
        card = self._embedder.card
        after = ""
        while card.dimension and job.key == card.id:
            records = self._store.missing(card.id, after, self._batch_size)
            if not records:
                break
            after = records[-1].id
            rows = self._embedder.embed([strip_code(record.search_text) for record in records])
            vectors = tuple(
                (record.scope.owner, Vector(record.id, card.id, len(row), row.tobytes()))
                for record, row in zip(records, rows, strict=True)
            )
            now = self._clock()
            jobs = self._plan_topics(records)
            self._store.commit(WriteBatch("engrams", "embedded", now, vectors=vectors, jobs=jobs))
            self._follow(vectors)
            # A move to the long term meanwhile found no vectors, and grouped nothing.
            moved_jobs = self._plan_topics(self._reload_recent(records))
            if moved_jobs:
                self._store.enqueue(moved_jobs, now)
        self._store.finish(job.lease, self._clock())

    def _plan_topics(self, records: Iterable[Record]) -> tuple[JobSpec, ...]:
        """Plan the grouping of long-term memories, which are found by their topics alone."""
        if not self._are_topics_searched:
            return ()
        owner_keys = {record.scope.owner.key for record in records if record.tier is Tier.LONGTERM}
        return tuple(JobSpec(TOPICS, owner_key) for owner_key in sorted(owner_keys))

    def _reload_recent(self, records: Sequence[Record]) -> list[Record]:
        """Return the present state of what was not in the long term when it was read."""
        if not self._are_topics_searched:
            return []
        ids: dict[Scope, list[str]] = {}
        for record in records:
            if record.tier is not Tier.LONGTERM:
                ids.setdefault(record.scope.owner, []).append(record.id)
        return [record for owner in ids for record in self._store.get(owner, ids[owner])]
