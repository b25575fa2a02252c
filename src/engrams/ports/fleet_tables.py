"""The port of tables that the machines of a fleet share, apart from memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engrams.ports.api_key_table import ApiKeyTable
from engrams.ports.attachments import AttachmentFiles
from engrams.ports.audit_event_table import AuditEventTable
from engrams.ports.session_logs import SessionLogName, SessionLogTable
from engrams.ports.upload_storage import UploadPieceStorage


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

    @property
    def attachments(self) -> AttachmentFiles: ...
