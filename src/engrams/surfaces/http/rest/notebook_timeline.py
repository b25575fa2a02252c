"""/v1/notebook, /v1/timeline: memories by topic and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.core import LAYER_OF, PRODUCT, EdgeType, Entity, Kind, Layer, Record, Status
from engrams.ports import NOTE_PIECE, Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import responses
from engrams.surfaces.http.rest.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route

_RAW_KINDS = (Kind.TURN, Kind.EXCHANGE, Kind.GAP)
"""Kinds that memory works from; people read what it made of them."""
_NOT_HIDDEN = Where(
    "not",
    (
        Where(
            "or",
            (Condition("meta.hidden", "eq", True), Condition(f"meta.{NOTE_PIECE}", "exists", True)),
        ),
    ),
)
_LEAST_MEMBERS = 2
"""Memories that make a person, place or thing a topic."""
_PAGE = 1000
_MOST = 20_000
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
    """Topic with its memories; ``product``: display name of its layer.

    ``entity``: id of the person, place or thing that it is about; empty: a cluster, or a category.
    """

    topic: str
    entity: str = ""
    product: str
    memories: list[responses.MemoryResponse]


class NotebookResponse(BaseModel):
    topics: list[NotebookTopicResponse]


class TimelinePeriodResponse(BaseModel):
    """Period from ``at`` on; ``added``: new memories by layer."""

    at: datetime
    added: dict[Layer, int]


class TimelineResponse(BaseModel):
    """Timeline; ``more``: older memories were not counted."""

    points: list[TimelinePeriodResponse]
    more: bool


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(
        prefix="/v1", tags=["views"], route_class=limited_route(settings.limits.text_bytes)
    )

    @routes.get("/notebook", responses=error_responses())
    def notebook(
        caller: ScopedCaller, layer: LayerParam = None, limit: LimitParam = 200
    ) -> NotebookResponse:
        """List known memories by topic, with their sources.

        A topic is a cluster, or whom or what several memories are about, or a category. Held and
        archived memories, pieces of note files and memories marked `meta.hidden` do not count.
        """
        kinds = tuple(
            kind for kind in Kind if kind not in _RAW_KINDS and layer in (None, LAYER_OF[kind])
        )
        found = (
            caller.engine.list(
                scope=caller.scope,
                kinds=kinds,
                where=_NOT_HIDDEN,
                limit=min(limit, settings.limits.results),
            ).records
            if kinds
            else ()
        )
        clusters = _topic_names(caller, found)
        about = _main_entities(caller, [record.id for record in found if record.id not in clusters])
        topics: dict[tuple[str, str], list[Record]] = {}
        for record in found:
            entity = about.get(record.id)
            name = clusters.get(record.id) or record.category or PRODUCT[record.layer]
            topics.setdefault((entity.name, entity.id) if entity else (name, ""), []).append(record)
        ordered = sorted(topics.items(), key=lambda topic: (-len(topic[1]), topic[0]))
        return NotebookResponse(topics=[_to_topic(*topic, records) for topic, records in ordered])

    @routes.get("/timeline", responses=error_responses())
    def timeline(caller: ScopedCaller, buckets: BucketsParam = 60) -> TimelineResponse:
        """Count memories in equal periods from the first to now.

        Of at most the newest 20,000.
        """
        times = list(_list_times(caller, _MOST + 1))
        more = len(times) > _MOST
        del times[_MOST:]
        if not times:
            return TimelineResponse(points=[], more=False)
        now = caller.engine.now()
        first = min([now, *(at for at, _ in times)])
        piece = (now - first) / buckets
        counted: list[Counter[Layer]] = [Counter() for _ in range(buckets)]
        for at, layer in times:
            place = int((at - first) / piece) if piece else 0
            counted[max(0, min(place, buckets - 1))][layer] += 1
        return TimelineResponse(
            points=[
                TimelinePeriodResponse(at=first + piece * place, added=dict(added))
                for place, added in enumerate(counted)
            ],
            more=more,
        )

    return routes


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
    own = frozenset(ids)
    inside = {
        link.source: link.target
        for link in sorted(links, key=lambda link: link.weight)
        if link.source in own
    }
    labels = caller.engine.topics.labels(caller.scope, set(inside.values()))
    return {id: labels[topic] for id, topic in inside.items() if topic in labels}


def _main_entities(caller: IdentifiedCaller, ids: Sequence[str]) -> Mapping[str, Entity]:
    """Map memory ids to what several of them are about.

    Who is in half of all, as the user is, tells nothing.
    """
    net = caller.engine.inspect.entities(caller.scope)
    listed = frozenset(ids)
    members = {entity.id: listed.intersection(entity.memories) for entity in net.entities}
    telling = [
        entity
        for entity in net.entities
        if _LEAST_MEMBERS <= len(members[entity.id]) <= len(ids) / 2
    ]
    found: dict[str, Entity] = {}
    for entity in sorted(telling, key=lambda entity: (-len(members[entity.id]), entity.name)):
        fresh = members[entity.id] - found.keys()
        if len(fresh) >= _LEAST_MEMBERS:
            found.update(dict.fromkeys(fresh, entity))
    return found


def _list_times(caller: IdentifiedCaller, most: int) -> Iterator[tuple[datetime, Layer]]:
    """Yield time and layer of memories, newest first."""
    after = ""
    while most > 0:
        page = caller.engine.list(
            scope=caller.scope, statuses=_STATUSES, after=after, limit=min(_PAGE, most)
        )
        yield from ((record.recorded_at, record.layer) for record in page.records)
        most -= len(page.records)
        after = page.next
        if not after:
            return
