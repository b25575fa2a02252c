"""Tables that a fleet's machines share beside memory."""

from __future__ import annotations

from typing import Protocol

from engrams.ports.apikeytable import ApiKeyTable
from engrams.ports.auditeventtable import AuditEventTable


class FleetTables(Protocol):
    """Tables in memory's database; a home on one machine has files instead."""

    @property
    def keys(self) -> ApiKeyTable: ...

    @property
    def events(self) -> AuditEventTable: ...
