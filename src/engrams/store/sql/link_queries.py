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
    owner: Scope, linked: Sequence[str], named: Sequence[str], types: Sequence[EdgeType]
) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Build the statements for edges at ``linked``, and for records.

    These are ``named``, and those from which an edge of ``types`` leads to one of them.
    """
    ends, records = (json.dumps(list(some), ensure_ascii=False) for some in (linked, named))
    leading = (owner.key, records, json.dumps([str(one) for one in types]))
    return (query("edges"), (owner.key, ends)), (
        record_queries.build_selection("leading_records"),
        leading,
    )


def decode_edges(
    owner: Scope, rows: Sequence[tuple[Any, ...]], types: Sequence[EdgeType] = ()
) -> tuple[Edge, ...]:
    """Decode rows of edges in order; StoreError: one is damaged."""
    wanted = set(types)
    if unknown := {kind for _, _, kind, _, _ in rows if kind not in _TYPES}:
        raise StoreError(f"A link is damaged: there is no type {min(unknown)!r}.", hint=MEND)
    return tuple(
        Edge(
            owner=owner, source=source, target=target, type=_TYPES[kind], weight=weight, count=count
        )
        for source, target, kind, weight, count in sorted(rows)
        if not wanted or kind in wanted
    )


def list_topics(connection: SqlConnection, seen: ScopeReach) -> tuple[Topic, ...]:
    """Topics and concepts of the scopes in reach, by id."""
    within = where_clauses.reach_clause(seen)
    rows = fetch_composed(
        connection, f"{query('select_topics')} WHERE {within.text} ORDER BY id", within.values
    )
    return tuple(
        Topic(
            id=id,
            scope=Scope.parse(scope),
            label=label,
            members=members,
            model=model,
            centroid=centroid,
            at=to_datetime(at),
            named=bool(named),
        )
        for id, scope, label, members, model, centroid, at, named in rows
    )


def save_topic(connection: SqlConnection, topic: Topic) -> None:
    """Store or replace a topic; without members drop it and its edges."""
    owner = topic.scope.owner.key
    if topic.members < 1:
        execute(connection, "drop_topic", owner, topic.id)
        execute(connection, "drop_edges", owner, topic.id)
        return
    values = (
        topic.label,
        int(topic.named),
        topic.members,
        topic.model,
        topic.centroid,
        micros(topic.at),
    )
    execute(connection, "save_topic", owner, topic.id, topic.scope.key, *values)
