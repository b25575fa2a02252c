"""Changes that uses of memory make: access counts, confidence, strength, links, and noted gaps.

``UsageLearner`` builds the writes; ``MemoryUsageTracker`` commits them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from engrams.core import (
    LAYER_OF,
    Edge,
    EdgeType,
    Kind,
    Provenance,
    Record,
    Scope,
    Status,
    content_hash,
)
from engrams.core.ids import new_id
from engrams.frozen_data import replace
from engrams.ports import (
    TOPICS,
    Embedder,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordUse,
    Store,
    WriteBatch,
)
from engrams.read.floors import EDGE
from engrams.read.request import visible_scopes
from engrams.read.tier_routing import topic_cosines
from engrams.settings import Settings
from engrams.upkeep.usage.search_usage import SearchUsageEvent
from engrams.write.record_vectors import embed_records

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

UsageEvent = Literal["used", "unhelpful", "verified", "rejected"]
IdPair: TypeAlias = tuple[str, str]

ACTOR = "usage"
"""Actor of these changes, in the history of memories."""
CONFIDENCE_CHANGES: Mapping[UsageEvent, float] = {
    "used": 0.05,
    "unhelpful": -0.1,
    "verified": 0.05,
    "rejected": -0.02,
}
"""Added to a confidence of 0 to 1 by what became of a memory.

