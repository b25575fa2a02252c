"""/v1/graph: memories and their links, limited to a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.calleridentity import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route
from engrams.types import Edge, EdgeType, Kind, Record, Status, Tier

_LABEL = 160


class MemoryGraphNodeResponse(BaseModel):
    """Node of the memory graph: memory, tag, topic or concept.

    ``type``: memory, tag, topic or concept; the other fields are for memories."""

    id: str
    type: str
    label: str
    kind: Kind | None = None
    status: Status | None = None
    tier: Tier | None = None
    recorded_at: datetime | None = None
    importance: float | None = None


class MemoryGraphLinkResponse(BaseModel):
    source: str
    target: str
    type: EdgeType
    weight: float
    count: int


class MemoryGraphResponse(BaseModel):
    nodes: list[MemoryGraphNodeResponse]
    edges: list[MemoryGraphLinkResponse]
    more: bool


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["graph"], route_class=limited_route(settings.limits.text_bytes))

    @routes.get("/graph", responses=error_responses(404))
    def graph(asked: Annotated[requests.MemoryGraphQuery, Query()], caller: ScopedCaller) -> MemoryGraphResponse:
        """List memories, tags and topics with their links.

        Around `focus`, `depth` steps far, or else around the newest memories. `more`: the limit left some out."""
        most = min(asked.limit, settings.limits.results)
        start = _focus_nodes(caller, asked.focus) if asked.focus else _newest_nodes(caller, asked, most)
        return _to_response(*MemoryGraphWalker(caller, asked, most).expand(start, asked.depth))

    return routes


class MemoryGraphWalker:
    """Walk along links from start nodes, limited in depth and nodes."""

    def __init__(self, caller: IdentifiedCaller, asked: requests.MemoryGraphQuery, most: int) -> None:
        self._caller, self._asked, self._most = caller, asked, most
        self._nodes: dict[str, Record | None] = {}
        self._edges: dict[tuple[str, str, str], Edge] = {}
        self._more = False

    def expand(self, start: dict[str, Record | None], depth: int) -> tuple[dict[str, Record | None], list[Edge], bool]:
        """Expand the nodes; return nodes, links between them, and cut-off flag."""
        self._nodes = dict(start)
        edge_nodes: Sequence[str] = list(start)
        for step in range(depth + 1):
            found = self._caller.engine.inspect.edges(self._caller.owner, edge_nodes, self._asked.type) if edge_nodes else ()
            self._edges.update({(edge.source, edge.target, edge.type): edge for edge in found})
            edge_nodes = self._add_ends(found) if step < depth else ()
        edges = [edge for edge in self._edges.values() if edge.source in self._nodes and edge.target in self._nodes]
        return self._nodes, edges, self._more

    def _add_ends(self, edges: Sequence[Edge]) -> list[str]:
        """Add the far ends of links as nodes, heaviest links first."""
        heavy = sorted(edges, key=lambda edge: -edge.weight * edge.count)
        new = [node for node in dict.fromkeys(end for edge in heavy for end in (edge.source, edge.target)) if node not in self._nodes]
        plain = [node for node in new if ":" not in node]
        known = {record.id: record for record in self._caller.engine.inspect.records(self._caller.owner, plain) if self._is_visible(record)}
        kept = [node for node in new if ":" in node or node in known]
        room = max(0, self._most - len(self._nodes))
        self._more = self._more or len(kept) > room
        self._nodes.update({node: known.get(node) for node in kept[:room]})
        return kept[:room]

    def _is_visible(self, record: Record) -> bool:
        """Check scope, status and kind of a memory."""
        asked, scope = self._asked, self._caller.scope
        within = scope.is_owner or record.scope in scope.chain()
        return within and record.status in asked.status and (not asked.kind or record.kind in asked.kind)


def _focus_nodes(caller: IdentifiedCaller, focus: list[str]) -> dict[str, Record | None]:
    """Find the nodes to start from; NotFoundError for unknown ids."""
    nodes: dict[str, Record | None] = {}
    for name in focus:
        record = None if ":" in name else caller.engine.get(name, scope=caller.owner)
        nodes[record.id if record else name] = record
    return nodes


def _newest_nodes(caller: IdentifiedCaller, asked: requests.MemoryGraphQuery, most: int) -> dict[str, Record | None]:
    """Load the newest memories, leaving room for tags and topics."""
    tags = tuple(Condition("tags", "contains", tag) for tag in asked.tag)
    page = caller.engine.list(
        scope=caller.scope,
        kinds=tuple(asked.kind),
        statuses=tuple(asked.status),
        where=Where("and", tags) if tags else None,
        limit=max(1, most * 2 // 3),
    )
    return {record.id: record for record in page.records}


def _to_response(nodes: Mapping[str, Record | None], edges: Sequence[Edge], more: bool) -> MemoryGraphResponse:
    links = [
        MemoryGraphLinkResponse(source=each.source, target=each.target, type=each.type, weight=round(each.weight, 6), count=each.count)
        for each in edges
    ]
    return MemoryGraphResponse(nodes=[_to_node(name, record) for name, record in nodes.items()], edges=links, more=more)


def _to_node(name: str, record: Record | None) -> MemoryGraphNodeResponse:
    if record is None:
        sort, _, label = name.partition(":")
        return MemoryGraphNodeResponse(id=name, type=sort if label else "memory", label=label or name)
    return MemoryGraphNodeResponse(
        id=name,
        type="memory",
        label=record.text[:_LABEL],
        kind=record.kind,
        status=record.status,
        tier=record.tier,
        recorded_at=record.recorded_at,
        importance=round(record.importance, 6),
    )
