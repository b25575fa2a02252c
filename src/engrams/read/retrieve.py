"""Retrieval over everything in reach, or by tiers and topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from engrams.core import EdgeType, Hit, Record, Tier, Topic
from engrams.core.positioned_ids import PositionedIds
from engrams.core.records import asks_only
from engrams.ports import (
    CandidatePool,
    CandidateSearchQuery,
    Condition,
    SkillRecordSource,
    Where,
    is_skill,
)
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.score_fusion import EDGE, age_days, exponential_decay

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats, Integers

_LONG = Condition("tier", "eq", Tier.LONGTERM.value)
_RECENT = Condition("tier", "ne", Tier.LONGTERM.value)
_LOOKED_AT = 40
"""Recent memories that are fetched at once, to leave the owner's questions out."""
_TAU_DAYS = 30.0
"""Tau of the recency of long-term members."""


_COLUMNS = (
    "cos", "cosctx", "cosnext", "bm", "bmctx", "bmses", "embedded", "times", "sessions", "place", "words", "question", "dated",
    "importance", "confidence", "identified",
)  # fmt: skip


def find_candidates(
    seek: CandidateSearchQuery, request: ReadRequest, deps: ReadDeps, hot: Sequence[str] = ()
) -> tuple[CandidatePool, tuple[str, ...]]:
    """Find the candidates, with notes for the trace.

    Reads of the past, and those without a vector, are not routed by topic. ``hot``: ids of hot
    memories near the query, which are found without a topic and take no place from its members.
    """
    section = deps.settings.routing
    if section.mode == "all" or seek.vector is None or request.as_of is not None or request.history:
        return deps.search.seek(seek), ()
    recent, records = _take_nearest(deps.search.seek(_restrict(seek, _RECENT)), request, deps)
    near = np.flatnonzero(recent.cos >= section.min_cosine - EDGE).tolist()
    enough = _count_apart([records[recent.ids[place]] for place in near])
    rows = list(hot)
    note = f"{enough} recent memories are near: topics were not searched"
    if enough < section.enough_hits:
        chosen = _choose_topics(request, deps, seek.vector)
        rows += _choose_members(chosen, request, deps, seek.vector, hot)
        note = f"{enough} recent memories are near: {len(chosen)} topics were searched"
    if not rows:
        return recent, (note,)
    older = deps.search.seek(_restrict(seek, _LONG, Condition("id", "in", rows)))
    return replace(
        join_pools(recent, older),
        aging=np.arange(len(recent.ids) + len(older.ids)) >= len(recent.ids),
    ), (note,)


def topic_cosines(topics: Sequence[Topic], query: Floats, model: str) -> dict[str, float]:
    """Cosines of topic centroids of this model to the query."""
    same = [
        topic for topic in topics if topic.model == model and len(topic.centroid) == 4 * len(query)
    ]
    if not same:
        return {}
    centres = np.frombuffer(b"".join(topic.centroid for topic in same), np.float32).reshape(
        len(same), -1
    )
    cosines = np.vecdot(centres, query) / np.maximum(np.linalg.norm(centres, axis=1), 1e-12)
    return {topic.id: float(cosine) for topic, cosine in zip(same, cosines, strict=True)}


def join_pools(one: CandidatePool, other: CandidatePool) -> CandidatePool:
    """Concatenate two pools of one index (session numbers agree)."""
    voices = list(dict.fromkeys((*one.voices, *other.voices)))
    place = {voice: number for number, voice in enumerate(voices)}

    def voice(pool: CandidatePool) -> Integers:
        renumbered = np.array([place[name] for name in pool.voices], np.int64)
        return renumbered[pool.voice] if len(pool.voice) else np.zeros(0, np.int64)

    columns: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in _COLUMNS
    }
    return replace(
        one,
        ids=PositionedIds([*one.ids, *other.ids]),
        voices=voices,
        voice=np.concatenate([voice(one), voice(other)]),
        total=one.total + other.total,
        exact=one.exact and other.exact,
        **columns,
    )


def _restrict(seek: CandidateSearchQuery, *conditions: Condition) -> CandidateSearchQuery:
    return replace(seek, where=Where("and", (*([seek.where] if seek.where else []), *conditions)))


