"""Count what one call of the engine passes through: files entered, depth of calls, calls of the
store.

``python scripts/hops.py``: a table of calls on a warm engine of the default preset. Depth counts
nested calls into functions of the package; a store call is a call of a public method of the store
from outside of it. ``after add`` is the first search after a write, which also takes the new rows
into the index; ``search`` is the next one, with nothing left to take in.

``--files``: the files entered. ``--stack``: the deepest stack. ``--tree CALL``: every call,
indented by its depth. ``--json``: the table.
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
    """Files entered, nesting and store calls of one traced call.

    ``tree``: each call with its depth; ``deepest``: the first stack of the greatest depth.
    """

    files: set[str] = field(default_factory=set)
    stack: list[str] = field(default_factory=list)
    deepest: list[str] = field(default_factory=list)
    tree: list[tuple[int, str]] = field(default_factory=list)
    store: list[str] = field(default_factory=list)

    def observe(self, frame: FrameType, event: str, _: Any) -> None:
        """Profile hook: count one call or return."""
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return
        if event == "call":
            self.stack.append(
                f"{frame.f_code.co_qualname}  {Path(path).relative_to(PACKAGE)}:{frame.f_lineno}"
            )
            self.tree.append((len(self.stack), self.stack[-1]))
            if len(self.stack) > len(self.deepest):
                self.deepest = [*self.stack]
            self.files.add(path)
            name = frame.f_code.co_name
            back = frame.f_back
            inside = back is not None and back.f_code.co_filename.startswith(STORE)
            if (
                type(frame.f_locals.get("self")).__name__ == "SqliteStore"
                and not inside
                and not name.startswith("_")
            ):
                self.store.append(name)
        elif event == "return":
            self.stack.pop()


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
    """Print the table, or what an option asks for."""
    with tempfile.TemporaryDirectory() as home, engrams.open(home=home, jobs__workers=0) as memory:
        for text in (
            "I live in Paris.",
            "I work as a nurse.",
            "My sister Anna has a dog.",
            "I moved to Berlin.",
        ):
            memory.add(text, scope=SCOPE)
        memory.search("Where do I live?", scope=SCOPE)
        calls: dict[str, Callable[[], Any]] = {
            "add": lambda: memory.add("I live in Hamburg now.", scope=SCOPE),
            "after add": lambda: memory.search("Where does Anna work?", scope=SCOPE),
            "search": lambda: memory.search("Where does Anna work?", scope=SCOPE),
            "context": lambda: memory.context("Where does Anna work?", scope=SCOPE),
            "observe": lambda: memory.observe(
                engrams.Turn("I like tea.", session="s"), scope=SCOPE
            ),
        }
        rows = {name: count(call) for name, call in calls.items()}
    if "--tree" in arguments:
        print(
            *(
                "  " * (depth - 1) + text
                for depth, text in rows[arguments[arguments.index("--tree") + 1]].tree
            ),
            sep="\n",
        )
        return 0
    if "--files" in arguments or "--stack" in arguments:
        for name, row in rows.items():
            files = sorted(str(Path(path).relative_to(PACKAGE)) for path in row.files)
            print(name, *(files if "--files" in arguments else row.deepest), sep="\n  ")
        return 0
    if "--json" in arguments:
        print(
            json.dumps(
                {
                    name: {"files": len(r.files), "depth": len(r.deepest), "store_calls": r.store}
                    for name, r in rows.items()
                }
            )
        )
        return 0
    print(f"{'call':10} {'files':>5} {'depth':>5} {'store calls':>11}")
    for name, row in rows.items():
        print(
            f"{name:10} {len(row.files):5} {len(row.deepest):5} {len(row.store):11} "
            f" {' '.join(row.store)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
