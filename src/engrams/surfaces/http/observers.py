"""Observers of requests: charts, audit log and request log."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from engrams.ports import Clock
from engrams.surfaces.http.activity import ActivityChart
from engrams.surfaces.http.permissions import OPEN, PROXY
from engrams.surfaces.http.telemetry import ObservedRequest, Observer

if TYPE_CHECKING:
    from engrams.build import AuditLog


def chart_observer(chart: ActivityChart, clock: Clock) -> Observer:
    """Create an observer that fills the owner's activity chart."""

    def note(seen: ObservedRequest) -> None:
        if seen.owner:
            act = seen.permission
            milliseconds = seen.seconds * 1000
            minute = int(clock().timestamp() // 60)
            chart.record(
                seen.owner, minute, status=seen.status, search=act.is_search, write=act.right == "write", milliseconds=milliseconds
            )

    return note


def audit_observer(log: AuditLog, *, reads: bool) -> Observer:
    """Create an observer that writes the audit log.

    It notes changes and exports, with ``reads`` also reads; refusals are noted by the key middleware.
    """

    def note(seen: ObservedRequest) -> None:
        if seen.permission.right in (OPEN, PROXY) or not seen.owner or seen.status in (401, 403, 429):
            return
        if reads or not seen.permission.is_read or seen.permission.name == "memory.export":
            outcome = "done" if seen.status < 400 else "refused" if seen.status < 500 else "failed"
            log.note(seen.permission.name, actor=seen.actor, owner=seen.owner, target=seen.target, outcome=outcome, request=seen.id)

    return note


def log_observer(clock: Clock) -> Observer:
    """Create an observer that logs a JSON line per request to stderr."""

    def note(seen: ObservedRequest) -> None:
        line: dict[str, Any] = {
            "at": clock().isoformat(),
            "level": "error" if seen.status >= 500 else "info",
            "request": seen.id,
            "method": seen.method,
            "route": seen.permission.path,
            "action": seen.permission.name,
            "status": seen.status,
            "milliseconds": round(seen.seconds * 1000, 3),
            "actor": seen.actor,
        }
        sys.stderr.write(json.dumps(line) + "\n")

    return note
