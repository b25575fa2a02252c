"""Links between nodes, and topic nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from engrams.core import Edge, EdgeType, Scope, Topic
from engrams.core.clock import micros
from engrams.errors import StoreError
from engrams.ports import ScopeReach
from engrams.store.sql import record_queries, where_clauses
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_all, fetch_composed, query
from engrams.store.sql.row_conversion import MEND, to_datetime

_TYPES = {str(kind): kind for kind in EdgeType}


def find_edges(
    connection: SqlConnection, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType]
) -> tuple[Edge, ...]:
    """Find edges at any of ``nodes``, each once; ``types``: empty for all.

    StoreError: one is damaged.
    """
    rows = fetch_all(connection, "edges", owner.key, json.dumps(list(nodes), ensure_ascii=False))
    return decode_edges(owner, rows, types)


def build_surroundings(
    owner: Scope,
    node_ids: Sequence[str],
    record_ids: Sequence[str],
    types: Sequence[EdgeType],
) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Build two statements, each with its parameters: for edges, and for records.

    The edges are those at ``node_ids``; the records ``record_ids``, and those from which an edge of
    ``types`` leads to one of them.
    """
    nodes = json.dumps(list(node_ids), ensure_ascii=False)
    records = json.dumps(list(record_ids), ensure_ascii=False)
    edges = (query("edges"), (owner.key, nodes))
    selection = record_queries.build_selection("leading_records")
    return edges, (selection, (owner.key, records, json.dumps([str(kind) for kind in types])))


def decode_edges(
    owner: Scope, rows: Sequence[tuple[Any, ...]], types: Sequence[EdgeType] = ()
) -> tuple[Edge, ...]:
    """Decode rows of edges in order; ``types``: empty for all.

    StoreError: one is damaged.
    """
    if unknown := {kind for _, _, kind, _, _ in rows if kind not in _TYPES}:
        raise StoreError(f"A link is damaged: there is no type {min(unknown)!r}.", hint=MEND)
    return tuple(
        Edge(
            owner=owner, source=source, target=target, type=_TYPES[kind], weight=weight, count=count
        )
        for source, target, kind, weight, count in sorted(rows)
        if not types or kind in types
    )


def list_topics(connection: SqlConnection, reach: ScopeReach) -> tuple[Topic, ...]:
    """List topics and concepts of the scopes in reach, by id."""
    within = where_clauses.reach_clause(reach)
    statement = f"{query('select_topics')} WHERE {within.text} ORDER BY id"
    rows = fetch_composed(connection, statement, within.values)
    return tuple(
        Topic(
            id=topic_id,
            scope=Scope.parse(scope),
            label=label,
            members=members,
            model=model,
            centroid=centroid,
            at=to_datetime(at),
            named=bool(is_named),
        )
        for topic_id, scope, label, members, model, centroid, at, is_named in rows
    )


def save_topic(connection: SqlConnection, topic: Topic) -> None:
    """Store or replace a topic; without members drop it and its edges."""
    owner_key = topic.scope.owner.key
    if topic.members < 1:
        execute(connection, "drop_topic", owner_key, topic.id)
        execute(connection, "drop_edges", owner_key, topic.id)
        return
    execute(
        connection,
        "save_topic",
        owner_key,
        topic.id,
        topic.scope.key,
        topic.label,
        int(topic.named),
        topic.members,
        topic.model,
        topic.centroid,
        micros(topic.at),
    )
