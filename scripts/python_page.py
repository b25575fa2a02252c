"""The page docs/reference/python.md:
signatures, docstrings and fields from the code, between the texts of templates/python.md.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

from engine_parts import find_maker, find_type

import engrams
from engrams import adapters, core, errors, ports, settings, types
from engrams.engine import MemoryEngine, async_engine
from engrams.store.sql import row_conversion, where_clauses
from engrams.transfer.imports.importer import ImportCounts

TEMPLATE = Path(__file__).parent / "templates" / "python.md"
WIDTH = 120

METHODS = {
    "Store": ("add", "observe", "write_turns", "load", "add_document", "flush"),
    "Change and erase": (
        "edit",
        "forget",
        "restore",
        "check_storable",
        "find_secrets",
        "redact_secrets",
        "quarantine",
        "let_in",
        "purge",
        "purge_all",
        "find_about",
        "preview",
        "move_scope",
    ),
    "Search": ("search", "explain", "context", "deliver", "format_for_injection", "used"),
    "Look up": ("get", "list", "history", "scopes", "stats", "dump"),
    "Talk": ("chat", "manage"),
    "Background work": ("status", "retry", "drain", "dream", "check", "close"),
}
"""Headings of the page, with the methods of the engine under each."""
OPERATORS = {
    "eq": "equal to `value`; of a list, the whole list",
    "ne": "not equal to `value`",
    "in": "one of the values in the list `value`; of a list field, any item of it",
    "nin": "none of the values in the list `value`",
    "gt": "greater, or later, than `value`",
    "gte": "greater than, or later, or equal",
    "lt": "less, or earlier, than `value`",
    "lte": "less than, or earlier, or equal",
    "contains": (
        "a text that holds the text `value` (upper and lower case differ), or a list that holds"
        " `value` or all of its items"
    ),
    "exists": "`True`: the field has a value; `False`: it is empty or missing",
}
"""Every operator of a condition; one that is missing here stops the generator."""

TYPES = (
    *(
        core.Turn,
        core.Scope,
        core.Record,
        core.Kind,
        core.Layer,
        core.Tier,
        core.Status,
        core.Evidence,
        core.Provenance,
    ),
    *(
        core.Receipt,
        core.DerivedMemory,
        core.StageDecision,
        core.ModelCost,
        core.SearchResult,
        core.Hit,
        core.Trace,
        core.SearchTraceRow,
        core.Context,
    ),
    *(
        ports.RecordPage,
        ports.AsOf,
        ports.Where,
        ports.Condition,
        core.HistoryEntry,
        ports.PurgeReport,
        ImportCounts,
    ),
)


def python_page() -> str:
    """Fill the template."""
    parts: Mapping[str, Callable[[], str]] = {
        "package": _package,
        "adapters": _adapters,
        "open": lambda: _callable("engrams.open", engrams.open),
        "settings": _settings,
        "engine": lambda: _prose(MemoryEngine),
        "methods": _methods,
        "components": _components,
        "async_parts": _async_parts,
        "async": lambda: _prose(async_engine.AsyncMemoryEngine),
        "operators": _operators,
        "fields": _fields,
        "conditions": lambda: str(where_clauses._MAX_CONDITIONS),  # noqa: SLF001
        "depth": lambda: str(where_clauses._MAX_DEPTH),  # noqa: SLF001
        "query": _query,
        "types": lambda: "\n\n".join(_type(item) for item in TYPES),
        "errors": _errors,
    }
    return re.sub(r"@@(\w+)@@", lambda found: parts[found[1]](), TEMPLATE.read_text("utf-8"))


# --------------------------------------------------------------------------------------------------
# sections


def _adapters() -> str:
    """Name the adapters of agent frameworks."""
    return ", ".join(f"`{name}`" for name in sorted(adapters._MODULES))  # noqa: SLF001


def _package() -> str:
    rows_of = []
    for name in engrams.__all__:
        value = getattr(engrams, name)
        text = "Version of the package." if name == "__version__" else _first_sentence(value)
        rows_of.append((f"`engrams.{name}`", text))
    return _table(("name", "is"), rows_of)


def _settings() -> str:
    named = ("load", "describe", "names", "presets")
    return (
        "\n\n".join(_callable(f"settings.{name}", getattr(settings, name)) for name in named)
        + "\n\n"
        + _prose(settings.LoadedSettings)
    )


def _methods() -> str:
    """Every public method of the engine, by what it is for."""
    public = [
        name
        for name, value in vars(MemoryEngine).items()
        if not name.startswith("_") and inspect.isfunction(value) and name != "now"
    ]
    _expect(
        sorted(public) == sorted(name for names in METHODS.values() for name in names),
        "METHODS must name every public method of the engine once",
    )
    parts = []
    for title, names in METHODS.items():
        parts.append(f"### {title}")
        parts += [f"#### `{name}`\n\n{_callable(name, vars(MemoryEngine)[name])}" for name in names]
    return "\n\n".join(parts)


def _components() -> str:
    """Every component of the engine with its own methods."""
    sections = []
    for name, value in vars(MemoryEngine).items():
        maker = find_maker(value)
        if name.startswith("_") or maker is None:
            continue
        annotation = str(inspect.signature(maker).return_annotation)
        sections.append(f"#### `engine.{name}`\n\n`{annotation}`. {_prose(maker)}")
        part = find_type(maker)
        if part is not ports.Store:
            sections.append(_method_table(part))
    sections.append(f"#### `engine.now`\n\n{_callable('now', MemoryEngine.now)}")
    return "\n\n".join(section for section in sections if section)


def _async_parts() -> str:
    """Name the components that have coroutines."""
    names = [
        name
        for name, value in vars(async_engine.AsyncMemoryEngine).items()
        if isinstance(value, cached_property)
    ]
    return ", ".join(f"`{name}`" for name in names)


def _operators() -> str:
    known = get_args(get_type_hints(ports.Condition)["op"])
    _expect(set(OPERATORS) == set(known), "OPERATORS must name every operator of a condition")
    return _table(
        ("operator", "holds where the field is"), [(f"`{name}`", OPERATORS[name]) for name in known]
    )


def _fields() -> str:
    groups = {
        "text": (*row_conversion.TEXTS, *row_conversion.LONG_TEXTS, *row_conversion.ENUMS, "scope"),
        "number": (*row_conversion.REALS, *row_conversion.WHOLES),
        "time (a `datetime`, or ISO 8601)": row_conversion.TIMES,
        "list of texts": row_conversion.LISTS,
        "JSON": ("meta.NAME", "provenance.NAME"),
    }
    return "\n".join(
        f"| {kind} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for kind, names in groups.items()
    )


def _query() -> str:
    fields = [field for field in dataclasses.fields(ports.RecordQuery) if field.name != "reach"]
    meanings = field_docs(ports.RecordQuery)
    _expect(
        {field.name for field in fields} == set(meanings),
        "every field of RecordQuery but its reach must have a docstring",
    )
    table = [
        (
            f"`{field.name}`",
            f"`{_short(str(field.type))}`",
            _default(field),
            meanings[field.name],
        )
        for field in fields
    ]
    return _table(("field", "type", "default", "meaning"), table)


def _errors() -> str:
    found = []
    for value in vars(errors).values():
        if inspect.isclass(value) and issubclass(value, errors.EngramsError):
            bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
            found.append(
                (
                    f"`{value.__name__}`",
                    bases,
                    _first_sentence(value),
                    value.hint or "set where it is raised",
                )
            )
    extra = inspect.getdoc(errors.ModelError.__init__)
    return (
        _table(("class", "is a", "says", "hint"))
        + _rows(found)
        + f"\n\n`ModelError` also has: {_markdown(str(extra))}"
    )


def _type(item: type) -> str:
    """One type: docstring, values or fields, methods."""
    parts = [
        f"### {item.__name__}",
        f"`from {_home(item)} import {item.__name__}`. {_prose(item)}".strip(),
    ]
    meanings = field_docs(item)
    if issubclass(item, Enum):
        if meanings:
            table = [(f"`{member.value}`", meanings.get(member.name, "")) for member in item]
            parts.append(_table(("value", "meaning"), table))
        else:
            parts.append("Values: " + ", ".join(f"`{member.value}`" for member in item) + ".")
    elif dataclasses.is_dataclass(item):
        table = [
            (
                f"`{field.name}`",
                f"`{_short(str(field.type))}`",
                _default(field),
                meanings.get(field.name, ""),
            )
            for field in dataclasses.fields(item)
        ]
        parts += [_table(("field", "type", "default", "meaning"), table), _method_table(item)]
    return "\n\n".join(part for part in parts if part)


def field_docs(item: type) -> dict[str, str]:
    """The string literals under the fields of a class, as Markdown on one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(item))).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in pairwise(definition.body):
        target = None
        if isinstance(statement, ast.AnnAssign):
            target = statement.target
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
        if (
            isinstance(target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            docs[target.id] = _markdown(" ".join(following.value.value.split()))
    return docs


# --------------------------------------------------------------------------------------------------
# parts


def _callable(name: str, value: Any) -> str:
    """Signature, docstring and the errors that the docstring names."""
    text, raised = _split_errors(inspect.getdoc(value) or "")
    parts = [f"```python no-run\n{_signature(name, value)}\n```", _markdown(text)]
    if raised:
        parts.append(
            "Raises:\n\n" + "\n".join(f"- `{error}`: {_markdown(why)}" for error, why in raised)
        )
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, value: Any) -> str:
    """The call as it is written, on one line where it fits."""
    called = inspect.signature(value)
    pieces = []
    starred = False
    for parameter in called.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            pieces = [*pieces, "*"]
            starred = True
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        hint = (
            ""
            if parameter.annotation is parameter.empty
            else f": {_short(str(parameter.annotation))}"
        )
        preset = "" if parameter.default is parameter.empty else f" = {_literal(parameter.default)}"
        pieces.append(f"{mark}{parameter.name}{hint}{preset}")
    answer = (
        ""
        if called.return_annotation is called.empty
        else f" -> {_short(str(called.return_annotation))}"
    )
    line = f"{name}({', '.join(pieces)}){answer}"
    return (
        line
        if len(line) <= WIDTH
        else f"{name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){answer}"
    )


def _split_errors(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A docstring without the errors it names, and those."""
    pattern = re.compile(r"\s*\b([A-Z]\w+Error): (.+?\.)(?=\s|$)", re.DOTALL)
    return pattern.sub("", text).strip(), [
        (name, " ".join(why.split())) for name, why in pattern.findall(text)
    ]


def _method_table(item: type) -> str:
    """A table of the public methods and properties that a class defines."""
    found = []
    for name, value in vars(item).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        text = inspect.getdoc(inner) or ""
        if (
            name.startswith("_")
            or not (inspect.isfunction(inner) or isinstance(inner, property))
            or _takes_job(inner)
        ):
            continue
        call = (
            f"{name}: {_annotation(inner.fget)}"
            if isinstance(inner, property)
            else _signature(name, inner)
        )
        found.append((f"`{_flat(call)}`", _markdown(" ".join(text.split("\n\n")[0].split()))))
    return _table(("method", ""), found) if found else ""


def _annotation(getter: Any) -> str:
    """Type of a property."""
    return _short(str(inspect.signature(getter).return_annotation))


def _takes_job(method: Any) -> bool:
    """A handler of jobs, which only workers call."""
    return not isinstance(method, property) and [
        str(one.annotation) for one in inspect.signature(method).parameters.values()
    ][1:] == ["Job"]


def _short(annotation: str) -> str:
    """A type with the alias of a scope in its place."""
    return re.sub(
        r"Scope \| (?:str \| Sequence\[str\]|Sequence\[str\] \| str)", "Place", annotation
    ).replace("'", '"')


def _prose(item: Any) -> str:
    """A docstring as Markdown; a dataclass without one has none."""
    text = inspect.getdoc(item) or ""
    return "" if text.startswith(f"{getattr(item, '__name__', '')}(") else _markdown(text)


def _first_sentence(item: Any) -> str:
    return _markdown(
        re.split(r"(?<=[.:])\s", inspect.getdoc(item) or "", maxsplit=1)[0].rstrip(":")
    )


def _markdown(text: str) -> str:
    """Double backticks of a docstring as single ones."""
    return text.replace("``", "`")


def _home(item: type) -> str:
    """The shortest module that a name can be imported from."""
    if item.__name__ in engrams.__all__:
        return "engrams"
    if item.__name__ in types.__all__:
        return "engrams.types"
    package = ".".join(item.__module__.split(".")[:2])
    return package if hasattr(import_module(package), item.__name__) else item.__module__


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{_literal(field.default)}`"
    return (
        f"`{_literal(field.default_factory())}`"
        if field.default_factory is not dataclasses.MISSING
        else ""
    )


def _literal(value: Any) -> str:
    """A default as one would write it."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple) and value:
        return (
            f"({', '.join(map(_literal, value))},)"
            if len(value) == 1
            else f"({', '.join(map(_literal, value))})"
        )
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}()"
    return getattr(value, "__name__", None) or repr(value).replace("'", '"')


def _flat(text: str) -> str:
    return re.sub(r",\s*\)", ")", re.sub(r"\(\s+", "(", " ".join(text.split())))


def _table(heads: tuple[str, ...], table: list[tuple[str, ...]] | None = None) -> str:
    return f"| {' | '.join(heads)} |\n|" + "---|" * len(heads) + _rows(table or [])


def _rows(table: list[tuple[str, ...]]) -> str:
    return "".join(
        "\n| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"
        for row in table
    )


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise SystemExit(f"scripts/python_page.py: {message}.")
