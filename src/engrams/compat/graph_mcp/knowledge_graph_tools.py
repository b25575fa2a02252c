"""Tool profile ``graph``: nine tools of the reference memory server.

Its graph is kept as records: one for each entity's type, each observation and each relation, as an
import of that server's file leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from engrams.core import Record, Status
from engrams.errors import InputError, NotFoundError
from engrams.ports import Condition, Where
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import ERASES, READS, WRITES, ScopedEngine
from engrams.transfer.formats import ParsedTurn, UnreadablePiece, mcp_graph

_PAGE_SIZE = 500
_GRAPH_RECORDS = Where(
    "or", (Condition("meta.entity", "exists", True), Condition("meta.triple", "exists", True))
)
"""Records of entities and relations, written here or imported from that server's file."""

_TOOLS = {
    "create_entities": WRITES,
    "create_relations": WRITES,
    "add_observations": WRITES,
    "delete_entities": ERASES,
    "delete_observations": ERASES,
    "delete_relations": ERASES,
    "read_graph": READS,
    "search_nodes": READS,
    "open_nodes": READS,
}


GraphRelationData = TypedDict("GraphRelationData", {"from": str, "to": str, "relationType": str})


class GraphEntityData(TypedDict):
    name: str
    entityType: str
    observations: list[str]


class ObservationInput(TypedDict):
    entityName: str
    contents: list[str]


class ObservationDeletionInput(TypedDict):
    entityName: str
    observations: list[str]


class AddedObservationsOutput(TypedDict):
    entityName: str
    addedObservations: list[str]


class KnowledgeGraphOutput(TypedDict):
    entities: list[GraphEntityData]
    relations: list[GraphRelationData]


class GraphEntityListOutput(TypedDict):
    entities: list[GraphEntityData]


class GraphRelationListOutput(TypedDict):
    relations: list[GraphRelationData]


class AddedObservationsListOutput(TypedDict):
    results: list[AddedObservationsOutput]


class GraphDeletionOutput(TypedDict):
    success: bool
    message: str


@dataclass(slots=True)
class GraphEntityRecords:
    """Records that make up an entity."""

    type: str = ""
    observations: dict[str, str] = field(default_factory=dict)
    """Text -> id of its record."""

    record_ids: list[str] = field(default_factory=list)
    """All records of the entity, those of its observations too."""


