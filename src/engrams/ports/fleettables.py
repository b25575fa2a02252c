"""Tables that a fleet's machines share beside memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engrams.ports.apikeytable import ApiKeyTable
from engrams.ports.auditeventtable import AuditEventTable
from engrams.ports.sessionlogs import SessionLogName, SessionLogTable
from engrams.ports.uploadstorage import UploadPieceStorage


class FleetTables(Protocol):
    """Tables in memory's database; a home on one machine has files instead."""

    @property
    def keys(self) -> ApiKeyTable: ...

    @property
    def events(self) -> AuditEventTable: ...

    @property
    def logs(self) -> Mapping[SessionLogName, SessionLogTable]: ...

    @property
    def uploads(self) -> UploadPieceStorage: ...
