"""Lines about background work, on standard error.

`BacklogReporter` writes them while a server runs; `describe_backlog` words one.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from engrams.engine import MemoryEngine
from engrams.errors import ClosedError, EngramsError


class BacklogReporter:
    """Reporter of background work: at the start and while there is some."""

    def __init__(self, engine: MemoryEngine) -> None:
        serve = engine.settings.serve
        self._engine = engine
        self._seconds = serve.backlog_seconds
        self._as_json = serve.log == "json"
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Report inside this block, from a thread of its own."""
        thread = threading.Thread(target=self._run, name="engrams-backlog", daemon=True)
        if self._seconds:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            if self._seconds:
                thread.join()

    def _run(self) -> None:
        was_working = False
        is_first = True
        is_unreadable = False
        while not self._stop.wait(0.0 if is_first else self._seconds):
            try:
                state = self._engine.status()
            except ClosedError:
                return
            except EngramsError as error:
                # Once for each outage: its own line comes when it is over.
                if not is_unreadable:
                    text = f"background work cannot be read: {error.message}"
                    self._write({"problem": error.message}, text)
                is_unreadable = True
                is_first = False
                continue
            has_leftovers = is_first and bool(state["upkeep"]["waiting"] or state["dead"])
            if state["due"] or was_working or has_leftovers or is_unreadable:
                self._report(state)
            was_working = bool(state["due"])
            is_first = False
            is_unreadable = False

    def _report(self, state: Mapping[str, Any]) -> None:
        fields = {
            "due": state["due"],
            "lag_seconds": state["lag_seconds"],
            "queue_seconds": state["queue_seconds"],
            "upkeep": state["upkeep"]["waiting"],
            "failed": len(state["dead"]),
        }
        self._write(fields, describe_backlog(state))

    def _write(self, fields: Mapping[str, Any], text: str) -> None:
        line = json.dumps({"event": "backlog", **fields}) if self._as_json else text
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def describe_backlog(state: Mapping[str, Any]) -> str:
    """Describe background work in one line, without any text of memory."""
    jobs = ", ".join(f"{kind} {count}" for kind, count in state["due"].items())
    clauses = (
        [f"background work: {jobs}, oldest {state['lag_seconds']:,.0f} s"]
        if jobs
        else ["background work: done"]
    )
    clauses += [
        f"now {job['doing']}, attempt {job['attempt']}, {job['age_seconds']:,.0f} s old"
        for job in state["active"][:3]
    ]
    if state["due"] and state["pace"]["answers"]:
        clauses.append(
            f"the model takes {state['pace']['median_seconds']:,.1f} s an answer, about"
            f" {state['queue_seconds']:,.0f} s are left"
        )
    upkeep = state["upkeep"]
    if upkeep["waiting"]:
        until = f" until {upkeep['until']:%Y-%m-%d %H:%M} UTC" if upkeep["until"] else ""
        clauses.append(f"upkeep waits{until} ({upkeep['reason']})")
    if state["dead"]:
        clauses.append(f"{len(state['dead'])} failed, `engrams status` shows them")
    return "; ".join(clauses)
