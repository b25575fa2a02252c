"""Tables that a fleet's machines share beside memory."""

from __future__ import annotations

from typing import get_args

from engrams.ports import SessionLogName
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.postgres.fleet.attachment_pieces import PostgresAttachments
from engrams.store.postgres.fleet.audit_event_rows import PostgresAuditEvents
from engrams.store.postgres.fleet.key_rows import PostgresApiKeys
from engrams.store.postgres.fleet.session_log_rows import PostgresSessionLog
from engrams.store.postgres.fleet.upload_pieces import PostgresUploads


class PostgresFleetTables:
    """Every table of ``ports.FleetTables`` in one database.

    ``is_shared``: the database belongs to a store, which closes it.
    """

    def __init__(self, database: PostgresDatabase, *, is_shared: bool = False) -> None:
        close = _do_nothing if is_shared else database.close
        self.keys = PostgresApiKeys(database, close)
        self.events = PostgresAuditEvents(database, close)
        self.logs = {
            name: PostgresSessionLog(name, database, close) for name in get_args(SessionLogName)
        }
        self.uploads = PostgresUploads(database)
        self.attachments = PostgresAttachments(database)


def _do_nothing() -> None:
    """Leave a shared database open."""
