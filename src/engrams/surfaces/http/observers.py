"""The observers of requests: charts, the audit log, the log, traces."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from engrams.ports import Clock
from engrams.surfaces.http.activity import Pulse
from engrams.surfaces.http.permissions import OPEN, PROXY
from engrams.surfaces.http.telemetry import Observer, Seen

if TYPE_CHECKING:
    from engrams.build import AuditLog


def charted(pulse: Pulse, clock: Clock) -> Observer:
    """Into the charts of the owner whose memory it was about."""

    def note(seen: Seen) -> None:
        if seen.owner:
            act = seen.act
            milliseconds = seen.seconds * 1000
            minute = int(clock().timestamp() // 60)
            pulse.note(seen.owner, minute, status=seen.status, search=act.search, write=act.right == "write", milliseconds=milliseconds)

    return note


def audited(log: AuditLog, *, reads: bool) -> Observer:
    """Into the audit log: what changes memory or takes it out, and with ``reads`` what looks at it. The gate notes refusals."""

    def note(seen: Seen) -> None:
        if seen.act.right in (OPEN, PROXY) or not seen.owner or seen.status in (401, 403, 429):
            return
        if reads or not seen.act.read or seen.act.name == "memory.export":
            outcome = "done" if seen.status < 400 else "refused" if seen.status < 500 else "failed"
            log.note(seen.act.name, actor=seen.actor, owner=seen.owner, target=seen.target, outcome=outcome, request=seen.id)

    return note


def logged(clock: Clock) -> Observer:
    """A line of JSON per request on standard error, whatever that is at the time."""

    def note(seen: Seen) -> None:
        line: dict[str, Any] = {
            "at": clock().isoformat(),
            "level": "error" if seen.status >= 500 else "info",
            "request": seen.id,
            "method": seen.method,
            "route": seen.act.path,
            "action": seen.act.name,
            "status": seen.status,
            "milliseconds": round(seen.seconds * 1000, 3),
            "actor": seen.actor,
        }
        sys.stderr.write(json.dumps(line) + "\n")

    return note
