"""Measure how the code reads and check the house rules: ``python scripts/house.py``.

Prints six figures of the text of ``src`` with their goals, the rules with their offenders, and the
ten longest files and functions, which a person judges. Exit code 1: a figure is worse than its
goal, a rule is broken, or the ratchet in ``scripts/house.toml`` does not hold the current count of
vague bindings. ``--list`` prints every offender, ``--lower`` writes a smaller count to the ratchet.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PYTHON = ("src", "tests", "bench", "scripts", "examples")
RATCHET = ROOT / "scripts" / "house.toml"
QUESTIONS = frozenset(
    "what whether how which those that whatever whoever where who when why".split()
)
VAGUE = frozenset(
    """
    found one place known held each told said asked kept given some what which whose seen heard
    taken made done here there these those this that other others thing things something it they
    them both all any rest more most least spoken written read_ left gone new_ old_ named called
    """.split()
)
"""Pronouns and participles: as names they do not say what a value is."""
MAX_CASTS = 3
MAX_SHARE_OF_REPEATED_CLASSES = 0.05
LISTED = 10


@dataclass(frozen=True)
class Figure:
    """One measured property of the text of the code.

    ``goal``: the largest value that passes. ``anchors``: values of the model codebases.
    ``offenders``: places as ``path:line``, longest list first.
    """

    name: str
    value: float
    goal: float
    anchors: str
    offenders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Definition:
    """A module, class or function of the project.

    ``location``: ``path:line``. ``summary``: the docstring's first line. ``lines``: its length.
    """

    location: str
    name: str
    kind: str
    summary: str
    lines: int = 0


# --------------------------------------------------------------------------------------------------
# files and definitions


def python_files(*folders: str) -> list[Path]:
    """Every Python file below these folders of the project."""
    skipped = {"__pycache__", "out"}
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not skipped & set(path.parts)
    )


@cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree."""
    return tuple(ast.walk(parse(path)))


@cache
def definitions(folder: str = "src") -> tuple[Definition, ...]:
    """Everything that is defined in the Python files below a folder of the project."""
    return tuple(
        describe_node(path, node)
        for path in python_files(folder)
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )


