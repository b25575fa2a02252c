"""Persisted conversations."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from engrams.clock import micros
from engrams.errors import ConflictError
from engrams.ports import Reach, SessionRow
from engrams.store.sqlite import filters
from engrams.store.sqlite.rows import decode_json, encode_json, moment
from engrams.store.sqlite.sql import every, first, query, run
from engrams.types import Scope


def load(connection: apsw.Connection, owner: Scope, id: str) -> SessionRow | None:
    row = first(connection, "load_session", owner.key, id)
    return None if row is None else _session(row)


def save(connection: apsw.Connection, row: SessionRow, expect: int | None) -> SessionRow:
    """Store with the next token. ConflictError where the stored token (0: none yet) is not ``expect``."""
    owner = row.scope.owner
    stored = load(connection, owner, row.id)
    token = stored.token if stored else 0
    if expect is not None and expect != token:
        raise ConflictError(f"The session {row.id!r} was changed by somebody else (token {token}, not {expect}).")
    times = (micros(row.started_at), micros(row.last_active))
    values = (owner.key, row.id, row.scope.key, row.state, *times, token + 1, encode_json(row.data))
    run(connection, "save_session", *values)
    return replace(row, token=token + 1)


def settle(connection: apsw.Connection, row: SessionRow) -> None:
    """A row of a batch: somebody spoke in it (token 0), or it is saved unless it was changed or spoken in since."""
    if not row.token:
        times = (micros(row.started_at), micros(row.last_active))
        run(connection, "touch_session", row.scope.owner.key, row.id, row.scope.key, *times, encode_json(row.data))
        return
    stored = load(connection, row.scope.owner, row.id)
    if stored is not None and stored.last_active > row.last_active:
        if row.state != "closed":
            raise ConflictError(f"Somebody spoke in the session {row.id!r} meanwhile.")
        row = replace(row, state="active", started_at=stored.last_active, last_active=stored.last_active)
    save(connection, row, row.token)


def idle(connection: apsw.Connection, before: datetime, limit: int) -> tuple[SessionRow, ...]:
    """Those that are not closed and were last active before or at that time, oldest first."""
    return tuple(_session(row) for row in every(connection, "idle_sessions", micros(before), limit))


def listed(connection: apsw.Connection, seen: Reach, limit: int) -> tuple[SessionRow, ...]:
    """Latest first."""
    within = filters.reach(seen)
    text = f"{query('list_sessions')} WHERE {within.text} ORDER BY last_active DESC, id DESC LIMIT ?"
    return tuple(_session(row) for row in connection.execute(text, (*within.values, limit)))


def _session(row: tuple[Any, ...]) -> SessionRow:
    name, scope, state, started, active, token, data = row
    return SessionRow(name, Scope.parse(scope), state, moment(started), moment(active), token, decode_json(data))
