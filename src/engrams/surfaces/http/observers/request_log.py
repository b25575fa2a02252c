"""Observer that logs each request as a line of JSON on standard error (``serve.log = "json"``)."""

from __future__ import annotations

import json
import sys
from typing import Any

from engrams.ports import Clock
from engrams.surfaces.http.telemetry import ObservedRequest, Observer


def log_observer(clock: Clock) -> Observer:
    """Create an observer that logs a JSON line per request to stderr.

    The line has the route, never the path or a text: these may hold what somebody said.
    """

    def observe(request: ObservedRequest) -> None:
        line: dict[str, Any] = {
            "at": clock().isoformat(),
            "level": "error" if request.status >= 500 else "info",
            "request": request.id,
            "method": request.method,
            "route": request.permission.path,
            "action": request.permission.name,
            "status": request.status,
            "milliseconds": round(request.seconds * 1000, 3),
            "actor": request.actor,
        }
        sys.stderr.write(json.dumps(line) + "\n")

    return observe