@dataclass(slots=True)
class GraphRecords:
    """The whole graph, with the record of each part."""

    entities: dict[str, GraphEntityRecords] = field(default_factory=dict)
    """Name -> records of the entity."""

    relations: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Source, relation and target -> id of the record."""


class KnowledgeGraphTools:
    """Map observations and relations to facts; deletion forgets them."""

    tools = _TOOLS

    def __init__(self, scoped: ScopedEngine) -> None:
        self._scoped = scoped
        self._engine = scoped.engine

    def create_entities(self, entities: list[GraphEntityData]) -> GraphEntityListOutput:
        """Add entities of new names and return them."""
        graph = self._read_records()
        # Of several of one name the last counts.
        created = {
            entity["name"]: entity for entity in entities if entity["name"] not in graph.entities
        }
        self._import_graph({"entities": list(created.values())})
        return GraphEntityListOutput(entities=list(created.values()))

    def create_relations(self, relations: list[GraphRelationData]) -> GraphRelationListOutput:
        """Add relations between entities, in active voice; return new ones."""
        graph = self._read_records()
        for relation in relations:
            _require_entity(graph, relation["from"])
            _require_entity(graph, relation["to"])
        created = [
            relation for relation in relations if _relation_key(relation) not in graph.relations
        ]
        self._import_graph({"relations": created})
        return GraphRelationListOutput(relations=created)

    def add_observations(self, observations: list[ObservationInput]) -> AddedObservationsListOutput:
        """Add observations to existing entities; return the new ones."""
        graph = self._read_records()
        results = []
        entities = []
        for addition in observations:
            name = addition["entityName"]
            entity = _require_entity(graph, name)
            texts = [
                text
                for text in dict.fromkeys(addition["contents"])
                if text not in entity.observations
            ]
            results.append(AddedObservationsOutput(entityName=name, addedObservations=texts))
            if texts:
                entities.append(
                    GraphEntityData(name=name, entityType=entity.type, observations=texts)
                )
        self._import_graph({"entities": entities})
        return AddedObservationsListOutput(results=results)

    def delete_entities(self, entityNames: list[str]) -> GraphDeletionOutput:  # noqa: N803 - the name clients send
        """Forget entities with their observations and relations."""
        graph = self._read_records()
        names = set(entityNames)
        of_entities = [
            record_id
            for name in names & set(graph.entities)
            for record_id in graph.entities[name].record_ids
        ]
        of_relations = [
            record_id
            for (source, _, target), record_id in graph.relations.items()
            if {source, target} & names
        ]
        self._forget_ids((*of_entities, *of_relations))
        return GraphDeletionOutput(success=True, message="Entities deleted.")

    def delete_observations(self, deletions: list[ObservationDeletionInput]) -> GraphDeletionOutput:
        """Forget single observations."""
        graph = self._read_records()
        ids = []
        for deletion in deletions:
            entity = graph.entities.get(deletion["entityName"])
            if entity is not None:
                ids += [
                    entity.observations[text]
                    for text in deletion["observations"]
                    if text in entity.observations
                ]
        self._forget_ids(ids)
        return GraphDeletionOutput(success=True, message="Observations deleted.")

    def delete_relations(self, relations: list[GraphRelationData]) -> GraphDeletionOutput:
        """Forget relations."""
        graph = self._read_records()
        keys = [_relation_key(relation) for relation in relations]
        self._forget_ids(graph.relations[key] for key in keys if key in graph.relations)
        return GraphDeletionOutput(success=True, message="Relations deleted.")

    def read_graph(self) -> KnowledgeGraphOutput:
        """Return all entities and relations."""
        graph = self._read_records()
        return _select_graph(graph, set(graph.entities))

    def search_nodes(self, query: str) -> KnowledgeGraphOutput:
        """Find entities for a query, and the relations between them."""
        result = self._engine.search(query, scope=self._scoped.root, where=_GRAPH_RECORDS)
        graph = self._read_records()
        names = set()
        for hit in result.hits:
            meta = hit.record.meta
            if "entity" in meta:
                names.add(str(meta["entity"]))
            else:
                source, _, target = meta["triple"]
                names |= {source, target}
        return _select_graph(graph, names)

    def open_nodes(self, names: list[str]) -> KnowledgeGraphOutput:
        """Return entities by name, and the relations between them."""
        return _select_graph(self._read_records(), set(names))

    def _read_records(self) -> GraphRecords:
        graph = GraphRecords()
        for record in self._list_records():
            name = record.meta.get("entity")
            triple = _read_triple(record)
            if not isinstance(name, str):
                if triple:
                    source, relation, target = map(str, triple)
                    graph.relations[source, relation, target] = record.id
                continue
            entity = graph.entities.setdefault(name, GraphEntityRecords())
            entity.record_ids.append(record.id)
            labels = record.meta.get("tags") or []
            entity.type = entity.type or (str(labels[0]) if labels else "")
            # The record "X is TYPE" makes the entity; every other one is an observation.
            if not (triple and triple[1] == "is" and triple[2]):
                entity.observations[record.text.removeprefix(f"{name}: ")] = record.id
        return graph

    def _list_records(self) -> Iterator[Record]:
        after = ""
        page_size = min(_PAGE_SIZE, self._engine.settings.limits.results)
        while True:
            page = self._engine.list(
                scope=self._scoped.root,
                where=_GRAPH_RECORDS,
                order="oldest",
                after=after,
                limit=page_size,
            )
            yield from page.records
            if not page.next:
                return
            after = page.next

    def _import_graph(self, graph: dict[str, Any]) -> None:
        """Import a graph like that server's file.

        An import skips a record that is there, also a forgotten one: these are restored first.
        """
        pieces = list(mcp_graph.read([(0, {"entities": [], "relations": [], **graph})]))
        for piece in pieces:
            if isinstance(piece, UnreadablePiece):
                raise InputError(piece.message)
        for piece in pieces:
            if isinstance(piece, ParsedTurn):
                self._restore_forgotten(piece.turn.external_id)
        self._engine.load(pieces, scope=self._scoped.root)

    def _restore_forgotten(self, external_id: str) -> None:
        page = self._engine.list(
            scope=self._scoped.root,
            external_id=external_id,
            statuses=(Status.FORGOTTEN,),
            limit=1,
        )
        for record in page.records:
            self._engine.restore(record.id, scope=self._scoped.root)

    def _forget_ids(self, ids: Iterable[str]) -> None:
        for record_id in dict.fromkeys(ids):
            self._engine.forget(record_id, scope=self._scoped.root)


def _require_entity(graph: GraphRecords, name: str) -> GraphEntityRecords:
    if name not in graph.entities:
        raise NotFoundError(
            f"There is no entity {name!r}.", hint="Create it first with create_entities."
        )
    return graph.entities[name]


def _read_triple(record: Record) -> list[Any]:
    """Return source, relation and target of a record; empty: it states none."""
    triple = record.meta.get("triple")
    return triple if isinstance(triple, list) and len(triple) == 3 else []


def _relation_key(relation: GraphRelationData) -> tuple[str, str, str]:
    return (relation["from"], relation["relationType"], relation["to"])


def _select_graph(graph: GraphRecords, names: set[str]) -> KnowledgeGraphOutput:
    """Return the named entities and the relations among them; other names are left out."""
    names = names & set(graph.entities)
    entities = [
        GraphEntityData(name=name, entityType=entity.type, observations=list(entity.observations))
        for name, entity in graph.entities.items()
        if name in names
    ]
    relations = [
        GraphRelationData({"from": source, "relationType": kind, "to": target})
        for source, kind, target in graph.relations
        if source in names and target in names
    ]
    return KnowledgeGraphOutput(entities=entities, relations=relations)


PROFILE = McpProfile(
    instructions=(
        "Long-term memory of one person as entities with observations, and relations between them."
    ),
    families=(KnowledgeGraphTools,),
)
