"""Persisted conversations and small states of owners, changed by compare and swap."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from engrams.core import Scope
from engrams.core.clock import micros
from engrams.errors import ConflictError
from engrams.ports import OwnerStateRow, ScopeReach, SessionRow
from engrams.store.sql import where_clauses
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_first,
    fetch_one,
    query,
)
from engrams.store.sql.row_conversion import decode_json, encode_json, to_datetime


def load_session(connection: SqlConnection, owner: Scope, id: str) -> SessionRow | None:
    row = fetch_first(connection, "load_session", owner.key, id)
    return None if row is None else _decode_session(row)


def save_session(connection: SqlConnection, row: SessionRow, expect: int | None) -> SessionRow:
    """Store a session with the next token.

    ConflictError where the stored token (0: none yet) is not ``expect``.
    """
    owner = row.scope.owner
    fetch_one(connection, "lock_owner")
    stored = load_session(connection, owner, row.id)
    token = stored.token if stored else 0
    if expect is not None and expect != token:
        raise ConflictError(
            f"The session {row.id!r} was changed by somebody else (token {token}, not {expect})."
        )
    times = (micros(row.started_at), micros(row.last_active))
    values = (owner.key, row.id, row.scope.key, row.state, *times, token + 1, encode_json(row.data))
    execute(connection, "save_session", *values)
    return replace(row, token=token + 1)


def save_from_batch(connection: SqlConnection, row: SessionRow) -> SessionRow:
    """Touch a session (token 0), or save it; as it is then.

    A session that was active since is reopened instead of closed; otherwise ConflictError.
    """
    if not row.token:
        times = (micros(row.started_at), micros(row.last_active))
        (data,) = fetch_one(
            connection,
            "touch_session",
            row.scope.owner.key,
            row.id,
            row.scope.key,
            *times,
            encode_json(row.data),
        )
        return replace(row, data=decode_json(data))
    stored = load_session(connection, row.scope.owner, row.id)
    if stored is not None and stored.last_active > row.last_active:
        if row.state != "closed":
            raise ConflictError(f"Somebody spoke in the session {row.id!r} meanwhile.")
        row = replace(
            row, state="active", started_at=stored.last_active, last_active=stored.last_active
        )
    return save_session(connection, row, row.token)


def find_idle(connection: SqlConnection, before: datetime, limit: int) -> tuple[SessionRow, ...]:
    """Open sessions last active at or before a time, oldest first."""
    return tuple(
        _decode_session(row)
        for row in fetch_all(connection, "idle_sessions", micros(before), limit)
    )


def list_sessions(
    connection: SqlConnection, seen: ScopeReach, limit: int
) -> tuple[SessionRow, ...]:
    """Sessions in reach, latest first."""
    within = where_clauses.reach_clause(seen)
    text = (
        f"{query('list_sessions')} WHERE {within.text} ORDER BY last_active DESC, id DESC LIMIT ?"
    )
    return tuple(
        _decode_session(row) for row in fetch_composed(connection, text, (*within.values, limit))
    )


def _decode_session(row: tuple[Any, ...]) -> SessionRow:
    name, scope, state, started, active, token, data = row
    return SessionRow(
        id=name,
        scope=Scope.parse(scope),
        state=state,
        started_at=to_datetime(started),
        last_active=to_datetime(active),
        token=token,
        data=decode_json(data),
    )


def load_state(connection: SqlConnection, owner: Scope, name: str) -> OwnerStateRow:
    row = fetch_first(connection, "load_state", owner.key, name)
    return (
        OwnerStateRow(owner, name)
        if row is None
        else OwnerStateRow(owner, name, row[0], decode_json(row[1]))
    )


def save_state(connection: SqlConnection, row: OwnerStateRow, expect: int | None) -> OwnerStateRow:
    """Store a state with the next token.

    ConflictError where the stored one (0: none) is not ``expect``.
    """
    fetch_one(connection, "lock_owner")
    token = load_state(connection, row.owner, row.name).token
    if expect is not None and expect != token:
        raise ConflictError(
            f"The state {row.name!r} was changed by somebody else (token {token}, not {expect})."
        )
    execute(connection, "save_state", row.owner.key, row.name, token + 1, encode_json(row.data))
    return replace(row, token=token + 1)
