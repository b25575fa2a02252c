"""/v1/graph: memories and their links, as much as a view can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.caller import Asks, Caller
from engrams.surfaces.http.rest.errors import declared, limited
from engrams.types import Edge, EdgeType, Kind, Record, Status, Tier

_LABEL = 160


class GraphNode(BaseModel):
    """``type``: memory, tag, topic or concept. The rest is a memory's."""

    id: str
    type: str
    label: str
    kind: Kind | None = None
    status: Status | None = None
    tier: Tier | None = None
    recorded_at: datetime | None = None
    importance: float | None = None


class GraphLink(BaseModel):
    source: str
    target: str
    type: EdgeType
    weight: float
    count: int


class GraphResponse(BaseModel):
    nodes: list[GraphNode]
    edges: list[GraphLink]
    more: bool


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["graph"], route_class=limited(settings.limits.text_bytes))

    @routes.get("/graph", responses=declared(404))
    def graph(asked: Annotated[requests.View, Query()], caller: Asks) -> GraphResponse:
        """Memories, tags and topics with their links: around `focus`, `depth` steps far, or else around the newest memories.

        `more`: the limit left some out.
        """
        most = min(asked.limit, settings.limits.results)
        start = _focused(caller, asked.focus) if asked.focus else _newest(caller, asked, most)
        return _to_response(*View(caller, asked, most).grown(start, asked.depth))

    return routes


class View:
    """A set of nodes that grows along the links until it is full."""

    def __init__(self, caller: Caller, asked: requests.View, most: int) -> None:
        self._caller, self._asked, self._most = caller, asked, most
        self._nodes: dict[str, Record | None] = {}
        self._edges: dict[tuple[str, str, str], Edge] = {}
        self._more = False

    def grown(self, start: dict[str, Record | None], depth: int) -> tuple[dict[str, Record | None], list[Edge], bool]:
        """The nodes, the links between them, and whether some did not fit."""
        self._nodes = dict(start)
        edge_nodes: Sequence[str] = list(start)
        for step in range(depth + 1):
            found = self._caller.engine.store.edges(self._caller.owner, edge_nodes, self._asked.type) if edge_nodes else ()
            self._edges.update({(edge.source, edge.target, edge.type): edge for edge in found})
            edge_nodes = self._add(found) if step < depth else ()
        edges = [edge for edge in self._edges.values() if edge.source in self._nodes and edge.target in self._nodes]
        return self._nodes, edges, self._more

    def _add(self, edges: Sequence[Edge]) -> list[str]:
        """The far ends of some links as nodes, those of the heaviest first."""
        heavy = sorted(edges, key=lambda edge: -edge.weight * edge.count)
        new = [node for node in dict.fromkeys(end for edge in heavy for end in (edge.source, edge.target)) if node not in self._nodes]
        plain = [node for node in new if ":" not in node]
        known = {record.id: record for record in self._caller.engine.store.get(self._caller.owner, plain) if self._fits(record)}
        kept = [node for node in new if ":" in node or node in known]
        room = max(0, self._most - len(self._nodes))
        self._more = self._more or len(kept) > room
        self._nodes.update({node: known.get(node) for node in kept[:room]})
        return kept[:room]

    def _fits(self, record: Record) -> bool:
        """Whether it may be shown: within the part of memory asked for, and of what was asked for."""
        asked, scope = self._asked, self._caller.scope
        within = scope.is_owner or record.scope in scope.chain()
        return within and record.status in asked.status and (not asked.kind or record.kind in asked.kind)


def _focused(caller: Caller, focus: list[str]) -> dict[str, Record | None]:
    """The nodes to start from. NotFoundError: one is no memory of this owner."""
    nodes: dict[str, Record | None] = {}
    for name in focus:
        record = None if ":" in name else caller.engine.get(name, scope=caller.owner)
        nodes[record.id if record else name] = record
    return nodes


def _newest(caller: Caller, asked: requests.View, most: int) -> dict[str, Record | None]:
    """The newest memories, with room left for the tags and topics that tie them together."""
    tags = tuple(Condition("tags", "contains", tag) for tag in asked.tag)
    page = caller.engine.list(
        scope=caller.scope,
        kinds=tuple(asked.kind),
        statuses=tuple(asked.status),
        where=Where("and", tags) if tags else None,
        limit=max(1, most * 2 // 3),
    )
    return {record.id: record for record in page.records}


def _to_response(nodes: Mapping[str, Record | None], edges: Sequence[Edge], more: bool) -> GraphResponse:
    links = [
        GraphLink(source=each.source, target=each.target, type=each.type, weight=round(each.weight, 6), count=each.count) for each in edges
    ]
    return GraphResponse(nodes=[_to_node(name, record) for name, record in nodes.items()], edges=links, more=more)


def _to_node(name: str, record: Record | None) -> GraphNode:
    if record is None:
        sort, _, label = name.partition(":")
        return GraphNode(id=name, type=sort if label else "memory", label=label or name)
    return GraphNode(
        id=name,
        type="memory",
        label=record.text[:_LABEL],
        kind=record.kind,
        status=record.status,
        tier=record.tier,
        recorded_at=record.recorded_at,
        importance=round(record.importance, 6),
    )
