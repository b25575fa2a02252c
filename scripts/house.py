"""Measure the house rules over the source and print them: ``python scripts/house.py``. Exit code 1 where one is broken.

``--list`` also prints every offender. The rules: docstrings open with a verb or noun, on a first line of twelve words at most; a class name
is used once; no circle of imports; few casts; short files and functions; every setting explained; no code that nothing calls.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PYTHON = ("src", "tests", "bench", "scripts", "examples")
QUESTIONS = frozenset(("what", "whether", "how", "which", "those", "that", "whatever", "whoever", "where", "who", "when", "why"))
MAX_WORDS, MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS, MAX_CASTS, MAX_TWICE = 12, 400, 60, 8, 3, 0.05


def python_files(*folders: str) -> list[Path]:
    """Every Python file below these folders of the project."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py") if not {"__pycache__", "out"} & set(path.parts))


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


@dataclass(frozen=True)
class Definition:
    """A module, class or function: its place, first docstring line, and size in lines and parameters."""

    place: str
    name: str
    kind: str
    summary: str
    lines: int = 0
    parameters: int = 0
    is_command: bool = False


@cache
def definitions(folder: str = "src") -> tuple[Definition, ...]:
    """Everything that is defined in the Python files below a folder of the project."""
    return tuple(
        describe_node(path, node)
        for path in python_files(folder)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )


def describe_node(path: Path, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Definition:
    """Describe a node of a syntax tree."""
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    if isinstance(node, ast.Module):
        return Definition(f"{path.relative_to(ROOT)}:1", path.stem, "module", summary)
    place, lines = f"{path.relative_to(ROOT)}:{node.lineno}", (node.end_lineno or node.lineno) - node.lineno + 1
    if isinstance(node, ast.ClassDef):
        return Definition(place, node.name, "class", summary, lines)
    given = [arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if arg.arg not in ("self", "cls")]
    more = sum(arg is not None for arg in (node.args.vararg, node.args.kwarg))
    # The parameters of a typer command are the command line's options, which is their place.
    command = any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "command" for one in node.decorator_list
    )
    return Definition(place, node.name, "function", summary, lines, len(given) + more, command)


def question_docstrings() -> list[str]:
    """Docstrings that open with a question word."""
    said = [one for one in definitions() if one.summary]
    return [f"{one.place} {one.summary}" for one in said if one.summary.split()[0].strip("`'\"").lower() in QUESTIONS]


def long_docstrings() -> list[str]:
    """Docstrings whose first line has more than twelve words."""
    return [f"{one.place} {one.summary}" for one in definitions() if len(one.summary.split()) > MAX_WORDS]


def class_names() -> dict[str, list[str]]:
    """Every class name of the package and the files that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in definitions():
        if one.kind == "class":
            found[one.name].append(one.place)
    return found


def repeated_classes() -> list[str]:
    """Class names that more than one class bears."""
    return [f"{name}: {', '.join(places)}" for name, places in sorted(class_names().items()) if len(places) > 1]


def imports() -> dict[str, set[str]]:
    """Each module of the package and the benches with the modules it imports, wherever in the file."""
    modules: dict[str, Path] = {}
    for base, folder in ((SOURCE, "src"), (ROOT, "bench")):
        for path in python_files(folder):
            parts = path.relative_to(base).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges: dict[str, set[str]] = {}
    for name, path in modules.items():
        edges[name] = set()
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Import):
                edges[name] |= {alias.name for alias in node.names if alias.name in modules}
            elif isinstance(node, ast.ImportFrom) and node.module in modules:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                edges[name] |= {each for each in inner if each in modules} or {node.module}
        edges[name].discard(name)
    return edges


def import_circles() -> list[str]:
    """Groups of modules that import each other (strongly connected components, after Tarjan 1972)."""
    edges, index, low, stack, found = imports(), {}, {}, [], []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(" <-> ".join(sorted(group)))

    sys.setrecursionlimit(10_000)
    for name in edges:
        if name not in index:
            visit(name)
    return found


def casts() -> list[str]:
    """Calls of ``cast`` in the package."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("src")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"
    ]


def long_files() -> list[str]:
    """Python files of the project over 400 lines."""
    counted = [(path, len(path.read_text("utf-8").splitlines())) for path in python_files(*PYTHON)]
    return [f"{path.relative_to(ROOT)}: {lines} lines" for path, lines in counted if lines > MAX_FILE]


def long_functions() -> list[str]:
    """Functions of the package over 60 lines."""
    return [f"{one.place} {one.name}: {one.lines} lines" for one in definitions() if one.kind == "function" and one.lines > MAX_FUNCTION]


def wide_functions() -> list[str]:
    """Functions of the package with more than eight parameters; a command of the command line may have them."""
    return [f"{one.place} {one.name}: {one.parameters}" for one in definitions() if one.parameters > MAX_PARAMETERS and not one.is_command]


def unexplained_settings() -> list[str]:
    """Settings without a text, or with a document's number for one."""
    from engrams.settings import describe

    return [one.name for one in describe() if len(one.text.split()) < 2 or "(00" in one.text]


def dead_code() -> list[str]:
    """Definitions that nothing in the package uses, beside the whitelist."""
    command = [sys.executable, "-m", "vulture"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Print each rule, its count and its limit."""
    classes = sum(len(places) for places in class_names().values())
    rules = [
        ("docstrings that open with a question word", question_docstrings(), 0),
        ("docstrings with a first line over 12 words", long_docstrings(), 0),
        ("class names used twice", repeated_classes(), int(MAX_TWICE * classes)),
        ("circles of imports", import_circles(), 0),
        ("calls of cast", casts(), MAX_CASTS),
        ("files over 400 lines", long_files(), 0),
        ("functions over 60 lines", long_functions(), 0),
        ("functions of more than 8 parameters", wide_functions(), 0),
        ("unexplained settings", unexplained_settings(), 0),
        ("dead code beside the whitelist", dead_code(), 0),
    ]
    for name, offenders, most in rules:
        print(f"{name:45} {len(offenders):4}  (at most {most})")
        if "--list" in arguments or len(offenders) > most:
            print(*offenders, sep="\n  ", end="\n\n")
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in python_files("src"))
    print(f"{'lines of Python in src':45} {lines:,}")
    return int(any(len(offenders) > most for _, offenders, most in rules))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
