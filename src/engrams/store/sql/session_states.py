"""Persisted conversations and small states of owners, changed by compare and swap."""

from __future__ import annotations

from collections.abc import Collection
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


def load_session(connection: SqlConnection, owner: Scope, session_id: str) -> SessionRow | None:
    row = fetch_first(connection, "load_session", owner.key, session_id)
    return None if row is None else _decode_session(row)


def save_session(connection: SqlConnection, row: SessionRow, expect: int | None) -> SessionRow:
    """Store a session with the next token, and return it.

    ``expect``: the token that it should have by now, 0 for a new session; None: any. ConflictError:
    it has another.
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
    """Touch a session (token 0), or save it; return it as it is then.

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
    """Find open sessions that were last active at or before a time, oldest first."""
    return tuple(
        _decode_session(row)
        for row in fetch_all(connection, "idle_sessions", micros(before), limit)
    )


def list_sessions(
    connection: SqlConnection, reach: ScopeReach, limit: int
) -> tuple[SessionRow, ...]:
    """List sessions in reach, latest first."""
    within = where_clauses.reach_clause(reach)
    statement = (
        f"{query('list_sessions')} WHERE {within.text} ORDER BY last_active DESC, id DESC LIMIT ?"
    )
    rows = fetch_composed(connection, statement, (*within.values, limit))
    return tuple(_decode_session(row) for row in rows)


def _decode_session(row: tuple[Any, ...]) -> SessionRow:
    session_id, scope, state, started, active, token, data = row
    return SessionRow(
        id=session_id,
        scope=Scope.parse(scope),
        state=state,
        started_at=to_datetime(started),
        last_active=to_datetime(active),
        token=token,
        data=decode_json(data),
    )


def load_state(connection: SqlConnection, owner: Scope, name: str) -> OwnerStateRow:
    """Load a state; one with token 0 where there is none."""
    row = fetch_first(connection, "load_state", owner.key, name)
    if row is None:
        return OwnerStateRow(owner, name)
    token, data = row
    return OwnerStateRow(owner, name, token, decode_json(data))


def load_states(
    connection: SqlConnection, owner: Scope, names: Collection[str]
) -> dict[str, OwnerStateRow]:
    """Load states by name; those with token 0 of which nothing is stored."""
    rows = {name: OwnerStateRow(owner, name) for name in names}
    stored = fetch_all(connection, "load_states", owner.key, encode_json(list(rows)))
    for name, token, data in stored:
        rows[name] = OwnerStateRow(owner, name, token, decode_json(data))
    return rows


def save_state(connection: SqlConnection, row: OwnerStateRow, expect: int | None) -> OwnerStateRow:
    """Store a state with the next token, and return it.

    ``expect``: the token that it should have by now, 0 for a new state; None: any. ConflictError:
    it has another.
    """
    fetch_one(connection, "lock_owner")
    token = load_state(connection, row.owner, row.name).token
    if expect is not None and expect != token:
        raise ConflictError(
            f"The state {row.name!r} was changed by somebody else (token {token}, not {expect})."
        )
    execute(connection, "save_state", row.owner.key, row.name, token + 1, encode_json(row.data))
    return replace(row, token=token + 1)
