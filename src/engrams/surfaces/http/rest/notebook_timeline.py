"""/v1/notebook, /v1/timeline: memories by topic and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engrams.core import (
    LAYER_OF,
    PRODUCT,
    UNLISTED_KINDS,
    EdgeType,
    Entity,
    Kind,
    Layer,
    Record,
    Status,
)
from engrams.ports import NOTE_PIECE, TAUGHT, Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import responses

_NOT_HIDDEN = Where(
    "not",
    (
        Where(
            "or",
            (
                Condition("meta.hidden", "eq", True),
                Condition(f"meta.{NOTE_PIECE}", "exists", True),
                TAUGHT,
            ),
        ),
    ),
)
_MIN_MEMBERS = 2
"""Memories that make a person, place or thing a topic."""
_PAGE_SIZE = 1000
_MAX_COUNTED = 20_000
"""Memories that the timeline counts, from the newest on."""
_STATUSES = tuple(status for status in Status if status is not Status.PURGED)

LayerParam = Annotated[
    Layer | None,
    Query(
        description="Only this layer: semantic (facts), episodic (sessions) or procedural (rules)."
    ),
]
LimitParam = Annotated[int, Query(ge=1, le=1000, description="At most so many memories.")]
BucketsParam = Annotated[
    int, Query(ge=1, le=366, description="Into how many pieces the time is cut.")
]


class NotebookTopicResponse(BaseModel):
    """Topic with its memories."""

    topic: str
    entity: str = Field(
        "",
        description="Id of the person, place or thing that it is about; empty: a cluster, or a"
        " category.",
    )
    product: str = Field(description="Display name of its layer.")
    memories: list[responses.MemoryResponse]


class NotebookResponse(BaseModel):
    topics: list[NotebookTopicResponse]


class TimelinePeriodResponse(BaseModel):
    """Period from ``at`` on."""

    at: datetime
    added: dict[Layer, int] = Field(description="New memories by layer.")


class TimelineResponse(BaseModel):
    points: list[TimelinePeriodResponse]
    more: bool = Field(description="Older memories were not counted.")


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "views")

    @routes.get("/notebook", responses=error_responses())
    def notebook(
        caller: ScopedCaller, layer: LayerParam = None, limit: LimitParam = 200
    ) -> NotebookResponse:
        """List known memories by topic, with their sources.

        A topic is a cluster, or whom or what several memories are about, or a category. Held and
        archived memories, notes beside what was learned from them, pieces of note files and memories
        marked `meta.hidden` do not count.
        """
        kinds = tuple(
            kind for kind in Kind if kind not in UNLISTED_KINDS and layer in (None, LAYER_OF[kind])
        )
        if not kinds:
            return NotebookResponse(topics=[])
        page = caller.engine.list(
            scope=caller.scope,
            kinds=kinds,
            where=_NOT_HIDDEN,
            limit=min(limit, settings.limits.results),
        )
        topics = _group_by_topic(caller, page.records)
        ordered = sorted(topics.items(), key=lambda item: (-len(item[1]), item[0]))
        return NotebookResponse(
            topics=[_to_topic(name, entity, records) for (name, entity), records in ordered]
        )

    @routes.get("/timeline", responses=error_responses())
    def timeline(caller: ScopedCaller, buckets: BucketsParam = 60) -> TimelineResponse:
        """Count memories in equal periods from the first to now.

        Of at most the newest 20,000.
        """
        times = list(_list_times(caller, _MAX_COUNTED + 1))
        is_cut_off = len(times) > _MAX_COUNTED
        del times[_MAX_COUNTED:]
        if not times:
            return TimelineResponse(points=[], more=False)
        now = caller.engine.now()
        start = min([now, *(recorded_at for recorded_at, _ in times)])
        period = (now - start) / buckets
        counts: list[Counter[Layer]] = [Counter() for _ in range(buckets)]
        for recorded_at, layer in times:
            # A period of no length: all were recorded at once.
            index = int((recorded_at - start) / period) if period else 0
            counts[max(0, min(index, buckets - 1))][layer] += 1
        points = [
            TimelinePeriodResponse(at=start + period * index, added=dict(by_layer))
            for index, by_layer in enumerate(counts)
        ]
        return TimelineResponse(points=points, more=is_cut_off)

    return routes


def _group_by_topic(
    caller: IdentifiedCaller, records: Sequence[Record]
) -> Mapping[tuple[str, str], list[Record]]:
    """Group memories by name of their topic and id of the entity that it is about."""
    clusters = _topic_names(caller, records)
    unclustered = [record.id for record in records if record.id not in clusters]
    entities = _main_entities(caller, unclustered)
    topics: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        entity = entities.get(record.id)
        if entity is not None:
            topic = (entity.name, entity.id)
        else:
            topic = (clusters.get(record.id) or record.category or PRODUCT[record.layer], "")
        topics.setdefault(topic, []).append(record)
    return topics


def _to_topic(name: str, entity: str, records: Sequence[Record]) -> NotebookTopicResponse:
    return NotebookTopicResponse(
        topic=name,
        entity=entity,
        product=PRODUCT[records[0].layer],
        memories=[responses.to_memory(record) for record in records],
    )


def _topic_names(caller: IdentifiedCaller, records: Sequence[Record]) -> Mapping[str, str]:
    """Map memory ids to the labels of their topics."""
    ids = [record.id for record in records]
    links = caller.engine.inspect.edges(caller.owner, ids, (EdgeType.IN_TOPIC,)) if ids else ()
    wanted_ids = frozenset(ids)
    # Of several topics of a memory the last one stays: the one it belongs to most.
    topic_ids = {
        link.source: link.target
        for link in sorted(links, key=lambda link: link.weight)
        if link.source in wanted_ids
    }
    labels = caller.engine.topics.labels(caller.scope, set(topic_ids.values()))
    return {
        record_id: labels[topic_id]
        for record_id, topic_id in topic_ids.items()
        if topic_id in labels
    }


def _main_entities(caller: IdentifiedCaller, ids: Sequence[str]) -> Mapping[str, Entity]:
    """Map memory ids to the person, place or thing that several of them are about.

    An entity that is in more than half of all, as the user is, makes no topic.
    """
    net = caller.engine.inspect.entities(caller.scope)
    wanted_ids = frozenset(ids)
    members = {entity.id: wanted_ids.intersection(entity.memories) for entity in net.entities}
    candidates = [
        entity for entity in net.entities if _MIN_MEMBERS <= len(members[entity.id]) <= len(ids) / 2
    ]
    entities: dict[str, Entity] = {}
    for entity in sorted(candidates, key=lambda entity: (-len(members[entity.id]), entity.name)):
        unassigned = members[entity.id] - entities.keys()
        if len(unassigned) >= _MIN_MEMBERS:
            entities.update(dict.fromkeys(unassigned, entity))
    return entities


def _list_times(caller: IdentifiedCaller, limit: int) -> Iterator[tuple[datetime, Layer]]:
    """Yield time and layer of memories, newest first."""
    after = ""
    while limit > 0:
        page = caller.engine.list(
            scope=caller.scope, statuses=_STATUSES, after=after, limit=min(_PAGE_SIZE, limit)
        )
        yield from ((record.recorded_at, record.layer) for record in page.records)
        limit -= len(page.records)
        after = page.next
        if not after:
            return