used: a person or program said that it helped. unhelpful: it said that it did not. verified and
rejected: a reranker judged it an answer, or none.
"""

_MAX_OWNERS = 10_000
"""Owners with a search count, at most; the oldest count restarts."""
_MAX_LINKED = 12
"""Memories of one search linked with each other at most: 66 pairs."""
_WEIGHT_STEP = 0.1
"""By which a link grows, up to 1."""
_MAX_GAP_CHARACTERS = 2000


def apply_event(record: Record, event: UsageEvent, at: datetime) -> dict[str, Any]:
    """Compute the fields that a use changes: access, confidence, strength.

    Confidence changes by ``CONFIDENCE_CHANGES`` within 0 to 1. ``used`` adds 1 to the strength. All
    but ``rejected`` are an access.
    """
    confidence = min(max(record.confidence + CONFIDENCE_CHANGES[event], 0.0), 1.0)
    fields: dict[str, Any] = {"confidence": round(confidence, 6)}
    if event == "used":
        fields["strength"] = record.strength + 1
    if event != "rejected":
        fields |= {"access_count": record.access_count + 1, "last_accessed": at}
    return fields


def make_pairs(cosines: Mapping[str, float], floor: float) -> tuple[IdPair, ...]:
    """Pair the best dozen nodes from the floor on, ids ordered."""
    nearest = sorted(
        (id for id, cosine in cosines.items() if cosine >= floor - EDGE),
        key=lambda node: -cosines[node],
    )[:_MAX_LINKED]
    return tuple(combinations(sorted(nearest), 2))


class UsageLearner:
    """Builds the writes of uses. One caller at a time: it counts the searches of owners."""

    def __init__(self, store: Store, embedder: Embedder, settings: Settings) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._searches: Counter[Scope] = Counter()

    def build_batch(self, owner: Scope, uses: Sequence[SearchUsageEvent]) -> WriteBatch | None:
        """Build the write of an owner's uses; None: they change nothing."""
        fields: dict[str, dict[str, Any]] = {}
        edges: dict[tuple[str, str, EdgeType], Edge] = {}
        for use in uses:
            for edge in (*self._link_candidates(use, edges), *self._apply_verdicts(use, fields)):
                edges[edge.source, edge.target, edge.type] = edge
        batch = WriteBatch(
            ACTOR,
            "searched",
            uses[-1].at,
            puts=tuple(gap for use in uses if use.gap for gap in self._make_gap(use)),
            changes=tuple(RecordChange(owner, id, values, "used") for id, values in fields.items()),
            uses=_count_uses(owner, uses),
            edges=tuple(edges.values()),
            jobs=self._make_topic_jobs(owner, len(uses)),
        )
        return batch if batch.uses or batch.puts or batch.edges or batch.jobs else None

    def build_feedback(
        self, records: Sequence[Record], owner: Scope, helpful: bool, at: datetime
    ) -> WriteBatch:
        """Build the write of feedback; helpful memories are linked with each other."""
        event: UsageEvent = "used" if helpful else "unhelpful"
        return WriteBatch(
            ACTOR,
            "helped" if helpful else "did not help",
            at,
            changes=tuple(
                RecordChange(owner, record.id, apply_event(record, event, at), "used")
                for record in records
            ),
            edges=self._link_related(owner, [record.id for record in records]) if helpful else (),
        )

    def _make_topic_jobs(self, owner: Scope, searches: int) -> tuple[JobSpec, ...]:
        """Build the topic refresh job, due every so many searches."""
        section = self._settings.topics
        if not section.enabled or not section.refresh_searches:
            return ()
        self._searches[owner] += searches
        while len(self._searches) > _MAX_OWNERS:
            del self._searches[next(iter(self._searches))]
        if self._searches[owner] < section.refresh_searches:
            return ()
        self._searches[owner] %= section.refresh_searches
        return (JobSpec(TOPICS, owner.key),)

    def _link_candidates(
        self, use: SearchUsageEvent, new_edges: Mapping[tuple[str, str, EdgeType], Edge]
    ) -> tuple[Edge, ...]:
        """Count that memories, and topics, near one query occurred together.

        ``new_edges``: those of earlier uses in the same write.
        """
        floor = self._settings.usage.co_occurs_cosine
        if not floor or not use.query or not self._embedder.card.dimension:
            return ()
        query = self._embedder.embed([use.query], "query")[0]
        candidate_pairs = make_pairs(self._score_candidates(use, query), floor)
        pairs = (
            *self._select_unlearned(use.scope.owner, candidate_pairs),
            *make_pairs(self._score_topics(use.scope, query), floor),
        )
        weights = self._load_weights(use.scope.owner, pairs, EdgeType.CO_OCCURS)
        weights |= {
            (edge.source, edge.target): edge.weight
            for edge in new_edges.values()
            if edge.type is EdgeType.CO_OCCURS
        }
        return tuple(
            Edge(use.scope.owner, *pair, EdgeType.CO_OCCURS, weights.get(pair, 0.0) + 1.0)
            for pair in pairs
        )

    def _score_candidates(self, use: SearchUsageEvent, query: Floats) -> dict[str, float]:
        rows = self._store.vectors(use.scope.owner, use.candidates, self._embedder.card.id)
        if rows.shape[1] != len(query):
            return {}
        return dict(zip(use.candidates, (float(cosine) for cosine in rows @ query), strict=True))

    def _score_topics(self, scope: Scope, query: Floats) -> dict[str, float]:
        if not self._settings.topics.enabled:
            return {}
        topics = [topic for topic in self._store.topics(visible_scopes(scope)) if not topic.concept]
        return topic_cosines(topics, query, self._embedder.card.id)

    def _apply_verdicts(
        self, use: SearchUsageEvent, fields: dict[str, dict[str, Any]]
    ) -> tuple[Edge, ...]:
        """Add what a reranker's verdicts change to ``fields``; link what it passed."""
        if not self._settings.usage.related_weight or not (use.verified or use.rejected):
            return ()
        judged = self._store.get(use.scope.owner, (*use.rejected, *use.verified))
        records = {record.id: record for record in judged if record.status is not Status.PURGED}
        for id, record in records.items():
            event: UsageEvent = "rejected" if id in use.rejected else "verified"
            # Verdicts of several sessions in one write add up.
            judged_before = replace(record, **fields.get(id, {}))
            fields[id] = {"confidence": apply_event(judged_before, event, use.at)["confidence"]}
        return self._link_related(use.scope.owner, [id for id in use.verified if id in records])

    def _link_related(self, owner: Scope, ids: Sequence[str]) -> tuple[Edge, ...]:
        """Link memories; links that exist grow by a tenth, to 1 at most."""
        first_weight = self._settings.usage.related_weight
        if not first_weight:
            return ()
        pairs = self._select_unlearned(owner, make_pairs(dict.fromkeys(ids, 1.0), 0.0))
        weights = self._load_weights(owner, pairs, EdgeType.RELATES_TO)
        edges = []
        for pair in pairs:
            weight = first_weight
            if pair in weights:
                weight = min(weights[pair] + _WEIGHT_STEP, 1.0)
            edges.append(Edge(owner, *pair, EdgeType.RELATES_TO, weight))
        return tuple(edges)

    def _select_unlearned(self, owner: Scope, pairs: Sequence[IdPair]) -> tuple[IdPair, ...]:
        """Select the pairs of which none was learned from the other: those are one statement."""
        derivations = self._load_weights(owner, pairs, EdgeType.DERIVED_FROM)
        return tuple(
            pair for pair in pairs if pair not in derivations and pair[::-1] not in derivations
        )

    def _load_weights(
        self, owner: Scope, pairs: Sequence[IdPair], type: EdgeType
    ) -> dict[IdPair, float]:
        ids = tuple(dict.fromkeys(id for pair in pairs for id in pair))
        if not ids:
            return {}
        return {
            (edge.source, edge.target): edge.weight
            for edge in self._store.edges(owner, ids, (type,))
        }

    def _make_gap(self, use: SearchUsageEvent) -> tuple[NewRecord, ...]:
        """Make the candidate that notes an unanswered question, unless it may not be stored."""
        from engrams.extract.memory_requests import forbids_storage
        from engrams.extract.redaction import redact_text

        text, decisions = redact_text(use.query, self._settings.write)
        if (
            not self._settings.usage.gaps
            or forbids_storage(use.query)
            or any(decision.verdict == "refused" for decision in decisions)
        ):
            return ()
        record = Record(
            id=new_id(use.at),
            scope=use.scope,
            kind=Kind.GAP,
            text=text[:_MAX_GAP_CHARACTERS],
            recorded_at=use.at,
            layer=LAYER_OF[Kind.GAP],
            status=Status.CANDIDATE,
            session=use.session,
            external_id=f"gap:{content_hash(text)}",
            provenance=Provenance("usage", reason=use.gap),
        )
        vectors, _ = embed_records((record,), self._embedder)
        return (NewRecord(record, vector=vectors.get(record.id)),)


def _count_uses(owner: Scope, uses: Sequence[SearchUsageEvent]) -> tuple[RecordUse, ...]:
    """Count the selections of each memory, with the time of its last."""
    counts = Counter(id for use in uses for id in use.hits)
    last_used = {id: use.at for use in uses for id in use.hits}
    return tuple(RecordUse(owner, id, count, last_used[id]) for id, count in sorted(counts.items()))
