"""Numbers of records: by scope, speaker and sort, and the storage that they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engrams.core import UNLISTED_KINDS, Scope, Status
from engrams.ports import ScopeReach, StorageUse
from engrams.store.sql import where_clauses
from engrams.store.sql.named_queries import (
    SqlConnection,
    fetch_all,
    fetch_composed,
    fetch_one,
    query,
)
from engrams.store.sql.where_clauses import SqlClause


def measure_storage(connection: SqlConnection, owner: Scope) -> StorageUse:
    """Count an owner's memories that are not purged, and the bytes of their texts."""
    return StorageUse(*fetch_one(connection, "storage_use", owner.key))


def list_scopes(connection: SqlConnection, owner: Scope | None) -> tuple[Scope, ...]:
    """List scopes that hold records; ``owner`` None: of all owners."""
    if owner is not None:
        return tuple(count_scopes(connection, owner))
    return tuple(Scope.parse(scope_key) for (scope_key,) in fetch_all(connection, "every_scope"))


def count_scopes(connection: SqlConnection, owner: Scope) -> dict[Scope, int]:
    """Count active records of each of the owner's scopes that hold records."""
    rows = fetch_all(connection, "scopes_of", owner.key)
    return {Scope.parse(scope_key): count for scope_key, count in rows}


def build_speakers(reach: ScopeReach) -> tuple[str, tuple[Any, ...]]:
    """Build statement and parameters for speakers of active records, most frequent first."""
    within = where_clauses.reach_clause(reach)
    statement = f"{query('tally_speakers')} AND {within.text} GROUP BY speaker ORDER BY 2 DESC, 1"
    return statement, (reach.owner.key, *within.values)


def find_speakers(connection: SqlConnection, reach: ScopeReach) -> list[tuple[Any, ...]]:
    """Find the speakers of active records and their counts, most frequent first."""
    return fetch_composed(connection, *build_speakers(reach))


def count_records(
    connection: SqlConnection, reach: ScopeReach | None
) -> Mapping[str, Mapping[str, int]]:
    """Count records along several axes; ``reach`` None: all.

    All by ``status``; those not purged by ``kind``, ``layer`` and ``tier``; active ones by tier
    (``active``) and layer (``active_layers``); vectors by ``model``. Messages count in no layer.
    """
    within = SqlClause("TRUE") if reach is None else where_clauses.reach_clause(reach)
    counts: dict[str, dict[str, int]] = {
        "status": {},
        "kind": {},
        "layer": {},
        "tier": {},
        "active": {},
        "active_layers": {},
        "model": {},
    }
    statement = f"{query('tally_kinds')} WHERE {within.text} GROUP BY status, kind, layer, tier"
    for status, kind, layer, tier, count in fetch_composed(connection, statement, within.values):
        _add_count(counts["status"], status, count)
        is_listed = kind not in UNLISTED_KINDS
        if status != Status.PURGED:
            _add_count(counts["kind"], kind, count)
            _add_count(counts["tier"], tier, count)
            if is_listed:
                _add_count(counts["layer"], layer, count)
        if status == Status.ACTIVE:
            _add_count(counts["active"], tier, count)
            if is_listed:
                _add_count(counts["active_layers"], layer, count)
    counts["model"] = _count_vectors(connection, reach, within)
    return counts


def _count_vectors(
    connection: SqlConnection, reach: ScopeReach | None, within: SqlClause
) -> dict[str, int]:
    """Count vectors by model."""
    if reach is None:
        return dict(fetch_all(connection, "count_vectors"))
    if reach.tree and reach.owner in reach.scopes:
        # What was purged has no vector, so nobody need look at the records.
        return dict(fetch_all(connection, "count_owner_vectors", reach.owner.key))
    statement = f"{query('count_reached_vectors')} AND {within.text} GROUP BY models.name"
    return dict(fetch_composed(connection, statement, within.values))


def _add_count(table: dict[str, int], name: str, count: int) -> None:
    table[name] = table.get(name, 0) + count
