"""Lines about background work, on standard error."""

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
        section = engine.settings.serve
        self._engine = engine
        self._seconds = section.backlog_seconds
        self._json = section.log == "json"
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
        working = False
        first = True
        away = False
        while not self._stop.wait(0.0 if first else self._seconds):
            try:
                state = self._engine.status()
            except ClosedError:
                return
            except EngramsError as problem:
                # Once for each outage: its own line comes when it is over.
                if not away:
                    self._write(
                        {"problem": problem.message},
                        f"background work cannot be read: {problem.message}",
                    )
                away = True
                first = False
                continue
            rests = first and bool(state["upkeep"]["waiting"] or state["dead"])
            if state["due"] or working or rests or away:
                self._tell(state)
            working = bool(state["due"])
            first = False
            away = False

    def _tell(self, state: Mapping[str, Any]) -> None:
        upkeep = state["upkeep"]
        names = ("due", "lag_seconds", "queue_seconds")
        told = {
            **{name: state[name] for name in names},
            "upkeep": upkeep["waiting"],
            "failed": len(state["dead"]),
        }
        self._write(told, describe_backlog(state))

    def _write(self, told: Mapping[str, Any], text: str) -> None:
        sys.stderr.write(f"{json.dumps({'event': 'backlog', **told}) if self._json else text}\n")
        sys.stderr.flush()


def describe_backlog(state: Mapping[str, Any]) -> str:
    """Describe background work in one line, without any text of memory."""
    jobs = ", ".join(f"{kind} {number}" for kind, number in state["due"].items())
    parts = [
        (
            f"background work: {jobs}, oldest {state['lag_seconds']:,.0f} s"
            if jobs
            else "background work: done"
        )
    ]
    parts += [
        f"now {job['doing']}, attempt {job['attempt']}, {job['age_seconds']:,.0f} s old"
        for job in state["active"][:3]
    ]
    if state["due"] and state["pace"]["answers"]:
        parts.append(
            f"the model takes {state['pace']['median_seconds']:,.1f} s an answer, about"
            f" {state['queue_seconds']:,.0f} s are left"
        )
    upkeep = state["upkeep"]
    if upkeep["waiting"]:
        until = f" until {upkeep['until']:%Y-%m-%d %H:%M} UTC" if upkeep["until"] else ""
        parts.append(f"upkeep waits{until} ({upkeep['reason']})")
    if state["dead"]:
        parts.append(f"{len(state['dead'])} failed, `engrams status` shows them")
    return "; ".join(parts)