def describe_node(
    path: Path, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Definition:
    """Describe a node of a syntax tree."""
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    if isinstance(node, ast.Module):
        return Definition(f"{path.relative_to(ROOT)}:1", path.stem, "module", summary)
    location = f"{path.relative_to(ROOT)}:{node.lineno}"
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    return Definition(location, node.name, kind, summary, lines)


# --------------------------------------------------------------------------------------------------
# figures


@cache
def measure() -> tuple[Figure, ...]:
    """The six figures of the text of the package."""
    statements = bindings = lines = 0
    folded: list[str] = []
    vague: list[str] = []
    ternaries: list[str] = []
    nested: list[str] = []
    squashed: list[str] = []
    long_lines: list[str] = []
    for path in python_files("src"):
        where = str(path.relative_to(ROOT))
        text = path.read_text("utf-8").splitlines()
        lines += len(text)
        long_lines += [
            f"{where}:{number}" for number, line in enumerate(text, 1) if len(line) > 100
        ]
        if re.fullmatch(r"[a-z]{12,}", path.stem):
            squashed.append(where)
        for node in nodes(path):
            statements += isinstance(node, ast.stmt)
            if _is_folded(node):
                folded.append(f"{where}:{node.lineno}")
            if _is_bare_ternary(node):
                ternaries.append(f"{where}:{node.lineno}")
            if isinstance(node, ast.IfExp) and _holds_ternary(node):
                nested.append(f"{where}:{node.lineno}")
            for name, line in _bound_names(node):
                bindings += 1
                if name.strip("_") in VAGUE:
                    vague.append(f"{where}:{line} {name}")
    return (
        Figure(
            "folded assignments per 1,000 statements",
            1000 * len(folded) / statements,
            1.5,
            "0-1.5",
            tuple(folded),
        ),
        Figure("vague bindings, %", 100 * len(vague) / bindings, 1.5, "0-0.7", tuple(vague)),
        Figure("file names of squashed words", len(squashed), 8, "0-6", tuple(squashed)),
        Figure(
            "lines over 100 columns, %",
            100 * len(long_lines) / lines,
            1.0,
            "0-1.7",
            tuple(long_lines),
        ),
        Figure("ternaries as statement or callee", len(ternaries), 3, "0-2", tuple(ternaries)),
        Figure("nested ternaries", len(nested), 12, "six together 19", tuple(nested)),
    )


def _is_folded(node: ast.AST) -> bool:
    """True for an assignment of several calls or expressions to several names."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and any(not isinstance(value, ast.Name | ast.Constant) for value in node.value.elts)
    )


def _is_bare_ternary(node: ast.AST) -> bool:
    """True for a conditional expression that is a statement, or that is called."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.IfExp)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.IfExp)


def _holds_ternary(node: ast.IfExp) -> bool:
    """True for a conditional expression with another one inside."""
    parts = (node.test, node.body, node.orelse)
    return any(isinstance(inner, ast.IfExp) for part in parts for inner in ast.walk(part))


def _bound_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that a node binds, with their lines."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    elif isinstance(node, ast.arg):
        name = node.arg
    else:
        return
    if name not in ("self", "cls", "_") and not name.startswith("__"):
        yield name, node.lineno


def count_vague() -> int:
    """Vague bindings of the package."""
    return len(next(figure for figure in measure() if figure.name.startswith("vague")).offenders)


def read_ratchet() -> int:
    """The number of vague bindings that the package may have."""
    return int(tomllib.loads(RATCHET.read_text("utf-8"))["vague_bindings"])


# --------------------------------------------------------------------------------------------------
# rules


def question_docstrings() -> list[str]:
    """Docstrings that open with a question word."""
    return [
        f"{item.location} {item.summary}"
        for item in definitions()
        if item.summary and item.summary.split()[0].strip("`'\"").lower() in QUESTIONS
    ]


def class_names() -> dict[str, list[str]]:
    """Every class name of the package and the files that define it."""
    locations: dict[str, list[str]] = defaultdict(list)
    for item in definitions():
        if item.kind == "class":
            locations[item.name].append(item.location)
    return locations


def repeated_classes() -> list[str]:
    """Class names that more than one class bears."""
    return [
        f"{name}: {', '.join(locations)}"
        for name, locations in sorted(class_names().items())
        if len(locations) > 1
    ]


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
        for node in nodes(path):
            if isinstance(node, ast.Import):
                edges[name] |= {alias.name for alias in node.names if alias.name in modules}
            elif isinstance(node, ast.ImportFrom) and node.module in modules:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                edges[name] |= {module for module in inner if module in modules} or {node.module}
        edges[name].discard(name)
    return edges


def import_circles() -> list[str]:
    """Groups of modules that import each other (strongly connected components, Tarjan 1972)."""
    edges = imports()
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[str] = []

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
                circles.append(" <-> ".join(sorted(group)))

    sys.setrecursionlimit(10_000)
    for name in edges:
        if name not in index:
            visit(name)
    return circles


def casts() -> list[str]:
    """Calls of ``cast`` in the package."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("src")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"
    ]


def late_constants() -> list[str]:
    """Constants behind the first function or class, though all they use stands before it."""
    return [
        f"{path.relative_to(ROOT)}:{statement.lineno} {name}"
        for path in python_files("src")
        for statement, name in _find_late_constants(parse(path))
    ]


def _find_late_constants(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Simple assignments behind the first definition that need nothing defined after it starts."""
    code = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    first = next((index for index, node in enumerate(tree.body) if isinstance(node, code)), None)
    if first is None:
        return
    for statement in tree.body[first:]:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            is_literal = all(
                isinstance(
                    node, ast.Constant | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.Load
                )
                for node in ast.walk(statement.value)
            )
            if isinstance(target, ast.Name) and is_literal:
                yield statement, target.id


def unexplained_settings() -> list[str]:
    """Settings without a text, or with a document's number for one."""
    from engrams.settings import describe

    return [
        setting.name
        for setting in describe()
        if len(setting.text.split()) < 2 or "(00" in setting.text
    ]


def count_statements() -> int:
    """Statements of the package."""
    return sum(isinstance(node, ast.stmt) for path in python_files("src") for node in nodes(path))


def longest_files() -> list[str]:
    """The longest Python files of the package, for a person to judge."""
    counted = [(len(path.read_text("utf-8").splitlines()), path) for path in python_files("src")]
    return [
        f"{lines:5} lines  {path.relative_to(ROOT)}"
        for lines, path in sorted(counted, reverse=True)[:LISTED]
    ]


def longest_functions() -> list[str]:
    """The longest functions of the package, for a person to judge."""
    functions = [item for item in definitions() if item.kind == "function"]
    functions.sort(key=lambda item: -item.lines)
    return [f"{item.lines:5} lines  {item.location} {item.name}" for item in functions[:LISTED]]


# --------------------------------------------------------------------------------------------------
# the report


def print_figures(*, listed: bool) -> bool:
    """Print the figures; True: one is worse than its goal."""
    is_worse = False
    for figure in measure():
        failed = figure.value > figure.goal
        is_worse |= failed
        mark = "FAIL" if failed else "ok  "
        print(
            f"{mark} {figure.name:42} {figure.value:6.1f}"
            f"  (at most {figure.goal}; model codebases: {figure.anchors})"
        )
        if listed:
            print(*figure.offenders, sep="\n       ")
    return is_worse


def print_rules(*, listed: bool) -> bool:
    """Print the rules with their offenders; True: one is broken."""
    classes = sum(len(locations) for locations in class_names().values())
    rules = [
        ("docstrings that open with a question word", question_docstrings(), 0),
        (
            "class names used twice",
            repeated_classes(),
            int(MAX_SHARE_OF_REPEATED_CLASSES * classes),
        ),
        ("circles of imports", import_circles(), 0),
        ("calls of cast", casts(), MAX_CASTS),
        ("literal constants behind code", late_constants(), 0),
        ("unexplained settings", unexplained_settings(), 0),
    ]
    is_broken = False
    for name, offenders, most in rules:
        failed = len(offenders) > most
        is_broken |= failed
        print(f"{'FAIL' if failed else 'ok  '} {name:42} {len(offenders):4}    (at most {most})")
        if listed or failed:
            print(*offenders, sep="\n       ")
    return is_broken


def check_ratchet(*, lower: bool) -> bool:
    """Compare vague bindings with the ratchet, which only falls; True: it does not hold."""
    count = count_vague()
    allowed = read_ratchet()
    if lower and count < allowed:
        RATCHET.write_text(f"vague_bindings = {count}\n", "utf-8")
        allowed = count
    if count > allowed:
        print(f"FAIL {count} vague bindings, {allowed} before: name what each value is.")
    elif count < allowed:
        print(
            f"     {count} vague bindings, {allowed} before: a maintainer keeps it so by scripts/house.py --lower."
        )
    return count > allowed


def main(arguments: list[str]) -> int:
    """Print the report; the exit code."""
    listed = "--list" in arguments
    failed = print_figures(listed=listed)
    failed |= print_rules(listed=listed)
    failed |= check_ratchet(lower="--lower" in arguments)
    print("\nlongest files", *longest_files(), sep="\n  ")
    print("\nlongest functions", *longest_functions(), sep="\n  ")
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in python_files("src"))
    print(f"\n{lines:,} lines of Python in src, {count_statements():,} statements")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
