"""Threads that load late parts of the program at the same time.

Importing ``package.part`` takes the lock of the part, then that of the package. A package that imports
the same part takes them the other way round. Python breaks such a deadlock by letting one thread see
half of a module.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
RACE = """
import importlib.abc, sys, threading
import engrams.composition

class Slow(importlib.abc.MetaPathFinder):
    "Lets the other thread begin while this one is inside the package."
    def find_spec(self, name, path, target=None):
        if name == "engrams.extract.rules.rule_extraction" and not begun.is_set():
            begun.set()
            other.join(0.5)

def load(name):
    try:
        __import__(name)
    except ImportError as problem:
        print(problem)

begun = threading.Event()
sys.meta_path.insert(0, Slow())
other = threading.Thread(
    target=lambda: (begun.wait(30), load("engrams.write.change_detection.detector"))
)
other.start()
load("engrams.write.digest")
other.join()
"""


def run(program: str) -> str:
    """Run a program in a process of its own; return what it prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def name_modules() -> dict[str, Path]:
    """Each module of the package with its file."""
    modules = {}
    for path in (SOURCE / "engrams").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def list_imports(path: Path) -> set[str]:
    """The modules that a file imports from while it is loaded."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}


def test_a_write_and_a_job_load_the_rules_at_the_same_time() -> None:
    """The first message of a process, and its first job beside it, both find whole modules."""
    assert run(RACE) == ""


def test_a_late_package_is_entered_one_way() -> None:
    """A package that is not loaded at the start, and imports its parts, is imported by its name from
    outside, never by one of these parts.
    """
    loaded = set(run("import sys, engrams.composition; print(*sys.modules)").split())
    modules = name_modules()
    imports = {name: list_imports(path) for name, path in modules.items()}
    offenders = []
    for package, path in modules.items():
        own_parts = {name for name in imports[package] if name.startswith(f"{package}.")}
        if path.name != "__init__.py" or package in loaded:
            continue
        reached: set[str] = set()
        while own_parts:
            part = own_parts.pop()
            reached.add(part)
            own_parts |= imports.get(part, set()) - reached
        offenders += [
            f"{name} imports from {part}: import from {package}"
            for name in modules
            for part in imports[name] & reached
            if part.startswith(f"{package}.") and not name.startswith(package)
        ]
    assert offenders == []
