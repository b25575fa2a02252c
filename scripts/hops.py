"""Count files, depth, upward calls and calls of the store in one call of the engine.

``python scripts/hops.py``: a table of calls on a warm engine of the default preset. Depth counts
nested calls into functions of the package. An upward call goes from a module into a layer above
it, as import-linter's contract has the layers: a callback was handed down. A store call is a call
of a public method of the store from outside of it. ``after add`` is the first search after a
write, which also takes the new rows into the index; ``search`` is the next one.

``--files``: the files entered. ``--stack``: the deepest stack. ``--tree CALL``: every call,
indented by its depth. ``--upward``: the upward calls. ``--json``: the table.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import engrams

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(Path(engrams.__file__).parent)
STORE = str(Path(PACKAGE) / "store")
SCOPE = ("user", "ann")


@dataclass
class CallCount:
    """Files entered, nesting, upward calls and store calls of one traced call."""

    layers: dict[str, int]
    """Name of a module or package below the root -> number of its layer, from the top."""
    files: set[str] = field(default_factory=set)
    stack: list[str] = field(default_factory=list)
    """Calls that are running, the outermost first."""
    deepest: list[str] = field(default_factory=list)
    """The first stack of the greatest depth."""
    tree: list[tuple[int, str]] = field(default_factory=list)
    """Each call with its depth."""
    upward: list[str] = field(default_factory=list)
    """Each call into a higher layer, with its caller."""
    store: list[str] = field(default_factory=list)
    """Names of the store's methods that were called."""

    def observe(self, frame: FrameType, event: str, _: Any) -> None:
        """Profile hook: count one call or return."""
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return
        if event == "call":
            caller = self.stack[-1] if self.stack else ""
            self.stack.append(
                f"{frame.f_code.co_qualname}  {Path(path).relative_to(PACKAGE)}:{frame.f_lineno}"
            )
            if caller and self._find_layer(self.stack[-1]) < self._find_layer(caller):
                self.upward.append(f"{caller} -> {self.stack[-1]}")
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

    def _find_layer(self, call: str) -> int:
        """Return the number of a call's layer, from the top."""
        top_module = call.rpartition("  ")[2].partition(":")[0].partition("/")[0]
        return self.layers[top_module.removesuffix(".py")]


def read_layers() -> dict[str, int]:
    """Number the layers of import-linter's contract, from the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return {
        name.strip("() "): number
        for number, layer in enumerate(layers)
        for name in layer.split("|")
    }


def count(call: Callable[[], Any]) -> CallCount:
    """Trace one call."""
    counted = CallCount(read_layers())
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
    if "--upward" in arguments:
        for name, row in rows.items():
            print(name, *row.upward, sep="\n  ")
        return 0
    if "--json" in arguments:
        print(
            json.dumps(
                {
                    name: {
                        "files": len(row.files),
                        "depth": len(row.deepest),
                        "upward": len(row.upward),
                        "store_calls": row.store,
                    }
                    for name, row in rows.items()
                }
            )
        )
        return 0
    print(f"{'call':10} {'files':>5} {'depth':>5} {'upward':>6} {'store calls':>11}")
    for name, row in rows.items():
        print(
            f"{name:10} {len(row.files):5} {len(row.deepest):5} {len(row.upward):6}"
            f" {len(row.store):11} "
            f" {' '.join(row.store)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
