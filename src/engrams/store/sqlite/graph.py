"""Links between nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from engrams.store.sqlite.sql import every
from engrams.types import Edge, EdgeType, Scope


def edges(connection: apsw.Connection, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType]) -> tuple[Edge, ...]:
    """Edges at either end of any of ``nodes``, each once; of ``types`` only, if there are any."""
    wanted = set(types)
    rows = every(connection, "edges", owner.key, json.dumps(list(nodes), ensure_ascii=False))
    return tuple(
        Edge(owner, source, target, EdgeType(kind), weight, count)
        for source, target, kind, weight, count in rows
        if not wanted or kind in wanted
    )
