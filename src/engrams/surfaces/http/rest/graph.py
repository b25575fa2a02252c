"""/v1/graph: memories, entities and their links, limited to a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engrams.core import EdgeType, Entity, EntityKind, EntityNet, Kind, Record, Status, Tier
from engrams.core.statement_form import form_statement
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.limited_route import limited_router
from engrams.surfaces.http.problems import error_responses
from engrams.surfaces.http.rest import requests

_LABEL_CHARS = 160
_MIN_LINKS = 3
"""Links of an entity that the view of entities shows at least, its strongest."""

LinkType: TypeAlias = EdgeType | Literal["mentions", "together"]


class MemoryGraphNodeResponse(BaseModel):
    """Node of the memory graph: memory, entity, tag, topic or concept."""

    id: str
    type: str = Field(description="memory, entity, tag, topic or concept.")
    label: str
    kind: Kind | EntityKind | None = None
    status: Status | None = None
    tier: Tier | None = None
    recorded_at: datetime | None = None
    importance: float | None = None
    memories: int | None = Field(
        None, description="Of an entity: number of memories that mention it."
    )
    aliases: list[str] | None = Field(None, description="Of an entity: its other names.")


class MemoryGraphLinkResponse(BaseModel):
    """Link of the graph."""

    source: str
    target: str
    type: LinkType = Field(
        description="mentions: from a memory to an entity; together: two entities that `count`"
        " memories bring together."
    )
    weight: float
    count: int


class MemoryGraphResponse(BaseModel):
    nodes: list[MemoryGraphNodeResponse]
    edges: list[MemoryGraphLinkResponse]
    more: bool = Field(description="The limit left some out.")


@dataclass(frozen=True, slots=True)
class GraphLink:
    """Link between two nodes of the graph, stored or derived."""

    source: str
    target: str
    type: LinkType
    weight: float = 1.0
    count: int = 1
    """Memories that support a derived link."""


@dataclass(frozen=True, slots=True)
class MemoryGraph:
    """Part of the graph that is shown."""

    nodes: Mapping[str, Record | None]
    """Node -> its memory; None for entities, tags and topics."""

    links: Sequence[GraphLink]
    """Links between these nodes."""

    is_cut_off: bool
    """True where the limit left nodes out."""


def router(settings: Settings) -> APIRouter:
    routes = limited_router(settings, "graph")

    @routes.get("/graph", responses=error_responses(404))
    def graph(
        query: Annotated[requests.MemoryGraphQuery, Query()], caller: ScopedCaller
    ) -> MemoryGraphResponse:
        """List memories, entities, tags and topics with their links.

        Around `focus`, `depth` steps far, or else around the newest memories; with `view=entities`
        the entities that most memories mention. `more`: the limit left some out.
        """
        limit = min(query.limit, settings.limits.results)
        net = caller.engine.inspect.entities(caller.scope)
        if query.view == "entities" and not query.focus:
            return _to_entity_view(net, limit)
        if query.focus:
            start = _focus_nodes(caller, query.focus)
        else:
            start = _newest_nodes(caller, query, limit)
        graph = MemoryGraphWalker(caller, query, limit, net).expand(start, query.depth)
        topic_ids = [node for node in graph.nodes if _is_prefixed(node)]
        labels = caller.engine.topics.labels(caller.scope, topic_ids)
        return _to_response(graph, net, labels)

    return routes


class MemoryGraphWalker:
    """Walk along links from start nodes, limited in depth and nodes."""

    def __init__(
        self,
        caller: IdentifiedCaller,
        query: requests.MemoryGraphQuery,
        limit: int,
        net: EntityNet,
    ) -> None:
        self._caller = caller
        self._query = query
        self._limit = limit
        self._net = net
        self._entities = _by_id(net)
        self._nodes: dict[str, Record | None] = {}
        self._links: dict[tuple[str, str, str], GraphLink] = {}
        self._is_cut_off = False

    def expand(self, start: Mapping[str, Record | None], depth: int) -> MemoryGraph:
        """Walk ``depth`` steps from the start nodes."""
        self._nodes = dict(start)
        outermost: Sequence[str] = list(start)
        for step in range(depth + 1):
            links = self._find_links(outermost) if outermost else []
            self._links.update({(link.source, link.target, link.type): link for link in links})
            # The last step adds no nodes, only the links between those that are there.
            outermost = self._add_ends(links) if step < depth else ()
        inside = [
            link
            for link in self._links.values()
            if link.source in self._nodes and link.target in self._nodes
        ]
        return MemoryGraph(self._nodes, inside, self._is_cut_off)

    def _find_links(self, nodes: Sequence[str]) -> list[GraphLink]:
        """Find the links at the nodes: stored ones, then mentions."""
        types = [type for type in self._query.type if type != "mentions"]
        links: list[GraphLink] = []
        if types or not self._query.type:
            stored = self._caller.engine.inspect.edges(self._caller.owner, nodes, types)
            links = [
                GraphLink(
                    source=edge.source,
                    target=edge.target,
                    type=edge.type,
                    weight=edge.weight,
                    count=edge.count,
                )
                for edge in stored
            ]
        if not self._query.type or "mentions" in self._query.type:
            for node in nodes:
                links += [
                    GraphLink(memory, node, "mentions") for memory in self._find_mentioning(node)
                ]
                links += [
                    GraphLink(node, entity, "mentions")
                    for entity in self._net.by_memory.get(node, ())
                ]
        return links

    def _find_mentioning(self, node: str) -> Sequence[str]:
        """List ids of memories that mention an entity; none for other nodes."""
        return self._entities[node].memories[: self._limit] if node in self._entities else ()

    def _add_ends(self, links: Sequence[GraphLink]) -> list[str]:
        """Add the far ends of links as nodes, heaviest links first; return those added."""
        heaviest_first = sorted(links, key=lambda link: -link.weight * link.count)
        ends = dict.fromkeys(end for link in heaviest_first for end in (link.source, link.target))
        candidates = [node for node in ends if node not in self._nodes]
        memory_ids = [node for node in candidates if not _is_prefixed(node)]
        records = {
            record.id: record
            for record in self._caller.engine.inspect.records(self._caller.owner, memory_ids)
            if self._is_visible(record)
        }
        visible = [node for node in candidates if _is_prefixed(node) or node in records]
        room = max(0, self._limit - len(self._nodes))
        self._is_cut_off = self._is_cut_off or len(visible) > room
        self._nodes.update({node: records.get(node) for node in visible[:room]})
        return visible[:room]

    def _is_visible(self, record: Record) -> bool:
        """Check scope, status and kind of a memory."""
        query = self._query
        scope = self._caller.scope
        is_in_scope = scope.is_owner or record.scope in scope.chain()
        return (
            is_in_scope
            and record.status in query.status
            and (not query.kind or record.kind in query.kind)
        )


def _is_prefixed(node: str) -> bool:
    """Return True for nodes that are no memories: ``entity:x``, ``tag:x``, ``topic:x``."""
    return ":" in node


def _focus_nodes(caller: IdentifiedCaller, focus: list[str]) -> dict[str, Record | None]:
    """Find the nodes to start from; NotFoundError for unknown ids."""
    nodes: dict[str, Record | None] = {}
    for node in focus:
        if _is_prefixed(node):
            nodes[node] = None
        else:
            record = caller.engine.get(node, scope=caller.owner)
            nodes[record.id] = record
    return nodes


def _newest_nodes(
    caller: IdentifiedCaller, query: requests.MemoryGraphQuery, limit: int
) -> dict[str, Record | None]:
    """Load the newest memories, leaving room for tags and topics."""
    tags = tuple(Condition("tags", "contains", tag) for tag in query.tag)
    page = caller.engine.list(
        scope=caller.scope,
        kinds=tuple(query.kind),
        statuses=tuple(query.status),
        where=Where("and", tags) if tags else None,
        limit=max(1, limit * 2 // 3),
    )
    return {record.id: record for record in page.records}


def _by_id(net: EntityNet) -> dict[str, Entity]:
    return {entity.id: entity for entity in net.entities}


def _to_entity_view(net: EntityNet, limit: int) -> MemoryGraphResponse:
    """Show the entities that most memories mention, with their strongest links."""
    entity_ids = [entity.id for entity in net.entities[:limit]]
    link_counts = dict.fromkeys(entity_ids, 0)
    links: list[GraphLink] = []
    for link in net.links:
        if (
            link.source in link_counts
            and link.target in link_counts
            and min(link_counts[link.source], link_counts[link.target]) < _MIN_LINKS
        ):
            link_counts[link.source] += 1
            link_counts[link.target] += 1
            links.append(
                GraphLink(
                    source=link.source,
                    target=link.target,
                    type="together",
                    weight=1 - 0.5**link.memories,
                    count=link.memories,
                )
            )
    graph = MemoryGraph(dict.fromkeys(entity_ids), links, len(net.entities) > limit)
    return _to_response(graph, net, {})


def _to_response(
    graph: MemoryGraph, net: EntityNet, labels: Mapping[str, str]
) -> MemoryGraphResponse:
    """Convert a graph; ``labels``: of its topics by id."""
    links = [
        MemoryGraphLinkResponse(
            source=link.source,
            target=link.target,
            type=link.type,
            weight=round(link.weight, 6),
            count=link.count,
        )
        for link in graph.links
    ]
    entities = _by_id(net)
    nodes = [_to_node(node, record, entities, labels) for node, record in graph.nodes.items()]
    return MemoryGraphResponse(nodes=nodes, edges=links, more=graph.is_cut_off)


def _to_node(
    node: str, record: Record | None, entities: Mapping[str, Entity], labels: Mapping[str, str]
) -> MemoryGraphNodeResponse:
    if record is not None:
        return _to_memory_node(node, record)
    kind, _, name = node.partition(":")
    entity = entities.get(node)
    if entity is not None:
        return MemoryGraphNodeResponse(
            id=node,
            type=kind,
            label=entity.name,
            kind=entity.kind,
            memories=len(entity.memories),
            aliases=list(entity.aliases),
        )
    return MemoryGraphNodeResponse(
        id=node, type=kind if name else "memory", label=labels.get(node) or name or node
    )


def _to_memory_node(node: str, record: Record) -> MemoryGraphNodeResponse:
    return MemoryGraphNodeResponse(
        id=node,
        type="memory",
        label=form_statement(record).words[:_LABEL_CHARS],
        kind=record.kind,
        status=record.status,
        tier=record.tier,
        recorded_at=record.recorded_at,
        importance=round(record.importance, 6),
    )
