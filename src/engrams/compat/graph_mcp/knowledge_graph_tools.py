"""Tool profile ``graph``: nine tools of the reference memory server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from mcp.server import MCPServer
from typing_extensions import TypedDict

from engrams.core import Record, Status
from engrams.errors import InputError, NotFoundError
from engrams.frozen_data import dataclass
from engrams.ports import Condition, Where
from engrams.surfaces.mcp.profile import McpProfile
from engrams.surfaces.mcp.scoped_engine import ERASES, READS, WRITES, ScopedEngine, with_tool_errors
from engrams.transfer.formats import ParsedTurn, UnreadablePiece, mcp_graph

_PAGE = 500
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
    """Hold an entity's record ids; ``observations``: text to record id."""

    type: str = ""
    observations: dict[str, str] = field(default_factory=dict)
    records: list[str] = field(default_factory=list)


class KnowledgeGraphTools:
    """Map observations and relations to facts; deletion forgets them."""

    def __init__(self, bound: ScopedEngine) -> None:
        self._bound = bound
        self._engine = bound.engine

    def install(self, server: MCPServer[Any]) -> None:
        for name, hints in _TOOLS.items():
            server.add_tool(
                with_tool_errors(getattr(self, name)), annotations=hints, structured_output=True
            )

    def create_entities(self, entities: list[GraphEntityData]) -> GraphEntityListOutput:
        """Add entities of new names and return them."""
        nodes, _ = self._read_records()
        new = {entity["name"]: entity for entity in entities if entity["name"] not in nodes}
        self._import_graph({"entities": list(new.values())})
        return GraphEntityListOutput(entities=list(new.values()))

    def create_relations(self, relations: list[GraphRelationData]) -> GraphRelationListOutput:
        """Add relations between entities, in active voice; return new ones."""
        nodes, known = self._read_records()
        for name in (each[end] for each in relations for end in ("from", "to")):
            _require_node(nodes, name)
        new = [each for each in relations if _relation_key(each) not in known]
        self._import_graph({"relations": new})
        return GraphRelationListOutput(relations=new)

    def add_observations(self, observations: list[ObservationInput]) -> AddedObservationsListOutput:
        """Add observations to existing entities; return the new ones."""
        nodes, _ = self._read_records()
        added = []
        for each in observations:
            node = _require_node(nodes, each["entityName"])
            new = [
                text for text in dict.fromkeys(each["contents"]) if text not in node.observations
            ]
            added.append(
                AddedObservationsOutput(entityName=each["entityName"], addedObservations=new)
            )
        given = [
            GraphEntityData(
                name=each["entityName"],
                entityType=nodes[each["entityName"]].type,
                observations=each["addedObservations"],
            )
            for each in added
        ]
        self._import_graph({"entities": [entity for entity in given if entity["observations"]]})
        return AddedObservationsListOutput(results=added)

    def delete_entities(self, entityNames: list[str]) -> GraphDeletionOutput:  # noqa: N803 - the name clients send
        """Forget entities with their observations and relations."""
        nodes, known = self._read_records()
        gone = set(entityNames)
        ids = [one for name in gone & set(nodes) for one in nodes[name].records]
        self._forget_ids((*ids, *(one for ends, one in known.items() if {ends[0], ends[2]} & gone)))
        return GraphDeletionOutput(success=True, message="Entities deleted.")

    def delete_observations(self, deletions: list[ObservationDeletionInput]) -> GraphDeletionOutput:
        """Forget single observations."""
        nodes, _ = self._read_records()
        held = (
            (nodes[each["entityName"]].observations, each["observations"])
            for each in deletions
            if each["entityName"] in nodes
        )
        self._forget_ids(known[text] for known, texts in held for text in texts if text in known)
        return GraphDeletionOutput(success=True, message="Observations deleted.")

    def delete_relations(self, relations: list[GraphRelationData]) -> GraphDeletionOutput:
        """Forget relations."""
        _, known = self._read_records()
        self._forget_ids(
            known[_relation_key(each)] for each in relations if _relation_key(each) in known
        )
        return GraphDeletionOutput(success=True, message="Relations deleted.")

    def read_graph(self) -> KnowledgeGraphOutput:
        """Return all entities and relations."""
        nodes, known = self._read_records()
        return _select_graph(nodes, known, set(nodes))

    def search_nodes(self, query: str) -> KnowledgeGraphOutput:
        """Find entities for a query, and the relations between them."""
        found = self._engine.search(query, scope=self._bound.root, where=_GRAPH_RECORDS)
        nodes, known = self._read_records()
        names = {str(hit.record.meta.get("entity", "")) for hit in found.hits}
        ends = [hit.record.meta["triple"] for hit in found.hits if "entity" not in hit.record.meta]
        return _select_graph(
            nodes, known, names.union(*({end[0], end[2]} for end in ends)) & set(nodes)
        )

    def open_nodes(self, names: list[str]) -> KnowledgeGraphOutput:
        """Return entities by name, and the relations between them."""
        nodes, known = self._read_records()
        return _select_graph(nodes, known, set(names) & set(nodes))

    def _read_records(
        self,
    ) -> tuple[dict[str, GraphEntityRecords], dict[tuple[str, str, str], str]]:
        """Return entities by name, and relations with their record ids."""
        nodes: dict[str, GraphEntityRecords] = {}
        known: dict[tuple[str, str, str], str] = {}
        for record in self._list_records():
            name = record.meta.get("entity")
            triple = record.meta.get("triple")
            if not isinstance(name, str):
                if isinstance(triple, list) and len(triple) == 3:
                    known[(str(triple[0]), str(triple[1]), str(triple[2]))] = record.id
                continue
            node = nodes.setdefault(name, GraphEntityRecords())
            node.records.append(record.id)
            labels = record.meta.get("tags") or []
            node.type = node.type or (str(labels[0]) if labels else "")
            if not (
                isinstance(triple, list) and len(triple) == 3 and triple[1] == "is" and triple[2]
            ):
                node.observations[record.text.removeprefix(f"{name}: ")] = record.id
        return nodes, known

    def _list_records(self) -> Iterator[Record]:
        after = ""
        most = min(_PAGE, self._engine.settings.limits.results)
        while True:
            page = self._engine.list(
                scope=self._bound.root,
                where=_GRAPH_RECORDS,
                order="oldest",
                after=after,
                limit=most,
            )
            yield from page.records
            if not page.next:
                return
            after = page.next

    def _import_graph(self, graph: dict[str, Any]) -> None:
        """Import as that server's file is; restore forgotten records."""
        items = list(mcp_graph.read([(0, {"entities": [], "relations": [], **graph})]))
        wrong = [item.message for item in items if isinstance(item, UnreadablePiece)]
        if wrong:
            raise InputError(wrong[0])
        for item in items:
            if isinstance(item, ParsedTurn):
                gone = self._engine.list(
                    scope=self._bound.root,
                    external_id=item.turn.external_id,
                    statuses=(Status.FORGOTTEN,),
                    limit=1,
                ).records
                for record in gone:
                    self._engine.restore(record.id, scope=self._bound.root)
        self._engine.load(items, scope=self._bound.root)

    def _forget_ids(self, ids: Iterable[str]) -> None:
        for one in dict.fromkeys(ids):
            self._engine.forget(one, scope=self._bound.root)


def _require_node(nodes: dict[str, GraphEntityRecords], name: str) -> GraphEntityRecords:
    if name not in nodes:
        raise NotFoundError(
            f"There is no entity {name!r}.", hint="Create it first with create_entities."
        )
    return nodes[name]


def _relation_key(relation: GraphRelationData) -> tuple[str, str, str]:
    return (relation["from"], relation["relationType"], relation["to"])


def _select_graph(
    nodes: dict[str, GraphEntityRecords], known: dict[tuple[str, str, str], str], names: set[str]
) -> KnowledgeGraphOutput:
    """Return the named entities and the relations among them."""
    chosen = [
        GraphEntityData(name=name, entityType=node.type, observations=list(node.observations))
        for name, node in nodes.items()
        if name in names
    ]
    between = [
        GraphRelationData({"from": source, "relationType": kind, "to": target})
        for source, kind, target in known
        if source in names and target in names
    ]
    return KnowledgeGraphOutput(entities=chosen, relations=between)


PROFILE = McpProfile(
    instructions=(
        "Long-term memory of one person as entities with observations, and relations between them."
    ),
    families=(KnowledgeGraphTools,),
)
