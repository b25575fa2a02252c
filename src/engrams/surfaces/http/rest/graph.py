"""/v1/graph: memories, entities and their links, limited to a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engrams.core import EdgeType, Entity, EntityKind, EntityNet, Kind, Record, Status, Tier
from engrams.frozen_data import dataclass
from engrams.ports import Condition, Where
from engrams.settings import Settings
from engrams.surfaces.http.rest import requests
from engrams.surfaces.http.rest.caller import IdentifiedCaller, ScopedCaller
from engrams.surfaces.http.rest.errors import error_responses, limited_route

_LABEL = 160
_LINKS_EACH = 3
"""Links of an entity that the view of entities shows at least, its strongest."""

LinkType: TypeAlias = EdgeType | Literal["mentions", "together"]


class MemoryGraphNodeResponse(BaseModel):
    """Node of the memory graph: memory, entity, tag, topic or concept.

    ``type``: memory, entity, tag, topic or concept. Of an entity: its kind, ``memories``, the
    number of those that mention it, and other names; the other fields are for memories.
    """

    id: str
    type: str
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
    """Link of the graph.

    ``mentions``: from a memory to an entity; ``together``: two entities that ``count`` memories
    bring together.
    """

    source: str
    target: str
    type: LinkType
    weight: float
    count: int


class MemoryGraphResponse(BaseModel):
    nodes: list[MemoryGraphNodeResponse]
    edges: list[MemoryGraphLinkResponse]
    more: bool


@dataclass(frozen=True, slots=True)
class GraphLink:
    """Link between two nodes of the graph, stored or derived."""

    source: str
    target: str
    type: LinkType
    weight: float = 1.0
    count: int = 1


def router(settings: Settings) -> APIRouter:
    routes = APIRouter(
        prefix="/v1", tags=["graph"], route_class=limited_route(settings.limits.text_bytes)
    )

    @routes.get("/graph", responses=error_responses(404))
    def graph(
        asked: Annotated[requests.MemoryGraphQuery, Query()], caller: ScopedCaller
    ) -> MemoryGraphResponse:
        """List memories, entities, tags and topics with their links.

        Around `focus`, `depth` steps far, or else around the newest memories; with `view=entities`
        the entities that most memories mention. `more`: the limit left some out.
        """
        most = min(asked.limit, settings.limits.results)
        net = caller.engine.inspect.entities(caller.scope)
        if asked.view == "entities" and not asked.focus:
            return _to_entity_view(net, most)
        start = (
            _focus_nodes(caller, asked.focus) if asked.focus else _newest_nodes(caller, asked, most)
        )
        nodes, edges, more = MemoryGraphWalker(caller, asked, most, net).expand(start, asked.depth)
        return _to_response(
            nodes,
            edges,
            more,
            net,
            caller.engine.topics.labels(caller.scope, [name for name in nodes if ":" in name]),
        )

    return routes


class MemoryGraphWalker:
    """Walk along links from start nodes, limited in depth and nodes."""

    def __init__(
        self, caller: IdentifiedCaller, asked: requests.MemoryGraphQuery, most: int, net: EntityNet
    ) -> None:
        self._caller = caller
        self._asked = asked
        self._most = most
        self._net = net
        self._entities = _by_id(net)
        self._nodes: dict[str, Record | None] = {}
        self._edges: dict[tuple[str, str, str], GraphLink] = {}
        self._more = False

    def expand(
        self, start: dict[str, Record | None], depth: int
    ) -> tuple[dict[str, Record | None], list[GraphLink], bool]:
        """Expand the nodes; return nodes, links between them, and cut-off flag."""
        self._nodes = dict(start)
        edge_nodes: Sequence[str] = list(start)
        for step in range(depth + 1):
            found = self._find_links(edge_nodes) if edge_nodes else []
            self._edges.update({(edge.source, edge.target, edge.type): edge for edge in found})
            edge_nodes = self._add_ends(found) if step < depth else ()
        edges = [
            edge
            for edge in self._edges.values()
            if edge.source in self._nodes and edge.target in self._nodes
        ]
        return self._nodes, edges, self._more

    def _find_links(self, nodes: Sequence[str]) -> list[GraphLink]:
        """Links at the nodes: stored ones, then mentions."""
        types = [type for type in self._asked.type if type != "mentions"]
        found: list[GraphLink] = []
        if types or not self._asked.type:
            stored = self._caller.engine.inspect.edges(self._caller.owner, nodes, types)
            found = [
                GraphLink(
                    source=edge.source,
                    target=edge.target,
                    type=edge.type,
                    weight=edge.weight,
                    count=edge.count,
                )
                for edge in stored
            ]
        if not self._asked.type or "mentions" in self._asked.type:
            for node in nodes:
                found += [
                    GraphLink(memory, node, "mentions") for memory in self._find_mentioning(node)
                ]
                found += [
                    GraphLink(node, entity, "mentions")
                    for entity in self._net.by_memory.get(node, ())
                ]
        return found

    def _find_mentioning(self, node: str) -> Sequence[str]:
        return self._entities[node].memories[: self._most] if node in self._entities else ()

    def _add_ends(self, edges: Sequence[GraphLink]) -> list[str]:
        """Add the far ends of links as nodes, heaviest links first."""
        heavy = sorted(edges, key=lambda edge: -edge.weight * edge.count)
        new = [
            node
            for node in dict.fromkeys(end for edge in heavy for end in (edge.source, edge.target))
            if node not in self._nodes
        ]
        plain = [node for node in new if ":" not in node]
        known = {
            record.id: record
            for record in self._caller.engine.inspect.records(self._caller.owner, plain)
            if self._is_visible(record)
        }
        kept = [node for node in new if ":" in node or node in known]
        room = max(0, self._most - len(self._nodes))
        self._more = self._more or len(kept) > room
        self._nodes.update({node: known.get(node) for node in kept[:room]})
        return kept[:room]

    def _is_visible(self, record: Record) -> bool:
        """Check scope, status and kind of a memory."""
        asked = self._asked
        scope = self._caller.scope
        within = scope.is_owner or record.scope in scope.chain()
        return (
            within
            and record.status in asked.status
            and (not asked.kind or record.kind in asked.kind)
        )


def _focus_nodes(caller: IdentifiedCaller, focus: list[str]) -> dict[str, Record | None]:
    """Find the nodes to start from; NotFoundError for unknown ids."""
    nodes: dict[str, Record | None] = {}
    for name in focus:
        record = None if ":" in name else caller.engine.get(name, scope=caller.owner)
        nodes[record.id if record else name] = record
    return nodes


def _newest_nodes(
    caller: IdentifiedCaller, asked: requests.MemoryGraphQuery, most: int
) -> dict[str, Record | None]:
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


def _by_id(net: EntityNet) -> dict[str, Entity]:
    return {entity.id: entity for entity in net.entities}


def _to_entity_view(net: EntityNet, most: int) -> MemoryGraphResponse:
    """Show the entities that most memories mention, with their strongest links."""
    shown = net.entities[:most]
    names = {entity.id for entity in shown}
    drawn = dict.fromkeys((entity.id for entity in shown), 0)
    links: list[GraphLink] = []
    for link in net.links:
        if (
            link.source in names
            and link.target in names
            and min(drawn[link.source], drawn[link.target]) < _LINKS_EACH
        ):
            drawn[link.source] += 1
            drawn[link.target] += 1
            links.append(
                GraphLink(
                    source=link.source,
                    target=link.target,
                    type="together",
                    weight=1 - 0.5**link.memories,
                    count=link.memories,
                )
            )
    return _to_response(
        {entity.id: None for entity in shown}, links, len(net.entities) > most, net, {}
    )


def _to_response(
    nodes: Mapping[str, Record | None],
    edges: Iterable[GraphLink],
    more: bool,
    net: EntityNet,
    labels: Mapping[str, str],
) -> MemoryGraphResponse:
    links = [
        MemoryGraphLinkResponse(
            source=each.source,
            target=each.target,
            type=each.type,
            weight=round(each.weight, 6),
            count=each.count,
        )
        for each in edges
    ]
    entities = _by_id(net)
    drawn = [_to_node(name, record, entities, labels) for name, record in nodes.items()]
    return MemoryGraphResponse(nodes=drawn, edges=links, more=more)


def _to_node(
    name: str, record: Record | None, entities: Mapping[str, Entity], labels: Mapping[str, str]
) -> MemoryGraphNodeResponse:
    if record is None:
        sort, _, label = name.partition(":")
        if (entity := entities.get(name)) is not None:
            return MemoryGraphNodeResponse(
                id=name,
                type=sort,
                label=entity.name,
                kind=entity.kind,
                memories=len(entity.memories),
                aliases=list(entity.aliases),
            )
        return MemoryGraphNodeResponse(
            id=name, type=sort if label else "memory", label=labels.get(name) or label or name
        )
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
