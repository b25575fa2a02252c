"""/v1/notebook, /v1/timeline: memory as a person reads it, by topic and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import responses
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.types import LAYER_OF, PRODUCT, EdgeType, Kind, Layer, Record, Status

_RAW = (Kind.TURN, Kind.EXCHANGE, Kind.GAP)
"""What memory works from; people read what it made of it."""
_SHOWN = Where("not", (Condition("meta.hidden", "eq", True),))
_PAGE = 1000
_MOST = 20_000
_LIVED = tuple(status for status in Status if status is not Status.PURGED)

Depth = Annotated[Layer | None, Query(description="Only this layer: semantic (facts), episodic (sessions) or procedural (rules).")]
Most = Annotated[int, Query(ge=1, le=1000, description="At most so many memories.")]
Buckets = Annotated[int, Query(ge=1, le=366, description="Into how many pieces the time is cut.")]


class Topic(BaseModel):
    """``product``: the name that people are shown for the layer of its first memory."""

    topic: str
    product: str
    memories: list[responses.Memory]


class Notebook(BaseModel):
    topics: list[Topic]


class Bucket(BaseModel):
    """``at``: when the piece begins; ``added``: how many memories are from it, by layer."""

    at: datetime
    added: dict[Layer, int]


class Timeline(BaseModel):
    """``more``: there are older memories than the ones counted."""

    points: list[Bucket]
    more: bool


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["views"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/notebook", responses=declared())
    def notebook(caller: Asks, layer: Depth = None, limit: Most = 200) -> Notebook:
        """What is known, by topic, with where each comes from; what is held, put away or marked `meta.hidden` does not count."""
        kinds = tuple(kind for kind in Kind if kind not in _RAW and layer in (None, LAYER_OF[kind]))
        found = (
            caller.engine.list(scope=caller.scope, kinds=kinds, where=_SHOWN, limit=min(limit, settings.limits.results)).records
            if kinds
            else ()
        )
        topics: dict[str, list[Record]] = {}
        names = _topics(caller, found)
        for record in found:
            topics.setdefault(names.get(record.id) or record.category or PRODUCT[record.layer], []).append(record)
        ordered = sorted(topics.items(), key=lambda topic: (-len(topic[1]), topic[0]))
        return Notebook(topics=[_topic(name, records) for name, records in ordered])

    @routes.get("/timeline", responses=declared())
    def timeline(caller: Asks, buckets: Buckets = 60) -> Timeline:
        """How many memories are from when, in equal pieces from the first to now; of at most the newest 20,000."""
        times = list(_times(caller, _MOST + 1))
        more = len(times) > _MOST
        del times[_MOST:]
        if not times:
            return Timeline(points=[], more=False)
        now = caller.engine.now()
        first = min([now, *(at for at, _ in times)])
        piece = (now - first) / buckets
        counted: list[Counter[Layer]] = [Counter() for _ in range(buckets)]
        for at, layer in times:
            place = int((at - first) / piece) if piece else 0
            counted[max(0, min(place, buckets - 1))][layer] += 1
        return Timeline(points=[Bucket(at=first + piece * place, added=dict(added)) for place, added in enumerate(counted)], more=more)

    return routes


def _topic(name: str, records: Sequence[Record]) -> Topic:
    return Topic(topic=name, product=PRODUCT[records[0].layer], memories=[responses.memory(record) for record in records])


def _topics(caller: Caller, records: Sequence[Record]) -> Mapping[str, str]:
    """The topic of those memories that have one."""
    ids = [record.id for record in records]
    links = caller.engine.store.edges(caller.owner, ids, (EdgeType.IN_TOPIC,)) if ids else ()
    own = frozenset(ids)
    return {link.source: link.target.partition(":")[2] for link in sorted(links, key=lambda link: link.weight) if link.source in own}


def _times(caller: Caller, most: int) -> Iterator[tuple[datetime, Layer]]:
    """When memories are from, newest first, and of which layer."""
    after = ""
    while most > 0:
        page = caller.engine.list(scope=caller.scope, statuses=_LIVED, after=after, limit=min(_PAGE, most))
        yield from ((record.recorded_at, record.layer) for record in page.records)
        most -= len(page.records)
        after = page.next
        if not after:
            return
