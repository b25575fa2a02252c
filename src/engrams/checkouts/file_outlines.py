"""Definitions in a file of code: Python by its syntax tree, JSON by its keys, others by patterns.

``outline_file`` is the way in.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engrams.checkouts.language_patterns import (
    BRACE_PATTERNS,
    COMMENT_OR_STRING,
    CONFIG_PATTERNS,
    GO_PATTERNS,
    JSON_PATTERNS,
    KEYWORDS,
    SCRIPT_PATTERNS,
)

_MAX_VALUE = 400
"""Characters of a value that are kept."""
_MAX_DEFINITIONS = 20_000
_MAX_DEPTH = 60
"""Levels of JSON that are read."""

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_MAX_PARAMETERS = 2_000
"""Characters of a list of parameters that are read."""

_PYTHON = frozenset((".py", ".pyi"))
_JSON = frozenset((".json", ".jsonc", ".webmanifest"))
_CONFIG = frozenset((".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".env"))
_PROSE = frozenset((".md", ".rst", ".txt", ".adoc", ".html", ".css", ".svg", ".csv"))


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that a file defines."""

    name: str
    """Name with that of its class or object, such as ``Client.send``."""
    arguments: frozenset[str] | None = None
    """Words of its parameters; None: it takes none, because it is no function."""
    value: str = ""
    """Source of a constant's value, on one line."""

    @property
    def bare_name(self) -> str:
        """Name without that of its class or object."""
        return self.name.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class FileOutline:
    """Definitions and text of a file."""

    text: str
    """Empty: it is too large, or no text."""
    blob: str
    """Git id of its content; empty: it was not read."""
    definitions: dict[str, tuple[Definition, ...]] = field(default_factory=dict)
    """Definitions by bare name."""

    def find(self, symbol: str) -> tuple[Definition, ...]:
        """Find the definitions of a symbol, which may name its class or object as well."""
        same_name = self.definitions.get(symbol.rsplit(".", 1)[-1], ())
        if "." not in symbol:
            return same_name
        return tuple(
            definition
            for definition in same_name
            if definition.name == symbol or definition.name.endswith(f".{symbol}")
        )

    def mentions(self, symbol: str) -> bool:
        """True if the text has the symbol as a word."""
        return has_word(self.text, symbol)


def has_word(text: str, word: str) -> bool:
    """True if a text has a word that no other letter or digit continues."""
    if word not in text:
        return False
    return re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", text) is not None


def outline_file(path: str, text: str, blob: str) -> FileOutline:
    """List the definitions of a file. A text that cannot be parsed is read by patterns."""
    definitions: dict[str, list[Definition]] = {}
    for number, definition in enumerate(_list_definitions(path, text)):
        if number >= _MAX_DEFINITIONS:
            break
        same_name = definitions.setdefault(definition.bare_name, [])
        if definition not in same_name:
            same_name.append(definition)
    by_name = {name: tuple(same_name) for name, same_name in definitions.items()}
    return FileOutline(text, blob, by_name)