def _take_nearest(
    pool: CandidatePool, request: ReadRequest, deps: ReadDeps
) -> tuple[CandidatePool, dict[str, Record]]:
    """Take the nearest memories but the owner's questions, with records.

    So many of the working tier, where the same may have been said often, and so many of the recent
    one.
    """
    most = deps.settings.routing.recent_limit
    order = np.argsort(-pool.cos, kind="stable").tolist()
    taken: dict[Tier, list[int]] = {Tier.WORKING: [], Tier.RECENT: []}
    known: dict[str, Record] = {}
    for start in range(0, len(order), _LOOKED_AT):
        some = {pool.ids[place]: place for place in order[start : start + _LOOKED_AT]}
        known |= {record.id: record for record in deps.records.get(request.scope.owner, list(some))}
        for name, place in some.items():
            if name in known and not (deps.hide_questions and asks_only(known[name])):
                taken.setdefault(known[name].tier, []).append(place)
        if len(taken[Tier.RECENT]) >= most:
            break
    nearest = sorted(
        (*taken[Tier.RECENT][:most], *taken[Tier.WORKING][:most]),
        key=lambda place: -pool.cos[place],
    )
    columns = {
        name: getattr(pool, name)[np.array(nearest, np.int64)] for name in (*_COLUMNS, "voice")
    }
    return (
        replace(pool, ids=PositionedIds([pool.ids[place] for place in nearest]), **columns),
        known,
    )


def _count_apart(records: Sequence[Record]) -> int:
    """Count recent memories; a message and its facts are one."""
    recent = {record.id: record for record in records if record.tier is Tier.RECENT}
    return sum(
        recent.keys().isdisjoint(quote.source for quote in record.evidence)
        for record in recent.values()
    )


def _choose_topics(request: ReadRequest, deps: ReadDeps, query: Floats) -> list[str]:
    every = topic_cosines(
        [one for one in deps.graph.topics(request.reach) if not one.concept],
        query,
        deps.embedder.card.id,
    )
    best = sorted(every, key=lambda name: (-every[name], name))[: deps.settings.routing.topics]
    edges = deps.graph.edges(request.scope.owner, best) if best else ()
    ends = {
        end
        for edge in edges
        if edge.type is not EdgeType.IN_TOPIC
        for end in (edge.source, edge.target)
    }
    beside = sorted(
        end
        for end in ends - set(best)
        if every.get(end, -1.0) >= deps.settings.routing.min_cosine - EDGE
    )
    return [*best, *beside]


def _choose_members(
    topics: Sequence[str], request: ReadRequest, deps: ReadDeps, query: Floats, hot: Sequence[str]
) -> list[str]:
    owner = request.scope.owner
    edges = deps.graph.edges(owner, topics, (EdgeType.IN_TOPIC,)) if topics else ()
    inside: dict[str, list[str]] = {name: [] for name in topics}
    for edge in edges:
        if edge.target in inside:
            inside[edge.target].append(edge.source)
    names = sorted({name for some in inside.values() for name in some})
    rows = (
        dict(zip(names, deps.search.vectors(owner, names, deps.embedder.card.id), strict=True))
        if names
        else {}
    )
    worth = {
        record.id: member_score(float(rows[record.id] @ query), record, request.now)
        for record in deps.records.get(owner, names)
        if record.tier is Tier.LONGTERM
    }
    chosen: list[str] = []
    for some in inside.values():
        left = [name for name in some if name in worth and name not in chosen and name not in hot]
        chosen += sorted(left, key=lambda name: (-worth[name], name))[
            : deps.settings.routing.per_topic
        ]
    return chosen


def member_score(likeness: float, record: Record, now: datetime) -> float:
    """Score a topic member by cosine, recency and importance.

    ``0.5 * cosine + 0.3 * exp(-age_days / 30) + 0.2 * importance``
    """
    return (
        0.5 * likeness
        + 0.3 * exponential_decay(age_days(record, now), _TAU_DAYS)
        + 0.2 * record.importance
    )


def with_skills(
    pool: CandidatePool, seek: CandidateSearchQuery, skills: SkillRecordSource
) -> CandidatePool:
    """Append candidates from the index of skills, with new session numbers."""
    found = skills.seek(seek)
    if not len(found.ids):
        return pool
    first = int(pool.sessions.max()) + 1 if len(pool.sessions) else 0
    both = join_pools(pool, replace(found, sessions=found.sessions + first))
    return (
        both
        if pool.aging is None
        else replace(both, aging=np.concatenate([pool.aging, np.zeros(len(found.ids), np.bool_)]))
    )


def skill_notes(hits: Sequence[Hit]) -> tuple[str, ...]:
    """Trace notes about skills among the hits."""
    return tuple(
        f"{hit.record.id} is no memory: it stands in {hit.record.provenance.files[0]}"
        for hit in hits
        if is_skill(hit.record.id)
    )
