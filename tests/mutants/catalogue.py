"""Breaks of promises as data: which sentence becomes untrue, which code is changed, which test must
then fail. Enter by ``load`` and ``Mutant.apply``.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

PAGES = ("cache", "engine", "proxy", "graph", "layers")
"""One file for each of the five documents, in the order of their numbers."""


class AnchorError(Exception):
    """The code that a mutant changes is not there, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """One small break of the code that makes one promise untrue."""

    item: str
    """The number of the promise, for example ``S2.27``."""
    untrue: str
    """One line that says what is no longer so."""
    at: str
    """``package.module:Class.method``, a function, class or constant of a module by its qualified
    name; or the path of a data file below ``src``."""
    old: str
    """Text that stands exactly once in the source of ``at``."""
    new: str
    """The text that takes its place."""
    test: str
    """Node id of the acceptance test that must fail then."""
    error: str = ""
    """Class of the error by which the test fails, where the broken code raises the promised error
    through it; empty where an assertion of the test fails."""

    @property
    def key(self) -> str:
        """Short name of the mutant, the same as long as nothing of it changes."""
        text = "\0".join((self.item, self.at, self.old, self.new, self.test, self.error))
        return f"{self.item}-{blake2b(text.encode(), digest_size=3).hexdigest()}"

    @property
    def module(self) -> str:
        """Dotted name of the changed module; empty for a data file."""
        return self.at.partition(":")[0] if ":" in self.at else ""

    @property
    def path(self) -> Path:
        """The changed file, relative to the root of the tree."""
        if not self.module:
            return Path("src", self.at)
        return Path("src", *self.module.split(".")).with_suffix(".py")

    def file(self, root: Path) -> Path:
        """The changed file in the tree at ``root``; a package's code is in its ``__init__``."""
        plain = root / self.path
        package = plain.with_suffix("") / "__init__.py"
        return package if self.module and not plain.exists() and package.exists() else plain

    def apply(self, root: Path) -> str:
        """Return the whole text of the changed file.

        AnchorError where the anchor does not match exactly once or the result does not compile.
        """
        file = self.file(root)
        if not file.exists():
            raise AnchorError(f"{self.key}: there is no file {file.relative_to(root)}")
        source = file.read_text("utf-8")
        start, end = self._span(source)
        body = source[start:end]
        old, new = _fit_indent(self.old, self.new, body)
        if (matches := body.count(old)) != 1:
            raise AnchorError(
                f"{self.key}: the old text stands {matches} times in {self.at}. Where the code was"
                f" changed, mend `at`, `old` and `new` of {self.item} in tests/mutants/*.toml."
            )
        changed = source[:start] + body.replace(old, new) + source[end:]
        if self.module:
            try:
                compile(changed, str(file), "exec")
            except SyntaxError as error:
                raise AnchorError(f"{self.key}: the change does not compile: {error}") from error
        return changed

    def _span(self, source: str) -> tuple[int, int]:
        """Offsets of the anchored code in its file."""
        name = self.at.partition(":")[2]
        if not self.module or not name:
            return 0, len(source)
        node: ast.AST = ast.parse(source)
        for part in name.split("."):
            node = self._child(node, part)
        assert isinstance(node, ast.stmt)
        assert node.end_lineno is not None
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        lines = source.splitlines(keepends=True)
        return sum(map(len, lines[: first - 1])), sum(map(len, lines[: node.end_lineno]))

    def _child(self, parent: ast.AST, name: str) -> ast.AST:
        matches = [node for node in getattr(parent, "body", []) if name in _bound_names(node)]
        if len(matches) != 1:
            raise AnchorError(f"{self.key}: {name!r} of {self.at} is bound {len(matches)} times")
        return matches[0]


def load(folder: Path) -> list[Mutant]:
    """Read all mutants of the five files, in their order."""
    mutants = []
    for page in PAGES:
        file = folder / f"{page}.toml"
        text = file.read_text("utf-8") if file.exists() else ""
        mutants += [Mutant(**row) for row in tomllib.loads(text).get("mutant", [])]
    return mutants


def _bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _fit_indent(old: str, new: str, body: str) -> tuple[str, str]:
    """Indent several lines as they stand in the code, so that the file of mutants need not."""
    old, new = old.strip("\n"), new.strip("\n")
    if "\n" not in old or old in body:
        return old, new
    for depth in (4, 8, 12, 16, 20, 24):
        indented = textwrap.indent(old, " " * depth)
        if indented in body:
            return indented, textwrap.indent(new, " " * depth)
    return old, new
