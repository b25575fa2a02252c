"""Small states of owners, changed by compare and swap."""

from __future__ import annotations

from dataclasses import replace

import apsw

from engrams.errors import ConflictError
from engrams.ports import StateRow
from engrams.store.sqlite.rows import decode_json, encode_json
from engrams.store.sqlite.sql import execute, fetch_first
from engrams.types import Scope


def load_state(connection: apsw.Connection, owner: Scope, name: str) -> StateRow:
    row = fetch_first(connection, "load_state", owner.key, name)
    return StateRow(owner, name) if row is None else StateRow(owner, name, row[0], decode_json(row[1]))


def save_state(connection: apsw.Connection, row: StateRow, expect: int | None) -> StateRow:
    """Store a state with the next token.

    ConflictError where the stored one (0: none) is not ``expect``.
    """
    token = load_state(connection, row.owner, row.name).token
    if expect is not None and expect != token:
        raise ConflictError(f"The state {row.name!r} was changed by somebody else (token {token}, not {expect}).")
    execute(connection, "save_state", row.owner.key, row.name, token + 1, encode_json(row.data))
    return replace(row, token=token + 1)