def _list_definitions(path: str, text: str) -> Iterator[Definition]:
    name = path.rsplit("/", 1)[-1].lower()
    extension = f".{name.rsplit('.', 1)[-1]}" if "." in name else ""
    if extension in _PYTHON:
        try:
            return iter(_outline_python(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _outline_by_patterns(text, SCRIPT_PATTERNS)
    if extension in _JSON:
        try:
            return iter(list(_outline_json(json.loads(text), "", 0)))
        except (ValueError, RecursionError):
            return _outline_by_patterns(text, JSON_PATTERNS)
    if extension in _PROSE:
        return iter(())
    if extension in _CONFIG or name.startswith((".env", "makefile", "dockerfile", "justfile")):
        return _outline_by_patterns(text, CONFIG_PATTERNS)
    if extension == ".go":
        return _outline_by_patterns(_drop_comments(text), GO_PATTERNS)
    if extension in (".rb", ".sh", ".bash", ".zsh", ".ex", ".exs", ".lua", ".sql"):
        return _outline_by_patterns(text, SCRIPT_PATTERNS)
    return _outline_by_patterns(_drop_comments(text), BRACE_PATTERNS)


# --------------------------------------------------------------------------------------------------
# Python


def _outline_python(text: str) -> Sequence[Definition]:
    with warnings.catch_warnings():
        # A foreign file's invalid escapes are no business of ours.
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    definitions: list[Definition] = []
    _visit_python(tree, "", definitions, 0)
    return definitions


def _visit_python(node: ast.AST, owner: str, definitions: list[Definition], depth: int) -> None:
    """Collect what a body defines, with the names of its classes; bodies of functions too."""
    if depth > _MAX_DEPTH:
        return
    is_inside_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{owner}.{child.name}" if owner else child.name
            arguments = None
            if not isinstance(child, ast.ClassDef):
                arguments = _list_python_arguments(child.args)
            definitions.append(Definition(name, arguments))
            _visit_python(child, name, definitions, depth + 1)
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not is_inside_function:
            definitions.extend(_read_assignment(child, owner))
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            _visit_python(child, owner, definitions, depth + 1)


def _list_python_arguments(arguments: ast.arguments) -> frozenset[str]:
    by_name = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return frozenset(argument.arg for argument in (*by_name, *starred))


def _read_assignment(node: ast.Assign | ast.AnnAssign, owner: str) -> Iterator[Definition]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    value = "" if node.value is None else _unparse(node.value)
    for target in targets:
        if isinstance(target, ast.Name):
            name = f"{owner}.{target.id}" if owner else target.id
            yield Definition(name, value=value)
        elif isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                if isinstance(item, ast.Name):
                    yield Definition(f"{owner}.{item.id}" if owner else item.id)


def _unparse(node: ast.expr) -> str:
    """Write a short value as source; one that spans many lines is no constant."""
    end_line = node.end_lineno or node.lineno
    return ast.unparse(node)[:_MAX_VALUE] if end_line - node.lineno < 6 else ""


# --------------------------------------------------------------------------------------------------
# JSON


def _outline_json(value: object, owner: str, depth: int) -> Iterator[Definition]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _outline_json(item, owner, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            name = f"{owner}.{key}" if owner else str(key)
            is_plain = isinstance(item, str | int | float | bool)
            yield Definition(name, value=str(item)[:_MAX_VALUE] if is_plain else "")
            yield from _outline_json(item, name, depth + 1)


# --------------------------------------------------------------------------------------------------
# other languages


def _drop_comments(text: str) -> str:
    """Replace comments by spaces, so that patterns find only code."""

    def blank(match: re.Match[str]) -> str:
        comment = match["comment"]
        return match[0] if comment is None else re.sub(r"[^\n]", " ", comment)

    return COMMENT_OR_STRING.sub(blank, text)


def _outline_by_patterns(text: str, patterns: Sequence[str]) -> Iterator[Definition]:
    for pattern in patterns:
        for match in re.finditer(
            pattern, text, re.MULTILINE | re.IGNORECASE if "create" in pattern else re.MULTILINE
        ):
            groups = match.groupdict()
            name = groups["name"].strip("\"' ")
            if name in KEYWORDS or not name:
                continue
            if owner := groups.get("owner"):
                name = f"{owner}.{name}"
            is_call = "open" in groups and (groups["open"] or groups.get("open2"))
            arguments = None
            if is_call:
                start = match.start("open") if groups["open"] else match.start("open2")
                arguments = _read_parameters(text, start)
            yield Definition(name, arguments, _clean_value(groups.get("value") or ""))


def _read_parameters(text: str, start: int) -> frozenset[str]:
    """Read the words between a parenthesis and the one that closes it."""
    depth = 0
    for position in range(start, min(len(text), start + _MAX_PARAMETERS)):
        char = text[position]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return frozenset(_WORD.findall(text[start:position]))
    return frozenset()


def _clean_value(value: str) -> str:
    return " ".join(value.split()).rstrip(";, ")[:_MAX_VALUE]
