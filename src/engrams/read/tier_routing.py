"""Search by tiers: recent memories first, older ones by topic where few recent ones are near.

``search_tiers`` is the way in, where ``read.routing.mode`` is ``tiers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import EdgeType, Hit, Record, Tier, Topic
from engrams.core.records import asks_only, repeats_turns
from engrams.ports import CandidatePool, CandidateSearchQuery, Condition, Where
from engrams.read.candidate_pools import join_pools, take_candidates
from engrams.read.decay import age_days, exponential_decay
from engrams.read.dependencies import ReadDeps
from engrams.read.floors import EDGE
from engrams.read.request import ReadRequest

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_IS_LONG_TERM = Condition("tier", "eq", Tier.LONGTERM.value)
_IS_RECENT = Condition("tier", "ne", Tier.LONGTERM.value)
_BATCH = 40
"""Recent memories that are fetched at once, to leave the owner's questions out."""
_TAU_DAYS = 30.0
"""Tau of the recency of long-term members."""


def search_tiers(
    query: CandidateSearchQuery,
    vector: Floats,
    request: ReadRequest,
    deps: ReadDeps,
    hot_ids: Sequence[str],
) -> tuple[CandidatePool, tuple[str, ...]]:
    """Find the candidates, with notes for the trace.

    ``hot_ids``: hot memories near the query, which are found without a topic and take no place from
    its members.
    """
    settings = deps.settings.routing
    recent, records = _take_nearest(deps.search.seek(_restrict(query, _IS_RECENT)), request, deps)
    near = np.flatnonzero(recent.cos >= settings.min_cosine - EDGE).tolist()
    near_count = _count_distinct([records[recent.ids[position]] for position in near])
    older_ids = list(hot_ids)
    note = f"{near_count} recent memories are near: topics were not searched"
    if near_count < settings.enough_hits:
        topics = _choose_topics(request, deps, vector)
        older_ids += _choose_members(topics, request, deps, vector, hot_ids)
        note = f"{near_count} recent memories are near: {len(topics)} topics were searched"
    if not older_ids:
        return recent, (note,)
    is_chosen = Condition("id", "in", older_ids)
    older = deps.search.seek(_restrict(query, _IS_LONG_TERM, is_chosen))
    joined = join_pools(recent, older)
    return replace(joined, aging=np.arange(len(joined.ids)) >= len(recent.ids)), (note,)


def topic_cosines(topics: Sequence[Topic], vector: Floats, model: str) -> dict[str, float]:
    """Compute the cosines of topic centroids of this model to a query, by topic id."""
    comparable = [
        topic for topic in topics if topic.model == model and len(topic.centroid) == 4 * len(vector)
    ]
    if not comparable:
        return {}
    centroids = np.frombuffer(b"".join(topic.centroid for topic in comparable), np.float32)
    centroids = centroids.reshape(len(comparable), -1)
    cosines = np.vecdot(centroids, vector) / np.maximum(np.linalg.norm(centroids, axis=1), 1e-12)
    return {topic.id: float(cosine) for topic, cosine in zip(comparable, cosines, strict=True)}


def _restrict(query: CandidateSearchQuery, *conditions: Condition) -> CandidateSearchQuery:
    if query.where:
        return replace(query, where=Where("and", (query.where, *conditions)))
    return replace(query, where=Where("and", conditions))


def _take_nearest(
    pool: CandidatePool, request: ReadRequest, deps: ReadDeps
) -> tuple[CandidatePool, dict[str, Record]]:
    """Take the nearest memories but the owner's questions, with records.

    So many of the working tier, where the same may have been said often, and so many of the recent
    one.
    """
    limit = deps.settings.routing.recent_limit
    order = np.argsort(-pool.cos, kind="stable").tolist()
    by_tier: dict[Tier, list[int]] = {Tier.WORKING: [], Tier.RECENT: []}
    records: dict[str, Record] = {}
    for start in range(0, len(order), _BATCH):
        batch = {pool.ids[position]: position for position in order[start : start + _BATCH]}
        fetched = deps.records.get(request.scope.owner, list(batch))
        records.update((record.id, record) for record in fetched)
        for record_id, position in batch.items():
            if record_id not in records:
                continue
            record = records[record_id]
            if not (deps.hide_questions and asks_only(record)):
                by_tier.setdefault(record.tier, []).append(position)
        if len(by_tier[Tier.RECENT]) >= limit:
            break
    nearest = [*by_tier[Tier.RECENT][:limit], *by_tier[Tier.WORKING][:limit]]
    nearest.sort(key=lambda position: -pool.cos[position])
    return take_candidates(pool, nearest), records


