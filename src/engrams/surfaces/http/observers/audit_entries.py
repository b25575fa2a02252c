"""Observer that writes the audit log: who did what to whose memory, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.surfaces.http.permissions import OPEN, PROXY
from engrams.surfaces.http.telemetry import ObservedRequest, Observer

if TYPE_CHECKING:
    from engrams.admin import AuditLog

_REFUSED_BY_KEY = (401, 403, 429)
"""Statuses that the key middleware notes itself, with the reason."""


def audit_observer(log: AuditLog, *, reads: bool) -> Observer:
    """Create an observer that writes the audit log.

    It notes changes and exports, with ``reads`` also reads; refusals are noted by the key
    middleware.
    """

    def observe(request: ObservedRequest) -> None:
        permission = request.permission
        if permission.right in (OPEN, PROXY) or not request.owner:
            return
        if request.status in _REFUSED_BY_KEY:
            return
        is_plain_read = permission.is_read and permission.name != "memory.export"
        if is_plain_read and not reads:
            return
        log.note(
            permission.name,
            actor=request.actor,
            owner=request.owner,
            target=request.target,
            outcome=_name_outcome(request.status),
            request=request.id,
            can_wait=is_plain_read,  # reads are many and change nothing: written together, later
        )

    return observe


def _name_outcome(status: int) -> str:
    if status < 400:
        return "done"
    return "refused" if status < 500 else "failed"
