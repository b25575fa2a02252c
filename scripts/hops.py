"""Count what one call of the engine passes through: files entered, depth of calls, calls of the store.

``python scripts/hops.py``: a table of four calls on a warm engine of the default preset. Depth counts nested calls into functions of
the package; a store call is a call of a public method of the store from outside of it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import engrams

PACKAGE = str(Path(engrams.__file__).parent)
STORE = str(Path(PACKAGE) / "store")
SCOPE = ("user", "ann")


@dataclass
class CallCount:
    """Files entered, deepest nesting and store calls of one traced call."""

    files: set[str] = field(default_factory=set)
    depth: int = 0
    deepest: int = 0
    store: list[str] = field(default_factory=list)

    def observe(self, frame: FrameType, event: str, _: Any) -> None:
        """Profile hook: count one call or return."""
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return
        if event == "call":
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            self.files.add(path)
            name, back = frame.f_code.co_name, frame.f_back
            inside = back is not None and back.f_code.co_filename.startswith(STORE)
            if type(frame.f_locals.get("self")).__name__ == "SqliteStore" and not inside and not name.startswith("_"):
                self.store.append(name)
        elif event == "return":
            self.depth -= 1


def count(call: Callable[[], Any]) -> CallCount:
    """Trace one call."""
    counted = CallCount()
    sys.setprofile(counted.observe)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counted


def main(arguments: list[str]) -> int:
    """Print the table; ``--json`` for programs, ``--files`` the files entered."""
    with tempfile.TemporaryDirectory() as home, engrams.open(home=home, jobs__workers=0) as memory:
        for text in ("I live in Paris.", "I work as a nurse.", "My sister Anna has a dog.", "I moved to Berlin."):
            memory.add(text, scope=SCOPE)
        memory.search("Where do I live?", scope=SCOPE)
        calls: dict[str, Callable[[], Any]] = {
            "add": lambda: memory.add("I live in Hamburg now.", scope=SCOPE),
            "search": lambda: memory.search("Where does Anna work?", scope=SCOPE),
            "context": lambda: memory.context("Where does Anna work?", scope=SCOPE),
            "observe": lambda: memory.observe(engrams.Turn("I like tea.", session="s"), scope=SCOPE),
        }
        rows = {name: count(call) for name, call in calls.items()}
    if "--files" in arguments:
        for name, row in rows.items():
            print(name, *sorted(str(Path(path).relative_to(PACKAGE)) for path in row.files), sep="\n  ")
        return 0
    if "--json" in arguments:
        print(json.dumps({name: {"files": len(r.files), "depth": r.deepest, "store_calls": r.store} for name, r in rows.items()}))
        return 0
    print(f"{'call':8} {'files':>5} {'depth':>5} {'store calls':>11}")
    for name, row in rows.items():
        print(f"{name:8} {len(row.files):5} {row.deepest:5} {len(row.store):11}  {' '.join(row.store)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