def _count_distinct(records: Sequence[Record]) -> int:
    """Count recent memories; a message and its facts are one."""
    recent = {record.id: record for record in records if record.tier is Tier.RECENT}
    return sum(
        recent.keys().isdisjoint(quote.source for quote in record.evidence)
        for record in recent.values()
    )


def _choose_topics(request: ReadRequest, deps: ReadDeps, vector: Floats) -> list[str]:
    """Choose the topics nearest to a query, and near ones that are linked with them."""
    settings = deps.settings.routing
    topics = [topic for topic in deps.links.topics(request.reach) if not topic.concept]
    cosines = topic_cosines(topics, vector, deps.embedder.card.id)
    nearest = sorted(cosines, key=lambda topic_id: (-cosines[topic_id], topic_id))
    nearest = nearest[: settings.topics]
    edges = deps.links.edges(request.scope.owner, nearest) if nearest else ()
    linked = {
        end
        for edge in edges
        if edge.type is not EdgeType.IN_TOPIC
        for end in (edge.source, edge.target)
    }
    linked_near = sorted(
        topic_id
        for topic_id in linked - set(nearest)
        if cosines.get(topic_id, -1.0) >= settings.min_cosine - EDGE
    )
    return [*nearest, *linked_near]


def _choose_members(
    topics: Sequence[str],
    request: ReadRequest,
    deps: ReadDeps,
    vector: Floats,
    hot_ids: Sequence[str],
) -> list[str]:
    """Choose the best long-term members of each topic, each memory once."""
    owner = request.scope.owner
    edges = deps.links.edges(owner, topics, (EdgeType.IN_TOPIC,)) if topics else ()
    members: dict[str, list[str]] = {topic_id: [] for topic_id in topics}
    for edge in edges:
        if edge.target in members:
            members[edge.target].append(edge.source)
    scored = _score_members(
        sorted({id for ids in members.values() for id in ids}), deps, request, vector
    )
    chosen: list[str] = []
    for record_ids in members.values():
        eligible = [
            scored[record_id]
            for record_id in record_ids
            if record_id in scored and record_id not in chosen and record_id not in hot_ids
        ]
        eligible.sort(key=lambda member: (-member.score, member.record.id))
        chosen += _take_distinct(eligible, deps.settings.routing.per_topic)
    return chosen


def _take_distinct(members: Sequence[Hit], limit: int) -> list[str]:
    """Take the first members; an exchange and a statement from it are one of them."""
    chosen: list[str] = []
    exchanged_ids: set[str] = set()
    stated_ids: set[str] = set()
    for member in members:
        turn_ids = {quote.source for quote in member.record.evidence}
        is_exchange = repeats_turns(member.record)
        if turn_ids.isdisjoint(stated_ids if is_exchange else exchanged_ids):
            if not limit:
                continue
            limit -= 1
        (exchanged_ids if is_exchange else stated_ids).update(turn_ids)
        chosen.append(member.record.id)
    return chosen


def _score_members(
    record_ids: Sequence[str], deps: ReadDeps, request: ReadRequest, vector: Floats
) -> dict[str, Hit]:
    """Score the long-term ones among some memories, by id."""
    if not record_ids:
        return {}
    owner = request.scope.owner
    rows = deps.search.vectors(owner, record_ids, deps.embedder.card.id)
    vectors = dict(zip(record_ids, rows, strict=True))
    return {
        record.id: Hit(
            record, member_score(float(vectors[record.id] @ vector), record, request.now)
        )
        for record in deps.records.get(owner, record_ids)
        if record.tier is Tier.LONGTERM
    }


def member_score(cosine: float, record: Record, now: datetime) -> float:
    """Score a topic member by cosine, recency and importance.

    ``0.5 * cosine + 0.3 * exp(-age_days / 30) + 0.2 * importance``
    """
    recency = exponential_decay(age_days(record, now), _TAU_DAYS)
    return 0.5 * cosine + 0.3 * recency + 0.2 * record.importance
