"""Sizes of the files of documents, which count in the quota of their owner."""

from __future__ import annotations

from datetime import timedelta

from engrams.core import Scope
from engrams.core.clock import micros
from engrams.ports import AttachmentReservation, StorageUse
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_all
from engrams.store.sql.owner_writes import OwnerWrites

_RESERVED_TIME = timedelta(hours=1)
"""Time after which a file that nobody wrote counts no more: its process was killed."""


def reserve_attachment(
    connection: SqlConnection,
    dialect: SqlDialect,
    reservation: AttachmentReservation,
    quota: StorageUse,
) -> None:
    """Count a file, in the caller's transaction. BudgetError: it is too large for the quota."""
    owner = reservation.owner
    dialect.begin(connection)
    dialect.enter(connection, owner.key)
    _compare(connection, reservation)
    writes = OwnerWrites(connection, dialect, quota)
    writes.enter(owner)
    values = (owner.key, reservation.digest, reservation.bytes, micros(reservation.at))
    execute(connection, "reserve_attachment", *values)
    writes.save()


def keep_attachment(
    connection: SqlConnection, dialect: SqlDialect, owner: Scope, digest: str, size: int
) -> None:
    """Note that a file is written."""
    dialect.enter(connection, owner.key)
    execute(connection, "keep_attachment", owner.key, digest, size)


def drop_attachment(
    connection: SqlConnection, dialect: SqlDialect, owner: Scope, digest: str
) -> None:
    """Count a file no more."""
    dialect.enter(connection, owner.key)
    execute(connection, "drop_attachment", owner.key, digest)


def _compare(connection: SqlConnection, reservation: AttachmentReservation) -> None:
    """Let the counted files of an owner be those that the owner has, and those that are on the way.

    They differ after a crash, and where a damaged database was made anew.
    """
    owner = reservation.owner
    oldest = micros(reservation.at - _RESERVED_TIME)
    counted: dict[str, int] = dict(fetch_all(connection, "list_attachments", owner.key))
    for digest, reserved_at in counted.items():
        if digest not in reservation.stored_sizes and reserved_at < oldest:
            execute(connection, "drop_attachment", owner.key, digest)
    for digest, size in reservation.stored_sizes.items():
        if counted.get(digest) != 0:
            execute(connection, "keep_attachment", owner.key, digest, size)
